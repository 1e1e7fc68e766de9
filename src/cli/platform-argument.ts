import { UserError } from '../kernel/errors.js';
import { platformOf } from '../platforms/index.js';
import { PLATFORM_NAMES, type Platform, type Settings } from '../platforms/platform.js';
import type { SiteConnection } from '../sites/connection.js';
import { changedConnection } from '../sites/connection-settings.js';
import type { Site } from '../sites/site.js';

/** Finds a platform by the name given on the command line. */
export function readPlatform(name: string): Platform {
  const platform = platformOf(name);
  if (!platform) throw new UserError(`There is no platform "${name}". Available: ${PLATFORM_NAMES.join(', ')}.`);
  return platform;
}

/** The site's current connection to a platform. */
export function connectionOf({ host, connections }: Site, { name }: Platform): SiteConnection {
  const connection = connections.find(({ platform }) => platform === name);
  if (connection && !connection.disconnected) return connection;
  throw new UserError(
    `${name} is not connected to ${host}. Connect it with "platforms connect ${name} --site ${host}".`,
  );
}

/** The settings that the site's connection would have after `platforms connect` with these. */
export function settingsAfter(site: Site, platform: Platform, set: Readonly<Record<string, string>>): Settings {
  const { settings, secretNames, endpoint } = connectionOf(site, platform);
  // Payloads contain no secrets, so validation only needs to know which ones exist.
  const secrets = Object.fromEntries(secretNames.map((secret) => [secret, 'sealed']));
  return changedConnection(platform, { settings, secrets, endpoint }, { set }, 'sealed').settings;
}
