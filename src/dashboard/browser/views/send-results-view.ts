import type { Schemas } from '../api.js';
import { connectionTitle, counted, formatNumber } from '../format.js';
import { reasonText } from './reason-view.js';

export type SentDelivery = Schemas['RetriedDeliveries']['deliveries'][number];
type SyncLine = Pick<Schemas['SyncLine'], 'conversionId' | 'platform' | 'status' | 'reason' | 'position'>;

/** What came back of deliveries that were sent again. */
export interface SendResults {
  readonly sent: number;
  readonly accepted: number;
  readonly refused: number;
  readonly notSent: number;
  /** Refused for now: tried again later. */
  readonly waiting: number;
  /** Without an answer so far. */
  readonly open: number;
  /** Why some were not accepted, the most frequent first. */
  readonly reasons: readonly {
    readonly key: string;
    readonly words: string;
    readonly why: string;
    readonly count: number;
  }[];
}

const KINDS: Readonly<Record<string, 'accepted' | 'refused' | 'notSent' | 'waiting'>> = {
  delivered: 'accepted',
  accepted: 'accepted',
  confirmed: 'accepted',
  failed: 'refused',
  rejected: 'refused',
  skipped: 'notSent',
  deferred: 'waiting',
};
const WORDS = { refused: 'refused by', notSent: 'not sent to', waiting: 'waiting for' } as const;

/** `lines`: attempts since they were sent, in any order; the newest of a delivery counts. */
export function sendResults(sent: readonly SentDelivery[], lines: readonly SyncLine[]): SendResults {
  const newest = new Map<string, SyncLine>();
  for (const line of lines) {
    const key = `${line.conversionId} ${line.platform}`;
    if (line.position > (newest.get(key)?.position ?? 0)) newest.set(key, line);
  }
  const sums = { accepted: 0, refused: 0, notSent: 0, waiting: 0, open: 0 };
  const reasons = new Map<string, { words: string; why: string; count: number }>();
  for (const { conversionId, connection } of sent) {
    const line = newest.get(`${conversionId} ${connection}`);
    const kind = line && KINDS[line.status];
    sums[kind ?? 'open'] += 1;
    if (!line || kind === undefined || kind === 'accepted') continue;
    const words = `${WORDS[kind]} ${connectionTitle(connection)}`;
    const why = reasonText(line.reason ?? 'no reason given', connection);
    const key = `${words} ${why}`;
    reasons.set(key, { words, why, count: (reasons.get(key)?.count ?? 0) + 1 });
  }
  const sorted = [...reasons].map(([key, reason]) => ({ key, ...reason }));
  return { sent: sent.length, ...sums, reasons: sorted.sort((one, other) => other.count - one.count) };
}

/** `26 sent: 25 accepted, 1 refused`. */
export function resultsText({ sent, accepted, refused, notSent, waiting, open }: SendResults): string {
  const parts = [
    [accepted, 'accepted'],
    [refused, 'refused'],
    [notSent, 'not sent'],
    [waiting, 'waiting'],
    [open, 'without an answer yet'],
  ] as const;
  const found = parts.filter(([count]) => count > 0).map(([count, words]) => `${formatNumber(count)} ${words}`);
  return `${counted(sent, 'delivery', 'deliveries')} requested: ${found.join(', ')}`;
}
