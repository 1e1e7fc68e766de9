import { UserError } from '../../kernel/errors.js';
import { isOwnName, platformNameOf } from '../../platforms/connection-name.js';
import { platformOf } from '../../platforms/index.js';
import { PLATFORM_NAMES, type Platform } from '../../platforms/platform.js';
import type { NamedConnection } from '../../sites/connections/named-connection.js';
import { platformIn } from '../../sites/connections/named-connection.js';
import type { Site } from '../../sites/site.js';
import { UsageError } from '../subcommand.js';

export const PLATFORM_HELP =
  'of this connection, such as meta or meta:second; meta alone is only the one without a name';
export const NAME_HELP = 'name of a further connection of the platform; the same as <platform>:<name>';

/** The connection of a site that `meta`, `meta:second`, or `meta` with the name of its own in an option stands for. */
export function connectionArgument(site: Pick<Site, 'connections'>, text: string, option?: string): NamedConnection {
  return readConnectionName(text, option, (name) => platformIn(site, name));
}

/** Parses `meta`, `meta:second`, or `meta` with the name of its own in an option. `find`: the platform of a connection. */
export function readConnectionName(
  text: string,
  option?: string,
  find: (connection: string) => Platform | undefined = platformOf,
): NamedConnection {
  const name = readName(text, option, (candidate) => find(candidate) !== undefined);
  const platform = find(name);
  if (!platform) throw unknownPlatform(text);
  return { name, platform };
}

function unknownPlatform(text: string): UserError {
  return new UserError(
    `There is no platform "${text}". Available: ${PLATFORM_NAMES.join(', ')}, and what "platforms definitions" lists.`,
  );
}

function readName(text: string, option: string | undefined, isKnown: (name: string) => boolean): string {
  const platformName = platformNameOf(text);
  const isAny = isKnown(text) || isKnown(platformName) || (option !== undefined && isKnown(`${text}:${option}`));
  if (!isAny) throw unknownPlatform(text);
  if (text === platformName && option === undefined) return text;
  if (text !== platformName && option !== undefined)
    throw new UsageError(`Give the name once: ${platformName} --name <name>, or ${platformName}:<name>.`);
  const ownName = option ?? text.slice(platformName.length + 1);
  if (!isOwnName(ownName))
    throw new UserError(
      `The name of a connection has 1 to 32 characters, a to z, 0 to 9, "_" and "-", and starts with a letter or a digit, not "${ownName}".`,
    );
  return `${platformName}:${ownName}`;
}
