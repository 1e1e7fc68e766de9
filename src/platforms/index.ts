import { platformNameOf } from './connection-name.js';
import { ga4 } from './ga4/index.js';
import { googleAds } from './google_ads/index.js';
import { linkedin } from './linkedin/index.js';
import { meta } from './meta/index.js';
import { microsoftAds } from './microsoft_ads/index.js';
import { pinterest } from './pinterest/index.js';
import type { Platform } from './platform.js';
import { reddit } from './reddit/index.js';
import { segment } from './segment/index.js';
import { snapchat } from './snapchat/index.js';
import { tiktok } from './tiktok/index.js';
import { webhook } from './webhook/index.js';
import { x } from './x/index.js';

/** In the order of a receipt. */
export const PLATFORMS: readonly Platform[] = [
  googleAds,
  meta,
  tiktok,
  microsoftAds,
  ga4,
  segment,
  linkedin,
  pinterest,
  snapchat,
  reddit,
  x,
  webhook,
];

const BY_NAME: ReadonlyMap<string, Platform> = new Map(PLATFORMS.map((platform) => [platform.name, platform]));

/** The platform that a connection is of; undefined if this version has no such platform. */
export function platformOf(connection: string): Platform | undefined {
  return BY_NAME.get(platformNameOf(connection));
}
