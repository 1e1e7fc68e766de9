import { manifest as ga4 } from './ga4/manifest.js';
import { manifest as googleAds } from './google_ads/manifest.js';
import { manifest as linkedin } from './linkedin/manifest.js';
import type { Manifest } from './manifest.js';
import { manifest as meta } from './meta/manifest.js';
import { manifest as microsoftAds } from './microsoft_ads/manifest.js';
import { manifest as pinterest } from './pinterest/manifest.js';
import { manifest as reddit } from './reddit/manifest.js';
import { manifest as segment } from './segment/manifest.js';
import { manifest as snapchat } from './snapchat/manifest.js';
import { manifest as tiktok } from './tiktok/manifest.js';
import { manifest as webhook } from './webhook/manifest.js';
import { manifest as x } from './x/manifest.js';

/** The only list of the platforms, in the order of a receipt. */
export const MANIFESTS = [
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
] as const;

/** Click ids that shipped definitions send: a definition has no manifest. */
export const DEFINED_CLICK_IDS = { qclid: { number: 33, title: 'Quora Ads' } } as const satisfies Manifest['clickIds'];

type ClickKindOf<Known> = Known extends { readonly clickIds: infer ClickIds } ? keyof ClickIds : never;
type SentClickIdOf<Known> = Known extends { readonly sentClickIds: readonly (infer Name)[] } ? Name : never;
type CookieKindOf<Known> = Known extends { readonly cookies: infer Cookies } ? keyof Cookies : never;

type KnownPlatform = (typeof MANIFESTS)[number];
export type PlatformName = KnownPlatform['name'];
export type ClickKind = ClickKindOf<KnownPlatform> | keyof typeof DEFINED_CLICK_IDS;
export type SentClickId = SentClickIdOf<KnownPlatform>;
/** `_ga` is only the client id (`AAA.BBB`) and `_ga_session` only the session id; the others are the whole cookie value. */
export type CookieKind = CookieKindOf<KnownPlatform>;
