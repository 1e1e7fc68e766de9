import { UserError } from '../../kernel/errors.js';
import { isOwnName, platformNameOf } from '../../platforms/connection-name.js';
import { platformOf } from '../../platforms/index.js';
import { PLATFORM_NAMES } from '../../platforms/platform.js';
import type { NamedConnection } from '../../sites/connections/named-connection.js';
import { UsageError } from '../subcommand.js';

export const PLATFORM_HELP =
  'of this connection, such as meta or meta:second; meta alone is only the one without a name';
export const NAME_HELP = 'name of a further connection of the platform; the same as <platform>:<name>';

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
