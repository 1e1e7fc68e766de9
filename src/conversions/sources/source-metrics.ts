import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { SOURCE_NAMES } from '../../sources/sources.js';

/** What became of an authentic delivery. */
export const DELIVERY_OUTCOMES = ['received', 'corrected', 'deduplicated', 'filtered', 'ignored', 'repeated'] as const;
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];

/** Why nothing but a counter was stored of a request. */
export const REFUSALS = [
  'signature_missing',
  'signature',
  'expired',
  'throttled',
  'unknown_key',
  'no_secret',
  'disabled',
  'too_large',
  'malformed',
  'topic',
  'repeated',
  'unavailable',
] as const;
export type Refusal = (typeof REFUSALS)[number];

@Injectable()
export class SourceMetrics {
  private readonly deliveries: Counter<'source' | 'outcome'>;
  private readonly refused: Counter<'source' | 'reason'>;

  constructor(registry: Registry) {
    this.deliveries = new Counter({
      name: 'cc_source_deliveries_total',
      help: 'Authentic deliveries of sources, by what became of them',
      labelNames: ['source', 'outcome'],
      registers: [registry],
    });
    this.refused = new Counter({
      name: 'cc_source_refused_total',
      help: 'Requests to /__cc/sources of which nothing was stored, by reason',
      labelNames: ['source', 'reason'],
      registers: [registry],
    });
  }

  count(source: string, outcome: DeliveryOutcome): void {
    this.deliveries.inc({ source, outcome });
  }

  /** Paths are what anyone sends: only names of sources are labels. */
  refuse(source: string, reason: Refusal): void {
    this.refused.inc({ source: SOURCE_NAMES.includes(source) ? source : 'other', reason });
  }
}
