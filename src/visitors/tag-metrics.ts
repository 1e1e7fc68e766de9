import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { TagCall } from './record-visit.js';

export type TagOutcome = 'taken' | 'refused' | 'throttled' | 'malformed' | 'unavailable';

@Injectable()
export class TagMetrics {
  private readonly calls: Counter<'call' | 'outcome'>;

  constructor(registry: Registry) {
    this.calls = new Counter({
      name: 'cc_tag_calls_total',
      help: 'Calls of the browser tag by what became of them',
      labelNames: ['call', 'outcome'],
      registers: [registry],
    });
  }

  count(call: TagCall, outcome: TagOutcome): void {
    this.calls.inc({ call, outcome });
  }
}
