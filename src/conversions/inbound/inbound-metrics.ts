import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { Receipt } from '../receipt.js';
import type { RejectionReason } from '../rejection-reason.js';
import { fieldsWith, type InboundFields } from './inbound-field.js';

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

/** Sites with a label of their own. Only sites with bad rows count, so this is enough for most operators. */
const SITES_MAX = 1_000;

@Injectable()
export class InboundMetrics {
  private readonly counters: Record<InboundOutcome, { inc(): void }>;
  private readonly rejections: Counter<'site' | 'reason'>;
  private readonly dropped: Counter<'field'>;
  private readonly unknown: Counter<'field'>;
  private readonly sites = new Set<string>();

  constructor(registry: Registry) {
    const requests = new Counter({
      name: 'cc_inbound_requests_total',
      help: 'Requests to /__cc/inbound, and conversions of batches, by outcome',
      labelNames: ['outcome'],
      registers: [registry],
    });
    this.rejections = new Counter({
      name: 'cc_inbound_rejected_total',
      help: 'Conversions of authenticated senders that were refused, by site and reason',
      labelNames: ['site', 'reason'],
      registers: [registry],
    });
    this.dropped = new Counter({
      name: 'cc_inbound_dropped_fields_total',
      help: 'Optional fields that were not valid and not used, by name',
      labelNames: ['field'],
      registers: [registry],
    });
    this.unknown = new Counter({
      name: 'cc_inbound_unknown_fields_total',
      help: 'Fields that are not part of the contract and were ignored, by common misspelling, or other',
      labelNames: ['field'],
      registers: [registry],
    });
    // Resolved once: a labelled increment would hash its labels on every request.
    this.counters = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, requests.labels(outcome)])) as never;
    for (const outcome of OUTCOMES) requests.labels(outcome).inc(0);
  }

  countRejection(host: string, reason: RejectionReason): void {
    if (this.sites.size < SITES_MAX) this.sites.add(host);
    this.rejections.inc({ site: this.sites.has(host) ? host : 'other', reason });
  }

  /** Once for each field of a conversion. */
  countUnused(fields: InboundFields): void {
    if (!fields.warnings) return; // Most conversions have none.
    for (const field of fieldsWith('dropped', fields) ?? []) this.dropped.inc({ field });
    for (const field of fieldsWith('unknown', fields) ?? []) this.unknown.inc({ field });
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
