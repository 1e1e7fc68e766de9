import { accessTokenExpires } from '../../platforms/credentials.js';
import { platformOfConnection } from '../../platforms/index.js';
import { isHeldBack, type SiteConnection } from '../../sites/connections/connection.js';
import type { Site } from '../../sites/site.js';
import type { DeliveryCounts } from '../../statistics/series.js';
import type { AttentionItem } from './attention-item.js';
import type { AlertRules } from './rules.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** An attempt that any instance may make waits at most for the lease of one that died, and for a busy queue. */
const LATE_MAX_MS = 15 * 60_000;
/** A platform that refuses fewer conversions than this in a day is not reported. */
const FAILURES_MIN = 5;
/** Names in a text. */
const NAMES_MAX = 3;

/** Deliveries to one connection that wait for an attempt. */
export interface Waiting {
  /** Counted up to a limit. */
  readonly count: number;
  /** When the first attempt is due. */
  readonly dueMs: number;
}

export type Outcomes = Omit<DeliveryCounts, 'acceptance'> & {
  /** Of the failed and skipped ones: they became too old. */
  readonly expired: number;
};

/** What is known of the connections of a site besides their settings; by connection. */
export interface ConnectionsState {
  readonly site: Site;
  readonly waiting: ReadonlyMap<string, Waiting>;
  /** Outcomes of the last day. */
  readonly outcomes: ReadonlyMap<string, Outcomes>;
  /** Accepted by the platform, which will say later whether it counts them. */
  readonly unconfirmed: ReadonlyMap<string, number>;
  /** What platforms refused in the last day because they do not know the consent. */
  readonly unknownConsents: ReadonlyMap<string, number>;
  /** Events of the last week that the platform gets nothing of, with their conversions. */
  readonly unmapped: ReadonlyMap<string, readonly UnmappedEvent[]>;
  readonly rules: AlertRules;
  /** Database time. */
  readonly nowMs: number;
}

export interface UnmappedEvent {
  readonly event: string;
  readonly conversions: number;
}

/** What needs attention at a connection. */
export function connectionItems(state: ConnectionsState, connection: SiteConnection): AttentionItem[] {
  const { site, waiting, outcomes, unconfirmed, unknownConsents, unmapped, rules, nowMs } = state;
  const { platform, since: time, reason } = connection;
  const route = `/sites/${site.host}/connections/${encodeURIComponent(platform)}`;
  const queued = waiting.get(platform);
  const items: AttentionItem[] = [];
  if (isHeldBack(connection)) {
    const count = queued?.count ?? 0;
    const isParked = connection.state === 'parked';
    items.push({
      kind: isParked ? 'connection_parked' : 'connection_paused',
      severity: isParked ? 'error' : 'warning',
      ...{ platform, time, count },
      detail:
        (isParked && platformOfConnection(connection)?.fix?.(reason ?? '')) || (reason ?? 'Paused by an operator.'),
      action: isParked
        ? { label: 'Reconnect', method: 'PUT', route }
        : { label: 'Resume', method: 'POST', route: `${route}/resume` },
    });
  } else if (queued && nowMs - queued.dueMs > LATE_MAX_MS) {
    items.push({
      ...{ kind: 'deliveries_owed', severity: 'error', platform, count: queued.count },
      time: new Date(queued.dueMs).toISOString(),
      detail: 'Attempts are due and no instance makes them.',
      action: { label: 'Check the service', method: 'GET', route: '/health' },
    });
  }
  // A parked connection is to be reconnected anyway.
  if (connection.state !== 'parked') items.push(...expiryItems(connection, route, rules, nowMs));
  const syncLog: AttentionItem['action'] = {
    ...{ label: 'Show the sync log', method: 'GET' },
    route: `/sites/${site.host}/sync-log?connection=${encodeURIComponent(platform)}`,
  };
  const unknown = unknownConsents.get(platform);
  if (unknown !== undefined)
    items.push({
      ...{ kind: 'consent_unknown', severity: 'warning', platform, count: unknown, action: syncLog },
      detail:
        'The platform refuses conversions of people whose consent it does not know. Send `consent` with each conversion, at least `ad_user_data`, or have the tag state it.',
    });
  const counts = outcomes.get(platform);
  if (counts && counts.expired > 0)
    items.push({
      ...{ kind: 'deliveries_expired', severity: 'error', platform, count: counts.expired, action: syncLog },
      detail: 'In the last 24 hours, conversions became too old for the platform before it took them.',
    });
  items.push(...refusalItems(platform, counts, unconfirmed.get(platform) ?? 0, rules, syncLog));
  items.push(...unmappedItems(platform, unmapped.get(platform) ?? [], route));
  return items;
}

/** What is not confirmed yet was not refused so far. */
function refusalItems(
  platform: string,
  counts: Outcomes | undefined,
  unconfirmed: number,
  { refusedPercent }: AlertRules,
  action: AttentionItem['action'],
): AttentionItem[] {
  if (!counts) return [];
  const refused = counts.failed + counts.rejected;
  const sent = counts.delivered + counts.accepted + counts.confirmed + refused + unconfirmed;
  if (refused < FAILURES_MIN || refused * 100 <= sent * refusedPercent) return [];
  const open = unconfirmed > 0 ? `, ${unconfirmed} not confirmed yet` : '';
  return [
    {
      ...{ kind: 'deliveries_failing', severity: 'warning', platform, count: refused, action },
      detail: `${refused} of ${sent} refused in the last 24 hours${open}.`,
    },
  ];
}

/** Whose conversions the platform gets nothing of. A connection that leaves events out on purpose selects them. */
function unmappedItems(platform: string, events: readonly UnmappedEvent[], route: string): AttentionItem[] {
  if (events.length === 0) return [];
  const names = events.slice(0, NAMES_MAX).map(({ event, conversions }) => `${event} (${conversions})`);
  const others = events.length > NAMES_MAX ? ` and ${events.length - NAMES_MAX} more` : '';
  return [
    {
      ...{ kind: 'events_unmapped', severity: 'warning', platform, count: events.length },
      detail: `In the last 7 days: ${names.join(', ')}${others}. Map them, or select the events to send.`,
      action: { label: 'Map', method: 'PUT', route },
    },
  ];
}

/** Of an access token that a sign-in obtained and that is not renewed. */
function expiryItems(
  { platform, settings }: SiteConnection,
  route: string,
  { connectionExpiryDays }: AlertRules,
  nowMs: number,
): AttentionItem[] {
  // The day only is known, so the token may end at any time of it.
  const expiresMs = Date.parse(settings[accessTokenExpires.name] ?? '');
  if (!(expiresMs - nowMs <= connectionExpiryDays * DAY_MS)) return [];
  const isExpired = expiresMs + DAY_MS <= nowMs;
  return [
    {
      ...{ kind: 'connection_expiring', severity: isExpired ? 'error' : 'warning', platform },
      time: new Date(expiresMs).toISOString(),
      detail: isExpired
        ? 'The access token has expired. Sign in at the platform again: conversions are queued until then.'
        : 'The access token expires. Sign in at the platform again before then, so that no conversion has to wait.',
      action: { label: 'Reconnect', method: 'PUT', route },
    },
  ];
}
