import { UserError } from '../../kernel/errors.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { platformOf, platformOfConnection } from '../../platforms/index.js';
import type { Platform, Settings } from '../../platforms/platform.js';
import type { Site } from '../site.js';
import type { SiteConnection } from './connection.js';
import { changedConnection } from './connection-settings.js';

/** A connection by its name. The site may not have it. */
export interface NamedConnection {
  readonly name: ConnectionName;
  readonly platform: Platform;
}

/** The platform that a name stands for on a site; undefined if there is none, or it is only defined and not connected. */
export function platformIn({ connections }: Pick<Site, 'connections'>, name: ConnectionName): Platform | undefined {
  return platformOfConnection(connections.find(({ platform }) => platform === name)) ?? platformOf(name);
}

/** The site's current connection of that name. */
export function connectionOf({ host, connections }: Site, name: ConnectionName): SiteConnection {
  const connection = connections.find(({ platform }) => platform === name);
  if (connection && !connection.disconnected) return connection;
  throw new UserError(
    `${name} is not connected to ${host}. Connect it with "platforms connect ${name} --site ${host}".`,
  );
}

/** The settings that the site's connection would have after `platforms connect` with these. */
export function settingsAfter(
  site: Site,
  { name, platform }: NamedConnection,
  set: Readonly<Record<string, string>>,
): Settings {
  const { settings, secretNames, endpoint } = connectionOf(site, name);
  // Payloads contain no secrets, so validation only needs to know which ones exist.
  const secrets = Object.fromEntries(secretNames.map((secret) => [secret, 'encrypted']));
  return changedConnection(platform, { settings, secrets, endpoint }, { set }, 'encrypted').settings;
}
