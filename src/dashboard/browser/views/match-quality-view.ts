import type { Schemas } from '../api.js';
import { formatNumber, formatShare } from '../format.js';

export type PlatformQuality = Schemas['MatchQuality']['items'][number];

const TITLES: Readonly<Record<string, string>> = {
  click_id: 'click ID',
  cookie: 'cookie of the platform',
  email: 'email',
  phone: 'phone',
  external_id: 'customer ID',
  ip_address: 'IP address',
  user_agent: 'browser',
  first_name: 'first name',
  last_name: 'last name',
  city: 'city',
  region: 'region',
  postal_code: 'postal code',
  country: 'country',
};

export function identifierTitle(identifier: string): string {
  return TITLES[identifier] ?? identifier.replaceAll('_', ' ');
}

/** Come from the visit: the tag collects them. Senders may state some of them too. */
const FROM_VISITS: Readonly<Record<string, string>> = {
  click_id: 'put the tag on every landing page, or send clickIds',
  cookie: 'put the tag on every page',
  ip_address: 'put the tag on every page, or send ipAddress',
  user_agent: 'put the tag on every page, or send userAgent',
};
const FIELDS: Readonly<Record<string, string>> = {
  external_id: 'externalId',
  first_name: 'firstName',
  last_name: 'lastName',
  postal_code: 'postalCode',
};

/** Which missing identifier would help most, and how to provide it. Undefined if none is missing. */
export function adviceOf({ helpsMost, conversions }: PlatformQuality): { what: string; how: string } | undefined {
  if (!helpsMost || conversions === 0) return undefined;
  const { identifier, missing } = helpsMost;
  const share = formatShare(missing / conversions);
  return {
    what: `${share} (${formatNumber(missing)}) have no ${identifierTitle(identifier)}`,
    how: FROM_VISITS[identifier] ?? `send ${FIELDS[identifier] ?? identifier} with each conversion`,
  };
}

/** Platforms with conversions, those with the lowest share of matched ones first. */
export function qualityRows(items: readonly PlatformQuality[]): PlatformQuality[] {
  return items
    .filter(({ conversions }) => conversions > 0)
    .toSorted((one, other) => (one.matchRate ?? 0) - (other.matchRate ?? 0));
}

/** What conversions carried, the most frequent first, and the identifiers that none had. */
export function carriedOf({ identifiers }: Pick<PlatformQuality, 'identifiers'>) {
  return {
    carried: identifiers.filter(({ carried }) => carried > 0).toSorted((one, other) => other.carried - one.carried),
    never: identifiers.filter(({ carried }) => carried === 0).map(({ identifier }) => identifierTitle(identifier)),
  };
}
