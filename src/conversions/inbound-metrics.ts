import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { Receipt } from './receipt.js';

const OUTCOMES = [
  'received',
  'corrected',
  'deduplicated',
  'filtered',
  'invalid',
  'malformed',
  'unauthorized',
  'throttled',
  'disabled',
  'unavailable',
] as const;
export type InboundOutcome = (typeof OUTCOMES)[number];

@Injectable()
export class InboundMetrics {
  private readonly counters: Record<InboundOutcome, { inc(): void }>;

  constructor(registry: Registry) {
    const requests = new Counter({
      name: 'cc_inbound_requests_total',
      help: 'Requests to /__cc/inbound, and conversions of batches, by outcome',
      labelNames: ['outcome'],
      registers: [registry],
    });
    // Resolved once: a labelled increment would hash its labels on every request.
    this.counters = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, requests.labels(outcome)])) as never;
    for (const outcome of OUTCOMES) requests.labels(outcome).inc(0);
  }

  count(outcome: InboundOutcome): void {
    this.counters[outcome].inc();
  }
}

export function outcomeOf(receipt: Receipt, isCorrection = false): InboundOutcome {
  if ('deduped' in receipt) return 'deduplicated';
  if ('filtered' in receipt) return 'filtered';
  return isCorrection ? 'corrected' : 'received';
}
