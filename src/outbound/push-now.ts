import { setTimeout as sleep } from 'node:timers/promises';
import { type ReportingWindow } from '../events/outbound.events.js';
import { UserError } from '../kernel/errors.js';
import type { Lease, LeaseDatabase } from '../postgres/lease.js';
import { acquirePushLeases } from './push-lease.js';
import type { Pusher, Receiver } from './pusher.js';
import { type End, ownEnd, pendingOf } from './reporting-window.js';

const POLL_EVERY_MS = 200;

/** The event that records the outcome of a push. */
export type Pushed = Extract<NonNullable<End>, { type: 'outbound.delivered.v1' | 'outbound.failed.v1' }>;

/**
 * Pushes everything up to now without waiting for a tick or the next attempt: first the pending window, then, if the receiver
 * accepted it, everything since.
 */
export async function pushNow(
  database: LeaseDatabase,
  pusher: Pusher,
  receiver: Receiver,
  timeoutMs: number,
): Promise<Pushed> {
  const first = await pushOne(database, pusher, receiver, timeoutMs);
  const isMore = first.wasPending && first.pushed.type === 'outbound.delivered.v1';
  return isMore ? (await pushOne(database, pusher, receiver, timeoutMs)).pushed : first.pushed;
}

async function pushOne(database: LeaseDatabase, pusher: Pusher, receiver: Receiver, timeoutMs: number) {
  const { site } = receiver;
  const lease = await waitForLease(database, site, timeoutMs);
  try {
    const end = (await pusher.readEnds([site])).get(site);
    const wasPending = pendingOf(ownEnd(receiver.webhook, end)) !== undefined;
    const closed = wasPending ? end : await pusher.close(receiver, end);
    const pushed = closed && (await pusher.push(receiver, pendingOf(closed) as ReportingWindow, closed, lease));
    if (!pushed)
      throw new UserError(
        `The outcome of the push for ${site} could not be recorded. "webhook show --site ${site}" shows the current state.`,
      );
    return { wasPending, pushed: pushed as Pushed };
  } finally {
    // If the database is unavailable, the lease expires.
    await lease.release().catch(() => {});
  }
}

/** A process that is pushing for the site right now releases the lease after one attempt. */
async function waitForLease(database: LeaseDatabase, site: string, timeoutMs: number): Promise<Lease> {
  const untilMs = performance.now() + 2 * timeoutMs + 10_000;
  for (;;) {
    const lease = (await acquirePushLeases(database, [site], timeoutMs)).get(site);
    if (lease) return lease;
    if (performance.now() > untilMs)
      throw new UserError(`Another process keeps pushing for ${site}. Try again in a minute.`);
    await sleep(POLL_EVERY_MS);
  }
}
