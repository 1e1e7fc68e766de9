import { foldDeliveries } from '../delivery/delivery.js';
import { type PayloadPreview, previewDelivery, receivedFor } from '../delivery/payload/preview-payload.js';
import {
  type ReplayCounts,
  ReplayDeliveries,
  type ReplayRequest,
  type ReplayStatus,
} from '../delivery/replay-deliveries.command.js';
import { SITE, streamIdOf } from '../events/site.events.js';
import type { Actor, CommandExecutor } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import { platformOfConnection } from '../platforms/index.js';
import type { Platform } from '../platforms/platform.js';
import type { Postgres } from '../postgres/postgres.js';
import type { SiteConnection } from '../sites/connections/connection.js';
import type { Site } from '../sites/site.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { findOptOuts } from '../visitors/find-opt-outs.js';
import { lastBefore } from './bound.js';
import { readConversion } from './conversion-history.js';
import { type AttemptFilter, attemptKeys, findAttempts, hasReason } from './find-attempts.js';
import type { RetryCursor } from './retry-cursor.js';

/** A request takes this long at most. `next` of its result continues. */
const DEADLINE_MS = 5_000;

/** Ends of attempts after which a delivery can be sent again, each with the status that the delivery then has. */
export const RETRIED_OUTCOMES = {
  failed: 'failed',
  rejected: 'failed',
  skipped: 'skipped',
  deferred: 'queued',
} as const satisfies Record<string, ReplayStatus>;
export type RetriedOutcome = keyof typeof RETRIED_OUTCOMES;

export interface RetryRequest extends Omit<AttemptFilter, 'kind' | 'statuses' | 'cursor'> {
  /** `next` of the request before. */
  readonly cursor?: RetryCursor | undefined;
  /** Statuses of deliveries, as they are now. */
  readonly statuses: readonly ReplayStatus[];
  /** How an attempt of the delivery ended, such as `rejected`. Undefined: in any way that leads to one of the statuses. */
  readonly outcome?: RetriedOutcome | undefined;
  readonly force: boolean;
  readonly dryRun: boolean;
}

export interface RetryResult {
  /** Deliveries that were requested, or would be. */
  requested: number;
  readonly connections: Record<string, ReplayCounts>;
  /** Those that were requested; not of a dry run. */
  readonly deliveries: { readonly conversionId: string; readonly connection: string }[];
  /** Position of the log before they were requested: their outcomes come after it. */
  readonly after: number;
  /** The request continues with this cursor: it was too large for one. */
  next?: RetryCursor;
  /** Payload that a dry run for one delivery would send. */
  preview?: PayloadPreview;
}

export interface RetryDependencies {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly secrets: SiteSecrets;
  readonly commands: CommandExecutor;
}

interface Target {
  readonly conversion: string;
  readonly connection: SiteConnection;
  /** Position of its newest matching attempt. */
  readonly position: number;
}

/** Requests the deliveries of the matching attempts again, each with the command of `replay deliveries`. */
export async function retryDeliveries(
  dependencies: RetryDependencies,
  site: Site,
  request: RetryRequest,
  actor: Actor,
): Promise<RetryResult> {
  const { statuses, outcome, force, dryRun, cursor, ...filter } = request;
  const { log, commands, postgres, secrets } = dependencies;
  const untilMs = performance.now() + DEADLINE_MS;
  const matching = {
    ...filter,
    kind: 'delivery' as const,
    statuses: force ? undefined : outcomesOf(statuses, outcome),
  };
  const until = cursor?.until ?? (await newestOf(dependencies, site, filter));
  const search = { ...matching, to: { position: until + 1 }, cursor: cursor?.before };
  const dedupSecret = filter.order === undefined ? undefined : await secrets.dedupSecret(site.host);
  // On the primary: what has been sent meanwhile must not be sent again.
  const page = await findAttempts({ log, dedupSecret, read: (read) => postgres.read(read) }, site, search);
  const targets = targetsOf(site, page.events);
  const [newest] = await log.readEnds(SITE, [streamIdOf(site.host)]);
  const common = { site: site.host, siteVersion: newest?.version ?? 1, statuses, force, dryRun };
  // With `force` the filter names one delivery: another page would only have earlier attempts of it, and send it again.
  const next = force ? undefined : page.next;
  const result: RetryResult = {
    requested: 0,
    connections: {},
    deliveries: [],
    after: await log.head(),
    ...(next !== undefined && { next: { before: next, until } }),
  };
  for (const [index, { conversion, connection, position }] of targets.entries()) {
    if (!cursor || !(await wasOnEarlierPage(dependencies, site, conversion, connection, { ...matching, cursor }))) {
      const replay: ReplayRequest = {
        ...common,
        platform: connection.platform,
        range: { conversion },
        nowMs: postgres.clock.nowMs(),
      };
      const counts = connection.disconnected
        ? { requested: 0, byStatus: { disconnected: 1 } }
        : await commands.execute(new ReplayDeliveries(actor, replay));
      add(result, connection.platform, counts);
      if (!dryRun && counts.requested > 0)
        result.deliveries.push({ conversionId: conversion, connection: connection.platform });
      if (dryRun && targets.length === 1 && counts.requested === 1)
        result.preview = await previewOf(dependencies, site, connection, conversion, replay);
    }
    if (performance.now() > untilMs && index < targets.length - 1)
      return { ...result, next: { before: position, until } };
  }
  return result;
}

async function newestOf(
  { log }: RetryDependencies,
  { host }: Site,
  { to }: Pick<AttemptFilter, 'to'>,
): Promise<number> {
  const head = await log.head();
  return to ? Math.min(head, await lastBefore(log, to, host)) : head;
}

function outcomesOf(statuses: readonly ReplayStatus[], outcome: RetriedOutcome | undefined): string[] {
  const outcomes = outcome === undefined ? (Object.keys(RETRIED_OUTCOMES) as RetriedOutcome[]) : [outcome];
  return outcomes.filter((one) => statuses.includes(RETRIED_OUTCOMES[one]));
}

/** Whether a newer attempt of the delivery matches as well, which an earlier page then had. */
async function wasOnEarlierPage(
  { log }: RetryDependencies,
  site: Site,
  conversion: string,
  { platform }: SiteConnection,
  { cursor, statuses, reason }: Pick<AttemptFilter, 'statuses' | 'reason'> & { readonly cursor: RetryCursor },
): Promise<boolean> {
  const keys = attemptKeys(site, { connection: platform, statuses });
  const events = (await readConversion(log, site, conversion)) ?? [];
  return events.some(
    (event) =>
      event.position >= cursor.before &&
      event.position <= cursor.until &&
      keys.some((key) => key.type === event.type && key.value === (event.data as { platform?: string }).platform) &&
      hasReason(event.data as object, reason),
  );
}

/** One for each delivery, however many of its attempts match. */
function targetsOf({ connections }: Site, events: readonly StoredEvent[]): Target[] {
  const targets = new Map<string, Target>();
  for (const { data, position } of events) {
    const { conversionId, platform } = data as { conversionId: string; platform: ConnectionName };
    const connection = connections.find((candidate) => candidate.platform === platform);
    const key = `${conversionId} ${platform}`;
    if (connection && !targets.has(key)) targets.set(key, { conversion: conversionId, connection, position });
  }
  return [...targets.values()];
}

function add(result: RetryResult, connection: string, { requested, byStatus }: ReplayCounts): void {
  result.requested += requested;
  result.connections[connection] ??= { requested: 0, byStatus: {} };
  const counts = result.connections[connection];
  counts.requested += requested;
  for (const [status, count] of Object.entries(byStatus))
    counts.byStatus[status] = (counts.byStatus[status] ?? 0) + count;
}

/** Throws if the personal data of the conversion was erased: the delivery would be skipped. */
async function previewOf(
  { log, postgres }: RetryDependencies,
  { settings }: Site,
  connection: SiteConnection,
  conversion: string,
  replay: ReplayRequest,
): Promise<PayloadPreview> {
  const events = (await readConversion(log, { host: replay.site }, conversion)) ?? [];
  const delivery = foldDeliveries(events).find(({ platform }) => platform === replay.platform);
  if (!delivery) throw new UserError(`Conversion ${conversion} has no delivery to ${replay.platform}.`);
  const target = { name: replay.platform, platform: platformOfConnection(connection) as Platform };
  const received = await receivedFor(log, findOptOuts(postgres), events, replay.platform);
  return previewDelivery(received, { events, delivery, target, connection, replay }, settings);
}
