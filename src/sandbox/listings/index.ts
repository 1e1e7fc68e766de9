import type { PlatformDouble } from '../double.js';
import { googleAdsListing } from './google_ads.js';
import { linkedinListing } from './linkedin.js';
import type { ListingDouble } from './listing.js';
import { metaListing } from './meta.js';
import { microsoftAdsListing } from './microsoft_ads.js';
import { pinterestListing } from './pinterest.js';
import { redditListing } from './reddit.js';
import { snapchatListing } from './snapchat.js';
import { tiktokListing } from './tiktok.js';

const LISTINGS: Readonly<Record<string, ListingDouble>> = {
  google_ads: googleAdsListing,
  meta: metaListing,
  tiktok: tiktokListing,
  microsoft_ads: microsoftAdsListing,
  linkedin: linkedinListing,
  pinterest: pinterestListing,
  snapchat: snapchatListing,
  reddit: redditListing,
};

/** The double, which also lists what an account has. */
export function withListing(double: PlatformDouble): PlatformDouble {
  const listing = LISTINGS[double.name];
  if (!listing) return double;
  return {
    ...double,
    callKind: (request) => (listing.serves(request) ? 'list' : (double.callKind?.(request) ?? 'events')),
    answer: (request) => (listing.serves(request) ? listing.answer(request) : double.answer(request)),
    fail(kind, request) {
      const ownFailure = listing.serves(request) ? listing.failures?.[kind] : undefined;
      return ownFailure ? ownFailure(request) : double.fail(kind, request);
    },
  };
}
