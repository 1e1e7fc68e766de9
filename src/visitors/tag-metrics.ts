import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { TagCall } from './tag-message.js';

export type TagOutcome = 'taken' | 'refused' | 'throttled' | 'malformed' | 'unavailable';

@Injectable()
export class TagMetrics {
  private readonly calls: Counter<'call' | 'outcome'>;

  constructor(registry: Registry) {
    this.calls = new Counter({
      name: 'cc_tag_calls_total',
      help: 'Requests of the browser tag by endpoint and outcome',
      labelNames: ['call', 'outcome'],
      registers: [registry],
    });
  }

  count(call: TagCall, outcome: TagOutcome): void {
    this.calls.inc({ call, outcome });
  }
}
