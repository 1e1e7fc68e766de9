import { platformNameOf } from './connection-name.js';
import { PLATFORM_NAMES, type Platform } from './platform.js';

/** In the order of a receipt. The code of a platform is in the folder of its name. */
export const PLATFORMS: readonly Platform[] = await Promise.all(
  PLATFORM_NAMES.map(async (name) => {
    const { platform }: { platform: Platform } = await import(`./${name}/index.js`);
    return platform;
  }),
);

/** The platforms that a person can sign in at, which have settings for an OAuth app. */
export const SIGN_IN_PLATFORMS: readonly string[] = PLATFORMS.filter(({ authorization }) => authorization).map(
  ({ name }) => name,
);

const BY_NAME: ReadonlyMap<string, Platform> = new Map(PLATFORMS.map((platform) => [platform.name, platform]));

/** The platform that a connection is of; undefined if this version has no such platform. */
export function platformOf(connection: string): Platform | undefined {
  return BY_NAME.get(platformNameOf(connection));
}
