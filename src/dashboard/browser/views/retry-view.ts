import type { SyncStatus } from '../../../kernel/sync-statuses.js';
import type { Schemas } from '../api.js';
import { counted, formatNumber } from '../format.js';
import type { SyncLogFilters } from '../sync-log-filters.js';

type RetryAnswer = Schemas['RetriedDeliveries'];
export type RetryStatus = 'failed' | 'skipped' | 'queued';

/** Which deliveries the attempts of a filter may be sent again for. Undefined: what succeeded is not sent again. */
export function retryStatuses(status: SyncStatus | undefined): RetryStatus[] | undefined {
  if (status === undefined) return ['failed', 'skipped'];
  if (status === 'failed' || status === 'rejected') return ['failed'];
  if (status === 'skipped') return ['skipped'];
  return status === 'deferred' ? ['queued'] : undefined;
}

/** Ends of attempts whose deliveries can be sent again. */
const RETRIED = ['failed', 'rejected', 'skipped', 'deferred'] as const;

export interface RetrySelection {
  readonly connection?: string;
  readonly order?: string;
  readonly conversion?: string;
  readonly event?: string;
  readonly reason?: string;
  readonly outcome?: (typeof RETRIED)[number];
  /** Only attempts from this position on. */
  readonly from?: string;
}

/** The selections to send: a selection names a connection, an order or a conversion, so all connections are one each. */
export function retrySelections(
  { connection, order, conversion, event, reason, status }: SyncLogFilters,
  connected: readonly string[],
): RetrySelection[] {
  const outcome = RETRIED.find((known) => known === status);
  const common = {
    ...(order && { order }),
    ...(conversion && { conversion }),
    ...(event && { event }),
    ...(reason && { reason }),
    ...(outcome && { outcome }),
  };
  if (connection !== undefined) return [{ ...common, connection }];
  return order || conversion ? [common] : connected.map((name) => ({ ...common, connection: name }));
}

export interface RetrySummary {
  readonly requested: number;
  /** Connections with the deliveries that are sent, and those that are not, by their status. */
  readonly connections: readonly {
    readonly connection: string;
    readonly requested: number;
    readonly notSent: readonly (readonly [status: string, count: number])[];
  }[];
  readonly preview?: RetryAnswer['preview'];
}

/** The sum of the answers to several requests. The payload is shown only if it is the only delivery. */
export function summarize(answers: readonly RetryAnswer[], statuses: readonly RetryStatus[]): RetrySummary {
  const byConnection = new Map<string, { requested: number; notSent: Map<string, number> }>();
  for (const { connections } of answers)
    for (const [connection, { requested, byStatus }] of Object.entries(connections)) {
      const sum = byConnection.get(connection) ?? { requested: 0, notSent: new Map<string, number>() };
      byConnection.set(connection, sum);
      sum.requested += requested;
      for (const [status, count] of Object.entries(byStatus))
        if (!(statuses as readonly string[]).includes(status))
          sum.notSent.set(status, (sum.notSent.get(status) ?? 0) + count);
    }
  const requested = answers.reduce((sum, answer) => sum + answer.requested, 0);
  const preview = requested === 1 ? answers.find((answer) => answer.preview)?.preview : undefined;
  return {
    requested,
    connections: [...byConnection].map(([connection, { requested, notSent }]) => ({
      connection,
      requested,
      notSent: [...notSent],
    })),
    ...(preview && { preview }),
  };
}

/** A request may look at many attempts of which few match, so not the requests are bounded. The preview is waited for. */
export const PREVIEW_MINUTES = 1;
export const SENDING_MINUTES = 10;

/** Where a retry stopped: it has not requested this selection, or with a cursor the part of it that follows. */
export interface RetryStop {
  readonly selection: number;
  readonly cursor?: string;
}

/**
 * Requests each selection, page by page. Answers as they come go to `onAnswer`, so that what was done is known if a later
 * request fails. Between requests it stops when the signal says so. Undefined if nothing is left.
 */
export async function runRetry(
  selections: readonly RetrySelection[],
  request: (selection: RetrySelection, cursor: string | undefined) => Promise<RetryAnswer>,
  onAnswer: (answer: RetryAnswer) => void,
  signal: AbortSignal,
): Promise<RetryStop | undefined> {
  for (const [index, selection] of selections.entries()) {
    let cursor: string | undefined;
    do {
      if (signal.aborted) return { selection: index, ...(cursor !== undefined && { cursor }) };
      const answer = await request(selection, cursor);
      onAnswer(answer);
      cursor = answer.next;
    } while (cursor !== undefined);
  }
  return undefined;
}

/** What a preview that stopped there has looked at, so that no more is sent than it showed. */
export function previewedOf(selections: readonly RetrySelection[], stop: RetryStop | undefined): RetrySelection[] {
  if (!stop) return [...selections];
  const { selection, cursor } = stop;
  // A cursor begins with the position before which attempts are left. Pages of another request may end elsewhere.
  const from = cursor?.split('-')[0];
  const last = from === undefined ? [] : selections.slice(selection, selection + 1).map((part) => ({ ...part, from }));
  return [...selections.slice(0, selection), ...last];
}

/** How a retry ended. `limited`: it took as long as one may, so that attempts were not looked at. */
export type RetryEnd = 'complete' | 'stopped' | 'limited';

export function retryEnd(stop: RetryStop | undefined, isStopped: boolean): RetryEnd {
  if (!stop) return 'complete';
  return isStopped ? 'stopped' : 'limited';
}

/** What a retry has done, of what the preview had counted. */
export function retriedText(sent: number, expected: number, end: RetryEnd): string {
  if (end === 'stopped')
    return `Stopped: ${formatNumber(sent)} of ${counted(expected, 'delivery', 'deliveries')} sent again`;
  const text = `${counted(sent, 'delivery is', 'deliveries are')} sent again`;
  // Not "repeat": the same attempts would be looked at again.
  return end === 'limited'
    ? `${text}, but not all attempts were looked at within ${SENDING_MINUTES} minutes: choose a shorter time for the others`
    : text;
}
