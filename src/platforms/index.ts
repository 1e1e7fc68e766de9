import { platformNameOf } from './connection-name.js';
import { DEFINITION, definedPlatform } from './defined/compile.js';
import { PLATFORM_NAMES, type Platform, type PlatformName, type Settings } from './platform.js';

export type BuiltInPlatform = Platform & { readonly name: PlatformName };

/** In the order of a receipt. The code of a platform is in the folder of its name. */
export const PLATFORMS: readonly BuiltInPlatform[] = await Promise.all(
  PLATFORM_NAMES.map(async (name) => {
    const { platform }: { platform: BuiltInPlatform } = await import(`./${name}/index.js`);
    return platform;
  }),
);

/** The platforms that a person can sign in at, which have settings for an OAuth app. */
export const SIGN_IN_PLATFORMS: readonly string[] = PLATFORMS.filter(({ authorization }) => authorization).map(
  ({ name }) => name,
);

const BY_NAME: ReadonlyMap<string, BuiltInPlatform> = new Map(PLATFORMS.map((platform) => [platform.name, platform]));

/** The built-in platform of this name, or of a connection's name; undefined if this version has no such platform. */
export function platformOf(connection: string): BuiltInPlatform | undefined {
  return BY_NAME.get(platformNameOf(connection));
}

/**
 * The platform that a connection is of, as its current settings say: with a definition that of the definition, also where this version
 * has a platform of its name. Undefined if this version has no such platform.
 */
export function platformOfConnection(
  connection: { readonly platform: string; readonly settings: Settings } | undefined,
): Platform | undefined {
  if (!connection) return undefined;
  const definition = connection.settings[DEFINITION];
  return definition === undefined ? platformOf(connection.platform) : definedPlatform(definition);
}
