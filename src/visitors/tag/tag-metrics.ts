import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { Exceeded } from './tag-budgets.js';
import type { TagCall } from './tag-message.js';

export type TagOutcome = 'taken' | 'refused' | 'throttled' | 'malformed' | 'unavailable';

@Injectable()
export class TagMetrics {
  private readonly calls: Counter<'call' | 'outcome'>;
  private readonly exceeded: Counter<'scope' | 'limit'>;

  constructor(registry: Registry) {
    this.calls = new Counter({
      name: 'cc_tag_calls_total',
      help: 'Requests of the browser tag by endpoint and outcome',
      labelNames: ['call', 'outcome'],
      registers: [registry],
    });
    this.exceeded = new Counter({
      name: 'cc_tag_budget_exceeded_total',
      help: 'Requests of the browser tag that exceeded a daily budget, by whose budget and which limit',
      labelNames: ['scope', 'limit'],
      registers: [registry],
    });
  }

  countExceeded({ scope, limit }: Pick<Exceeded, 'scope' | 'limit'>): void {
    this.exceeded.inc({ scope, limit });
  }

  count(call: TagCall, outcome: TagOutcome): void {
    this.calls.inc({ call, outcome });
  }
}
