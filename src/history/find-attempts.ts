import type { ClientBase } from 'pg';
import { findOrder } from '../conversions/find-order.js';
import { CONVERSION } from '../events/conversion.events.js';
import type { StoredEvent } from '../log/event.js';
import type { LogReads } from '../log/event-log.js';
import { findNewestByField, lookAtNewest, type NewestOptions, readFound } from '../log/projections/newest-by-field.js';
import { ATTEMPT_TYPES } from '../outbound/sync-log.js';
import { type ConnectionName, platformNameOf } from '../platforms/connection-name.js';
import { PLATFORM_NAMES } from '../platforms/platform.js';
import type { Site } from '../sites/site.js';
import { type Bound, searchBounds } from './bound.js';

/** Conversions of one order that are searched: a sender can repeat it any number of times. */
const OF_ORDER = { types: ['conversion.received.v1'], limit: 100, newest: true };

/**
 * No index has events of conversions and reasons: of what an index finds, so many attempts are looked at by one search, the first few of
 * them alone, because they often suffice.
 */
const LOOKED_FIRST = 500;
const LOOKED_AT_ONCE = 2_500;
const LOOKED_MAX = 10_000;
const LOOKING_MS = 150;

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
  /** The event of the conversion. */
  readonly event?: string | undefined;
  /** A part of the reason or of the HTTP status, in any case. */
  readonly reason?: string | undefined;
  /** Inclusive. */
  readonly from?: Bound | undefined;
  /** Exclusive. */
  readonly to?: Bound | undefined;
  /** `next` of the page before. */
  readonly cursor?: number | undefined;
  readonly limit: number;
}

export interface SearchDependencies {
  /** With one connection. */
  read<Result>(read: (client: ClientBase) => Promise<Result>): Promise<Result>;
  readonly log: LogReads;
  /** Required by a search for an order. Read before, because `read` may occupy a connection of the same pool. */
  readonly dedupSecret: string | undefined;
}

export interface AttemptPage {
  /** Newest first. */
  readonly events: readonly AttemptEvent[];
  readonly next?: number;
  /** Openings of conversions that were read on the way. */
  readonly openings?: readonly StoredEvent[];
}

/**
 * Attempts of a site: deliveries, pushes and refused conversions. By index, whatever the length of the log. With an event or a
 * reason, a page may have fewer than the limit although there are more.
 */
export async function findAttempts(
  dependencies: SearchDependencies,
  site: Site,
  filter: AttemptFilter,
): Promise<AttemptPage> {
  const { log } = dependencies;
  const { limit, event, reason } = filter;
  const { after, before } = await searchBounds(log, site, filter);
  const keys = attemptKeys(site, filter);
  if (filter.conversion !== undefined || filter.order !== undefined)
    return findOfConversions(dependencies, site, filter, (attempt) => {
      const isKey = keys.some(({ type, value }) => type === attempt.type && value === attempt.data.platform);
      return isKey && attempt.position > after && attempt.position < before;
    });
  const search = { site: site.host, field: 'platform', indexed: ATTEMPT_TYPES, keys, after, before, limit };
  if (event !== undefined || reason !== undefined)
    return dependencies.read((client) => lookThrough(client, search, filter));
  const found = await dependencies.read((client) => findNewestByField(client, search));
  return pageOf(found as AttemptEvent[], limit);
}

function pageOf(events: readonly AttemptEvent[], limit: number): AttemptPage {
  const last = events.length === limit ? events.at(-1) : undefined;
  return { events, ...(last && { next: last.position }) };
}

/** The attempts, among those that the index finds, of conversions with this event and with this reason. */
async function lookThrough(
  client: ClientBase,
  search: NewestOptions,
  { event, reason }: Pick<AttemptFilter, 'event' | 'reason'>,
): Promise<AttemptPage> {
  const { limit } = search;
  const opened = event === undefined ? undefined : { field: 'event', is: event };
  const found: AttemptEvent[] = [];
  const untilMs = performance.now() + LOOKING_MS;
  for (let at = search.before, looked = 0, step = LOOKED_FIRST; ; step = LOOKED_AT_ONCE) {
    const options = { ...search, before: at, limit: step };
    const { positions, fields } = await lookAtNewest(client, options, REASON_FIELDS, opened);
    const matching = fields.flatMap(({ position, data }) => (hasReason(data, reason) ? [position] : []));
    const newest = matching.slice(0, limit - found.length);
    if (newest.length > 0) found.push(...((await readFound(client, search, newest)) as AttemptEvent[]));
    if (found.length === limit) return pageOf(found, limit);
    const rest = newest.length < matching.length ? newest : positions;
    if (rest === positions && positions.length < step) return { events: found };
    at = rest.at(-1) as number;
    looked += step;
    if (looked >= LOOKED_MAX || performance.now() > untilMs) return { events: found, next: at };
  }
}

/** What the sync log shows as the reason of an attempt. */
interface ReasonFields {
  readonly reason?: string | null | undefined;
  readonly reasons?: Readonly<Record<string, number>> | null;
  readonly httpStatus?: number | null | undefined;
}
const REASON_FIELDS = ['reason', 'reasons', 'httpStatus'] as const satisfies readonly (keyof ReasonFields)[];

/** Whether the text is part of the reason or of the HTTP status. */
export function hasReason({ reason, reasons, httpStatus }: ReasonFields, text: string | undefined): boolean {
  if (text === undefined) return true;
  const shown = [
    reason ?? '',
    ...Object.keys(reasons ?? {}),
    typeof httpStatus === 'number' ? `HTTP ${httpStatus}` : '',
  ];
  return shown.some((part) => part.toLowerCase().includes(text.toLowerCase()));
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

/** By the streams of the conversions, which also have their openings. */
async function findOfConversions(
  { log, dedupSecret }: Omit<SearchDependencies, 'read'>,
  site: Site,
  { conversion, order, event, reason, limit }: AttemptFilter,
  matches: (attempt: DeliveryAttempt) => boolean,
): Promise<AttemptPage> {
  const ofOrder = order === undefined ? undefined : await findOrder(log, site, dedupSecret as string, order, OF_ORDER);
  const ids = ofOrder?.map(({ data }) => data.conversionId) ?? [];
  const streams =
    conversion === undefined ? ids : ofOrder === undefined || ids.includes(conversion) ? [conversion] : [];
  const events: StoredEvent[] = streams.length === 0 ? [] : await log.readStreams(CONVERSION, streams);
  const openings = events.filter(({ version }) => version === 1);
  const isOfEvent = ({ stream }: StoredEvent) =>
    event === undefined || openings.some((opening) => opening.stream === stream && eventOf(opening) === event);
  const attempts = (events as DeliveryAttempt[])
    .filter((attempt) => attempt.site === site.host && matches(attempt))
    .filter((attempt) => hasReason(attempt.data, reason) && isOfEvent(attempt))
    .sort((one, other) => other.position - one.position);
  return { ...pageOf(attempts.slice(0, limit), limit), openings };
}

const eventOf = ({ data }: StoredEvent) => ('event' in data ? data.event : undefined);
