import { findOrder } from '../conversions/find-order.js';
import { CONVERSION } from '../events/conversion.events.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { findNewestByField } from '../log/newest-by-field.js';
import { ATTEMPT_TYPES } from '../outbound/sync-log.js';
import { type ConnectionName, platformNameOf } from '../platforms/connection-name.js';
import { PLATFORM_NAMES } from '../platforms/platform.js';
import type { Postgres } from '../postgres/postgres.js';
import type { Site } from '../sites/site.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { type Bound, lastBefore } from './bound.js';

/** Conversions of one order that are searched: a sender can repeat it any number of times. */
const OF_ORDER = { types: ['conversion.received.v1'], limit: 100, newest: true };

export type AttemptType = (typeof ATTEMPT_TYPES)[number];
export type AttemptEvent = StoredEvent<AttemptType>;
export type AttemptKind = 'delivery' | 'push' | 'inbound';

export interface AttemptFilter {
  readonly kind?: AttemptKind | undefined;
  /** All connections of a platform. */
  readonly platform?: string | undefined;
  readonly connection?: ConnectionName | undefined;
  /** Statuses of attempts, such as `failed`. */
  readonly statuses?: readonly string[] | undefined;
  readonly conversion?: string | undefined;
  /** The sender's order id. */
  readonly order?: string | undefined;
  /** Inclusive. */
  readonly from?: Bound | undefined;
  /** Exclusive. */
  readonly to?: Bound | undefined;
  /** `next` of the page before. */
  readonly cursor?: number | undefined;
  readonly limit: number;
}

export interface SearchDependencies {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly secrets: SiteSecrets;
}

export interface AttemptPage {
  /** Newest first. */
  readonly events: readonly AttemptEvent[];
  readonly next?: number;
}

/** Attempts of a site: deliveries, pushes and refused conversions. By index, whatever the length of the log. */
export async function findAttempts(
  dependencies: SearchDependencies,
  site: Site,
  filter: AttemptFilter,
): Promise<AttemptPage> {
  const { log } = dependencies;
  const { from, to, cursor = Number.MAX_SAFE_INTEGER, limit } = filter;
  const after = from ? await lastBefore(log, from) : 0;
  const before = Math.min(cursor, to ? (await lastBefore(log, to)) + 1 : Number.MAX_SAFE_INTEGER);
  const keys = attemptKeys(site, filter);
  const events = await (filter.conversion === undefined && filter.order === undefined
    ? findNewestByField(dependencies.postgres.pool, {
        ...{ site: site.host, field: 'platform', indexed: ATTEMPT_TYPES },
        ...{ keys, after, before, limit },
      })
    : findOfConversions(dependencies, site, filter, (event) => {
        const isKey = keys.some(({ type, value }) => type === event.type && value === event.data.platform);
        return isKey && event.position > after && event.position < before;
      }));
  const last = events.length === limit ? events.at(-1) : undefined;
  return { events: events as AttemptEvent[], ...(last && { next: last.position }) };
}

interface AttemptKey {
  readonly type: AttemptType;
  /** The connection; empty if the attempt is not a delivery. */
  readonly value: string;
}

/** The types and connections that match, as the index has them. */
export function attemptKeys(
  { connections }: Pick<Site, 'connections'>,
  { kind, platform, connection, statuses }: Omit<AttemptFilter, 'limit'>,
): AttemptKey[] {
  // A site that was removed and added again has attempts of connections that it does not have.
  const all = new Set<string>([...PLATFORM_NAMES, ...connections.map((found) => found.platform)]);
  const names = (connection === undefined ? [...all] : [connection]).filter(
    (name) => platform === undefined || platformNameOf(name) === platform,
  );
  const isOfConnection = platform !== undefined || connection !== undefined;
  return ATTEMPT_TYPES.flatMap((type) => {
    const [category, status] = type.split('.') as [string, string];
    const ownKind = category === CONVERSION ? 'delivery' : category === 'outbound' ? 'push' : 'inbound';
    if ((kind ?? ownKind) !== ownKind || (statuses && !statuses.includes(status))) return [];
    if (ownKind === 'delivery') return names.map((value) => ({ type, value }));
    return isOfConnection ? [] : [{ type, value: '' }];
  });
}

type DeliveryAttempt = AttemptEvent & { readonly data: { readonly platform: string } };

async function findOfConversions(
  { log, secrets }: SearchDependencies,
  { host }: Site,
  { conversion, order, limit }: AttemptFilter,
  matches: (event: DeliveryAttempt) => boolean,
): Promise<StoredEvent[]> {
  const ofOrder =
    order === undefined ? undefined : await findOrder(log, host, await secrets.dedupSecret(host), order, OF_ORDER);
  const ids = ofOrder?.map(({ data }) => data.conversionId) ?? [];
  const streams =
    conversion === undefined ? ids : ofOrder === undefined || ids.includes(conversion) ? [conversion] : [];
  const events = await log.readStreams(CONVERSION, streams);
  return events
    .filter((event) => event.site === host && matches(event as DeliveryAttempt))
    .sort((one, other) => other.position - one.position)
    .slice(0, limit);
}
