import type { ClientBase } from 'pg';
import { readWaiting } from '../../delivery/read-waiting.js';
import { OUTBOUND } from '../../events/outbound.events.js';
import type { Settings } from '../../kernel/settings/settings.js';
import type { EventLog } from '../../log/event-log.js';
import type { ProjectionRunner } from '../../log/projections/projection-runner.js';
import { readTimeAfter } from '../../log/stored-time.js';
import { readElsewhere } from '../../moves/sites-elsewhere.js';
import { type End, ownEnd, streamOf } from '../../outbound/reporting-window.js';
import type { Postgres } from '../../postgres/postgres.js';
import { asHeld } from '../../sites/holding.js';
import type { Site } from '../../sites/site.js';
import { type ReceivedEvent, readEvents, routeOf } from '../../statistics/received-events.js';
import { type AsOf, readSnapshot } from '../../statistics/snapshot.js';
import { type AttentionItem, worstFirst } from './attention-item.js';
import type { Outcomes, UnmappedEvent } from './connection-items.js';
import { readMatchRates, readSilences } from './read-conversions.js';
import { readRules } from './rules.js';
import { certificateItems, channelItems, type FailingChannel, LAG_MAX_MS, projectionItems } from './service-items.js';
import { siteItems } from './site-items.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const DENIALS_MS = 30 * DAY_MS;
const ATTEMPTS_MIN = 4;
const EVENTS_MS = 7 * DAY_MS;

export interface AttentionDependencies {
  readonly settings: Settings;
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly projections: ProjectionRunner;
}

/** What needs attention at these sites. */
export async function sitesAttention(
  { postgres, log }: AttentionDependencies,
  logged: readonly Site[],
): Promise<{ readonly asOf: AsOf; readonly items: AttentionItem[] }> {
  const elsewhere = await readElsewhere(postgres.pool);
  const sites = logged.map((site) => asHeld(site, elsewhere));
  const pushes = await readLastPushes(log, sites);
  const nowMs = postgres.clock.nowMs();
  const rules = await readRules(log);
  const { asOf, silences, states } = await readSnapshot(postgres, ['deliveries', 'statistics'], async (client) => {
    const waiting = bySite(await readWaiting(client, sites, 'send'), ({ count, due }) => ({
      count,
      dueMs: due.getTime(),
    }));
    const unconfirmed = bySite(await readWaiting(client, sites, 'confirm'), ({ count }) => count);
    const outcomes = await readOutcomes(client, sites, new Date(nowMs - DAY_MS));
    const unknownConsents = await readUnknownConsents(client, sites, new Date(nowMs - DAY_MS));
    const denials = await readDenials(client, sites, new Date(nowMs - DENIALS_MS));
    const hosts = sites.map(({ host }) => host);
    const events = await readEvents(client, hosts, new Date(nowMs - EVENTS_MS), new Date(nowMs));
    const matchRates = await readMatchRates(client, sites, nowMs);
    const silences = await readSilences(client, sites, nowMs);
    const states = sites.map((site) => ({
      site,
      waiting: waiting.get(site.host) ?? new Map(),
      outcomes: outcomes.get(site.host) ?? new Map(),
      unconfirmed: unconfirmed.get(site.host) ?? new Map(),
      unmapped: unmappedEvents(site, events.get(site.host) ?? []),
      unknownConsents: unknownConsents.get(site.host) ?? new Map(),
      denials: denials.get(site.host) ?? 0,
      lastPush: site.webhook && ownEnd(site.webhook, pushes.get(site.host)),
      matchRates: matchRates.get(site.host),
      rules,
      nowMs,
    }));
    return { states, silences };
  });
  // Conversions that are not counted yet are no silence.
  const isCurrent = nowMs - Date.parse(asOf.time) <= LAG_MAX_MS;
  const items = states.flatMap((state) =>
    siteItems({ ...state, silence: isCurrent ? silences.get(state.site.host) : undefined }),
  );
  return { asOf, items: worstFirst(items) };
}

function unmappedEvents({ connections }: Site, events: readonly ReceivedEvent[]): Map<string, UnmappedEvent[]> {
  const connected = connections.filter(({ disconnected }) => !disconnected);
  return new Map(
    connected.map((connection) => [
      connection.platform,
      events.filter(({ event }) => routeOf(connection, event).state === 'not_mapped'),
    ]),
  );
}

/** What needs attention whatever the site. */
export async function serviceAttention({
  settings,
  postgres,
  projections,
}: AttentionDependencies): Promise<AttentionItem[]> {
  const statuses = await projections.status();
  const behindSinceMs = new Map<string, number>();
  for (const { name, position, lag } of statuses) {
    const next = lag > 0 ? await readTimeAfter(postgres.pool, position) : undefined;
    if (next) behindSinceMs.set(name, next.getTime());
  }
  const nowMs = postgres.clock.nowMs();
  return [
    ...projectionItems(statuses, behindSinceMs, nowMs),
    ...certificateItems(settings.tlsCert, nowMs),
    ...channelItems(await readFailingChannels(postgres, nowMs)),
  ];
}

/** Messages that were tried at least so often, which takes a quarter of an hour, or that were given up in the last day. */
async function readFailingChannels({ pool }: Postgres, nowMs: number): Promise<FailingChannel[]> {
  const { rows } = await pool.query<FailingChannel>(
    `SELECT channel, count(*)::int AS count, min(created_at) AS since, max(reason) AS reason FROM cc.alert_messages
      WHERE settled_at IS NULL AND attempts >= $1 OR NOT delivered AND settled_at > $2 GROUP BY channel ORDER BY channel`,
    [ATTEMPTS_MIN, new Date(nowMs - DAY_MS)],
  );
  return rows;
}

async function readLastPushes(log: EventLog, sites: readonly Site[]): Promise<Map<string, End>> {
  const streams = sites.filter(({ webhook }) => webhook?.enabled).map(({ host }) => streamOf(host));
  return new Map((await log.readEnds(OUTBOUND, streams)).map((end) => [end.site, end]));
}

/** By site and connection. */
async function readOutcomes(client: ClientBase, sites: readonly Site[], from: Date) {
  type Row = Outcomes & { site: string; platform: string };
  const { rows } = await client.query<Row>(
    `SELECT site, platform, sum(delivered)::float8 AS delivered, sum(accepted)::float8 AS accepted,
            sum(confirmed)::float8 AS confirmed, sum(rejected)::float8 AS rejected, sum(failed)::float8 AS failed,
            sum(skipped)::float8 AS skipped, sum(expired)::float8 AS expired
       FROM cc.delivery_statistics WHERE site = ANY ($1) AND quarter >= $2 GROUP BY 1, 2`,
    [sites.map(({ host }) => host), from],
  );
  return bySite(rows, ({ site: _, platform: __, ...counts }) => counts);
}

async function readUnknownConsents(client: ClientBase, sites: readonly Site[], from: Date) {
  const { rows } = await client.query<{ site: string; platform: string; unknown: number }>(
    `SELECT site, platform, sum(unknown)::float8 AS unknown FROM cc.consent_statistics
      WHERE site = ANY ($1) AND quarter >= $2 AND unknown > 0 GROUP BY 1, 2`,
    [sites.map(({ host }) => host), from],
  );
  return bySite(rows, ({ unknown }) => unknown);
}

async function readDenials(client: ClientBase, sites: readonly Site[], from: Date): Promise<Map<string, number>> {
  const undecided = sites.filter(({ settings }) => settings.withhold === 'identifiers');
  const { rows } = await client.query<{ site: string; denials: number }>(
    `SELECT site, sum(denials)::float8 AS denials FROM cc.consent_statistics
      WHERE site = ANY ($1) AND quarter >= $2 AND platform = '' GROUP BY 1`,
    [undecided.map(({ host }) => host), from],
  );
  return new Map(rows.map(({ site, denials }) => [site, denials]));
}

function bySite<Row extends { readonly site: string; readonly platform: string }, Value>(
  rows: readonly Row[],
  pick: (row: Row) => Value,
): Map<string, Map<string, Value>> {
  const found = new Map<string, Map<string, Value>>();
  for (const row of rows) {
    const ofSite = found.get(row.site) ?? new Map<string, Value>();
    found.set(row.site, ofSite.set(row.platform, pick(row)));
  }
  return found;
}
