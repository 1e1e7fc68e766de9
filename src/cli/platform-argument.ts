import { UserError } from '../kernel/errors.js';
import { type ConnectionName, isOwnName, platformNameOf } from '../platforms/connection-name.js';
import { platformOf } from '../platforms/index.js';
import { PLATFORM_NAMES, type Platform, type Settings } from '../platforms/platform.js';
import type { SiteConnection } from '../sites/connection.js';
import { changedConnection } from '../sites/connection-settings.js';
import type { Site } from '../sites/site.js';
import { UsageError } from './subcommand.js';

export const PLATFORM_HELP =
  'of this connection, such as meta or meta:second; meta alone is only the one without a name';
export const NAME_HELP = 'name of a further connection of the platform; the same as <platform>:<name>';

/** A connection that the command line names. The site may not have it. */
export interface NamedConnection {
  readonly name: ConnectionName;
  readonly platform: Platform;
}

/** Parses `meta`, `meta:second`, or `meta` with the name of its own in an option. */
export function readConnectionName(text: string, option?: string): NamedConnection {
  const platformName = platformNameOf(text);
  const platform = platformOf(platformName);
  if (!platform) throw new UserError(`There is no platform "${text}". Available: ${PLATFORM_NAMES.join(', ')}.`);
  if (text === platform.name && option === undefined) return { name: platform.name, platform };
  if (text !== platform.name && option !== undefined)
    throw new UsageError(`Give the name once: ${platformName} --name <name>, or ${platformName}:<name>.`);
  const ownName = option ?? text.slice(platformName.length + 1);
  if (!isOwnName(ownName))
    throw new UserError(
      `The name of a connection has 1 to 32 characters, a to z, 0 to 9, "_" and "-", and starts with a letter or a digit, not "${ownName}".`,
    );
  return { name: `${platform.name}:${ownName}`, platform };
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
  const secrets = Object.fromEntries(secretNames.map((secret) => [secret, 'sealed']));
  return changedConnection(platform, { settings, secrets, endpoint }, { set }, 'sealed').settings;
}
