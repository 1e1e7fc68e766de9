import { failureOf } from '../platforms/several-actions.js';
import { HELD_BACK } from './deliveries.projection.js';
import type { AttemptResult, DestinationQueue, QueuedDelivery } from './destination-queue.js';
import type { PayloadPart } from './payload/payload.js';

export interface ActionResult {
  readonly action: string;
  readonly result: AttemptResult;
}

/**
 * Queues the items of a conversion for several conversion actions, each like a delivery of its own: the platform may accept some
 * and refuse others. The delivery is done when all are, with one result.
 */
export function enqueueParts(
  queue: Pick<DestinationQueue, 'enqueue'>,
  delivery: QueuedDelivery,
  parts: readonly PayloadPart[],
): void {
  const results = new Map<string, AttemptResult>();
  for (const { action, body } of parts) {
    const done = (result: AttemptResult) => {
      results.set(action, result);
      if (results.size < parts.length) return;
      delivery.done(combineResults(parts.map(({ action }) => ({ action, result: results.get(action) ?? result }))));
    };
    queue.enqueue({ ...delivery, payload: { ...delivery.payload, body }, done });
  }
}

/**
 * One result of all actions. While one of them waits, all are sent again, with the same event id: the platform recognises what it
 * has accepted. Otherwise one failure is a failure, whose reason names the action and says that the others were delivered.
 */
export function combineResults(actions: readonly ActionResult[]): AttemptResult {
  const isAnySent = actions.some(({ result }) => isAccepted(result) || result.unknown);
  const all = isAnySent ? actions.map(withChangeFailed) : actions;
  const results = all.map(({ result }) => result);
  const durationMs = Math.max(...results.map((result) => result.durationMs));
  const isAnyAccepted = results.some(isAccepted);
  const isAnyUnknown = results.some(({ unknown }) => unknown);
  const changed = results.find(({ status }) => status === 'erased') ?? results.find(isOptedOut);
  if (changed) return changed;
  const isAnyWithdrawn = results.some(({ status }) => status === 'withdrawn');
  if (isAnyWithdrawn && !isAnyAccepted && !isAnyUnknown) return { status: 'withdrawn', durationMs };

  const deferred = results.filter(({ status }) => status === 'deferred');
  if (deferred.length > 0 || isAnyWithdrawn) {
    const held = deferred.find(({ reason = '' }) => HELD_BACK.includes(reason));
    const waits = deferred.flatMap(({ afterMs }) => afterMs ?? []);
    return {
      ...(held ?? deferred[0] ?? WITHDRAWN),
      ...(waits.length > 0 && { afterMs: Math.max(...waits) }),
      durationMs,
      // Bound, so that no other account gets what this one has accepted; but not to settings that a person has to fix.
      unknown: isAnyUnknown || (isAnyAccepted && !held),
    };
  }
  const failures = all.filter(({ result }) => result.status === 'failed');
  const [first] = failures;
  if (first) {
    const reasons = failures.map(({ action, result }) => ({ action, reason: result.reason ?? '' }));
    // Sent again to all of them without it, if nothing else was refused.
    const identifiers = failures.map(({ result }) => result.without);
    const without = identifiers.every((list) => list !== undefined) ? [...new Set(identifiers.flat())] : undefined;
    const unknown = isAnyUnknown || (isAnyAccepted && without !== undefined);
    return { ...first.result, reason: failureOf(reasons, all.length), durationMs, unknown, without };
  }
  const unconfirmed = results.find(({ status }) => status === 'accepted');
  return { ...(unconfirmed ?? (results[0] as AttemptResult)), durationMs };
}

const WITHDRAWN = { status: 'deferred', reason: 'timeout' } as const;

/** The platform has the conversion for another action, or may have it, so that it cannot be sent with less. */
function withChangeFailed({ action, result }: ActionResult): ActionResult {
  if (result.status !== 'erased' && !isOptedOut(result)) return { action, result };
  const reason = result.status === 'erased' ? 'erased' : 'consent_denied';
  return { action, result: { ...result, status: 'failed', reason } };
}

function isOptedOut({ status }: AttemptResult): boolean {
  return status === 'opted_out';
}

function isAccepted({ status }: AttemptResult): boolean {
  return status === 'delivered' || status === 'accepted';
}
