import { outcomeWord } from '../../../kernel/outcome-words.js';
import type { Schemas } from '../api.js';
import { type Delivery, isDelivered } from '../conversion-story.js';
import { connectionTitle } from '../format.js';
import type { Problem } from '../problem.js';

const RESENT = ['failed', 'skipped', 'queued'] as const;

/** The request that sends a delivery once more. One that was accepted is sent under a new id, so that it counts twice. */
export function sendAgainRequest(conversion: string, { platform, status }: Pick<Delivery, 'platform' | 'status'>) {
  const force = isDelivered(status);
  return { conversion, connection: platform, force, ...(!force && { status: [...RESENT] }) };
}

/** Statuses of a request without an answer, or one that a proxy gave up on: it may have been carried out. */
const UNKNOWN_OUTCOMES: readonly number[] = [0, 502, 504];

/**
 * The Idempotency-Key of the next request. It stays if the outcome is unknown, so that a second click cannot send twice. After
 * an answer it is a new one: the service would repeat that answer, or refuse another request under the same key.
 */
export function nextKey(key: string, problem: Pick<Problem, 'status'> | undefined, newKey: () => string): string {
  return problem && UNKNOWN_OUTCOMES.includes(problem.status) ? key : newKey();
}

/** What a dry run says. Without a payload, nothing would be sent. */
type SendPreview =
  | { readonly payload: string; readonly warning?: string }
  | { readonly payload?: undefined; readonly reason: string };

export function sendPreview(
  answer: Schemas['RetriedDeliveries'],
  delivery: Pick<Delivery, 'platform' | 'status'>,
): SendPreview {
  const title = connectionTitle(delivery.platform);
  const { requested, preview, connections } = answer;
  if (requested === 0) {
    const [status] = Object.keys(connections[delivery.platform]?.byStatus ?? {});
    if (status === 'disconnected') return { reason: `${title} is not connected any more. Connect it first.` };
    return {
      reason: `Nothing would be sent: the delivery is ${outcomeWord(status ?? delivery.status)} at the moment.`,
    };
  }
  if (preview?.status === 'skipped') return { reason: `${title} would not get it: ${preview.reason ?? 'skipped'}.` };
  const warning = isDelivered(delivery.status)
    ? `${title} accepted it already. It is sent under a new id, and may count twice.`
    : undefined;
  return { payload: JSON.stringify(preview?.payload ?? {}, null, 2), ...(warning !== undefined && { warning }) };
}
