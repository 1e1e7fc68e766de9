import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { Outcome } from '../events/delivery.events.js';

/** Counts outcomes by platform and status. */
@Injectable()
export class DeliveryMetrics {
  private readonly outcomes: Counter<'platform' | 'status'>;
  private readonly counters = new Map<string, { inc(): void }>();

  constructor(registry: Registry) {
    this.outcomes = new Counter({
      name: 'cc_deliveries_total',
      help: 'Outcomes of delivery attempts',
      labelNames: ['platform', 'status'],
      registers: [registry],
    });
  }

  count({ platform, status }: Outcome): void {
    const key = `${platform} ${status}`;
    // Cached, because a labelled increment builds and hashes its labels every time.
    const counter = this.counters.get(key) ?? this.outcomes.labels(platform, status);
    this.counters.set(key, counter);
    counter.inc();
  }
}
