import { deliveriesProjection } from '../delivery/deliveries.projection.js';
import { SCAN_LEASE } from '../delivery/owed/owed.js';
import { OUTBOUND } from '../events/outbound.events.js';
import { LOG_HOLD } from '../kafka/relay-progress.js';
import { counted } from '../kernel/counted.js';
import type { EventLog } from '../log/event-log.js';
import { readOldestOpenings } from '../log/event-reader.js';
import type { HoldSource, RetentionHold } from '../log/retention/retention-holds.js';
import { readMoves } from '../moves/departures.js';
import { countedUpTo, type End, ownEnd, pendingOf, streamOf } from '../outbound/reporting-window.js';
import { readReached } from '../postgres/lease.js';
import type { Postgres } from '../postgres/postgres.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { LATE_MATCHES_LEASE } from '../visitors/late-matches.js';
import type { Services } from './services.js';

export type HoldDependencies = Pick<Services, 'postgres' | 'log' | 'sites' | 'projections' | 'settings'>;

/** Everything that the removal of events waits for, besides the registered readers. */
export function allHolds(dependencies: HoldDependencies): HoldSource[] {
  const read = [projectionHolds, deliveryHolds, webhookHolds, lateMatchHolds, kafkaHolds, moveHolds];
  return read.map((holds) => (until) => holds(dependencies, until));
}

/** What the removal of personal parts waits for. Totals and topics contain none, and other readers find them missing as after an erasure. */
export function personalHolds(dependencies: HoldDependencies): HoldSource[] {
  return [projectionHolds, deliveryHolds, lateMatchHolds].map((holds) => (until) => holds(dependencies, until));
}

/**
 * Every projection needs the events after its checkpoint, also while it is parked. Inline projections have none: the append
 * writes them. The checkpoint of a projection that Kafka feeds moves when all its partition checkpoints have passed it.
 */
async function projectionHolds({ postgres, projections }: HoldDependencies): Promise<RetentionHold[]> {
  const known = new Map(projections.all.map((projection) => [projection.name, projection]));
  const { rows } = await postgres.pool.query<{
    name: string;
    position: string;
    parked: boolean;
    reason: string | null;
  }>(
    `SELECT name, coalesce(p.position, 0) AS position, coalesce(p.parked, false) AS parked, p.reason
       FROM cc.projections p FULL JOIN unnest($1::text[]) AS known (name) USING (name)`,
    [[...known.keys()]],
  );
  return rows
    .filter(({ name }) => !known.get(name)?.inline)
    .map(({ name, position, parked, reason }) => ({
      holder: `projection ${name}${parked ? ' (parked)' : ''}`,
      position: Number(position),
      fix: fixOfProjection(name, known.has(name), parked ? reason : null),
    }));
}

function fixOfProjection(name: string, isKnown: boolean, reason: string | null): string {
  if (!isKnown) {
    return `This version has no such projection. If no other version runs: DELETE FROM cc.projections WHERE name = '${name}'.`;
  }
  if (reason === null) return 'A running service catches it up; "projections status" shows its progress.';
  return `It is parked at ${reason}. Update to a version that supports this event, then run "projections rebuild ${name}".`;
}

/**
 * An unsettled delivery needs its conversion from the first event on: each attempt builds its payload from it. Up to where the
 * scan for owed deliveries has got, every delivery has an outcome; those that wait for another attempt are in the projection.
 * It is caught up after the scan's progress was read: its rows as of an older position lack outcomes that the scan has passed.
 * Deliveries of a site that has left are in the log that it has moved to.
 */
async function deliveryHolds({ postgres, projections }: HoldDependencies, until: number): Promise<RetentionHold[]> {
  const scan = await scanHold(postgres, SCAN_LEASE, 'the scan for owed deliveries');
  await projections.catchUp(deliveriesProjection.name);
  const groups = await readOldestOpenings(
    postgres.pool,
    `SELECT d.platform || ' of ' || d.site AS name, d.conversion AS stream FROM cc.deliveries d
      WHERE NOT EXISTS (SELECT FROM cc.sites s WHERE s.host = d.site AND s.move ->> 'state' = 'left')`,
    until,
  );
  const waiting = groups.map(({ name, streams, position }) => ({
    holder: `${counted(streams, 'unsettled delivery', 'unsettled deliveries')} to ${name}`,
    isPlural: streams !== 1,
    position: position - 1,
    fix: 'They are sent, or given up, by their retry schedule; the check "deliveries" shows which connections wait for an operator.',
  }));
  return [scan, ...waiting];
}

/** Events that are in no reporting window which the receiver has accepted. */
async function webhookHolds({ postgres, log, sites, settings }: HoldDependencies): Promise<RetentionHold[]> {
  const set = (await sites.all()).flatMap(({ host, webhook, epoch, move }) =>
    // What a site that has left owes its webhook, the other cell owes it.
    webhook && move?.state !== 'left' ? [{ host, webhook, hasMoved: epoch > 0 }] : [],
  );
  const events = await log.readEnds(
    OUTBOUND,
    set.map(({ host }) => streamOf(host)),
  );
  const ends = new Map(events.map((event) => [event.site, event]));
  const nowMs = postgres.clock.nowMs();
  const holding = set.filter(({ webhook }) => isHolding(webhook, nowMs, settings.logRetentionMs));
  return Promise.all(holding.map((receiver) => webhookHold(log, receiver, ends.get(receiver.host))));
}

/**
 * An operator who disables a webhook gives up its windows. One that the service disabled holds for a limited time, in which an
 * operator can enable it again: otherwise a receiver that is gone would keep events forever. Without a limit it holds as long as
 * it is disabled.
 */
export function isHolding(
  { enabled, reason, since }: SiteWebhook,
  nowMs: number,
  disabledHoldMs: number | undefined,
): boolean {
  if (enabled) return true;
  return reason !== undefined && (disabledHoldMs === undefined || nowMs - Date.parse(since) < disabledHoldMs);
}

async function webhookHold(
  log: EventLog,
  receiver: { readonly host: string; readonly webhook: SiteWebhook; readonly hasMoved: boolean },
  end: End,
): Promise<RetentionHold> {
  const { host, webhook, hasMoved } = receiver;
  const pending = pendingOf(ownEnd(webhook, end));
  const position = pending && !hasMoved ? pending.fromPosition : await countedUpTo(log, receiver, end);
  if (webhook.enabled) {
    const fix = pending
      ? `The push is retried; "webhook show --site ${host}" shows the error. "webhook disable --site ${host}" gives up the totals.`
      : 'The totals are pushed at the next tick of OUTBOUND_EVERY by a running service.';
    return { holder: `the webhook of ${host}`, position, fix };
  }
  return {
    holder: `the disabled webhook of ${host} (${webhook.reason})`,
    position,
    fix: `Fix the receiver and run "webhook enable --site ${host}", or give up the totals with "webhook disable --site ${host}".`,
  };
}

/**
 * The scan for late matches needs the events that it has not read. Unmatched conversions themselves hold nothing: whether a
 * visit ever matches them is open, and LOG_RETENTION states how long the service may wait for that.
 */
async function lateMatchHolds({ postgres }: HoldDependencies): Promise<RetentionHold[]> {
  return [await scanHold(postgres, LATE_MATCHES_LEASE, 'the scan for late matches')];
}

/** A scan of the log under a lease, which states its progress. */
async function scanHold(postgres: Postgres, lease: string, holder: string): Promise<RetentionHold> {
  const fix = 'A running service continues it: check that one runs and that its log reports no error.';
  return { holder, position: await readReached(postgres, lease), fix };
}

/** Events that the relay has not published. Only with Kafka configured: `holdLog` creates and deletes the row. */
async function kafkaHolds({ postgres }: HoldDependencies): Promise<RetentionHold[]> {
  const { rows } = await postgres.pool.query<{ position: string }>(
    'SELECT position FROM cc.log_holds WHERE name = $1 AND session = 0',
    [LOG_HOLD],
  );
  return rows.map(({ position }) => ({
    holder: 'the Kafka relay',
    position: Number(position),
    fix: 'Fix what the check "kafka" reports. If Kafka is gone for good, unset KAFKA_BROKERS and restart the service.',
  }));
}

/** The other cell compares how many events it got with how many there were. */
export async function moveHolds({ postgres }: Pick<HoldDependencies, 'postgres'>): Promise<RetentionHold[]> {
  return (await readMoves(postgres.pool))
    .filter(({ direction }) => direction === 'out')
    .map(({ site, cell }) => ({
      holder: `the move of ${site} to cell ${cell}`,
      position: 0,
      fix: `Run "sites move ${site} --to ${cell}" to its end, or cancel it with "sites move ${site} --cancel".`,
    }));
}
