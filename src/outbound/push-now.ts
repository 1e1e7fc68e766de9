import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { type ReportingWindow } from '../events/outbound.events.js';
import { UserError } from '../kernel/errors.js';
import { type Claim, claimSites } from './claims.js';
import type { Pusher, Receiver } from './pusher.js';
import { type End, pendingOf } from './reporting-window.js';

const ASK_AGAIN_MS = 200;

/** The event that tells what came of a push. */
export type Pushed = Extract<NonNullable<End>, { type: 'outbound.delivered.v1' | 'outbound.failed.v1' }>;

/**
 * Pushes everything up to now, without waiting for a tick or the time of a next try: what is held back first, and when
 * the receiver has taken that, what has come since.
 */
export async function pushNow(pool: Pool, pusher: Pusher, receiver: Receiver, timeoutMs: number): Promise<Pushed> {
  const first = await pushOne(pool, pusher, receiver, timeoutMs);
  const isMore = first.wasHeld && first.pushed.type === 'outbound.delivered.v1';
  return isMore ? (await pushOne(pool, pusher, receiver, timeoutMs)).pushed : first.pushed;
}

async function pushOne(pool: Pool, pusher: Pusher, receiver: Receiver, timeoutMs: number) {
  const { site } = receiver;
  const claim = await claimPatiently(pool, site, timeoutMs);
  try {
    const end = (await pusher.readEnds([site])).get(site);
    const wasHeld = pendingOf(end) !== undefined;
    const closed = wasHeld ? end : await pusher.close(receiver, end);
    const pushed = closed && (await pusher.send(receiver, pendingOf(closed) as ReportingWindow, closed, claim));
    if (!pushed)
      throw new UserError(
        `What came of the push of ${site} could not be written down. "webhook show --site ${site}" tells how it stands.`,
      );
    return { wasHeld, pushed: pushed as Pushed };
  } finally {
    // Should the database be away, the claim ends by itself.
    await claim.release().catch(() => {});
  }
}

/** A service that is pushing for the site right now is through with it after one try. */
async function claimPatiently(pool: Pool, site: string, timeoutMs: number): Promise<Claim> {
  const untilMs = performance.now() + 2 * timeoutMs + 10_000;
  for (;;) {
    const claim = (await claimSites(pool, [site], timeoutMs)).get(site);
    if (claim) return claim;
    if (performance.now() > untilMs)
      throw new UserError(`Another process is pushing for ${site} all the time. Try again in a minute.`);
    await sleep(ASK_AGAIN_MS);
  }
}
