import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { Outcome } from '../events/delivery.events.js';
import { ConnectionLabels } from './connection-labels.js';

/** Counts outcomes by connection and status. */
@Injectable()
export class DeliveryMetrics {
  private readonly outcomes: Counter<'platform' | 'status'>;
  private readonly counters = new Map<string, { inc(): void }>();

  constructor(
    private readonly labels: ConnectionLabels,
    registry: Registry,
  ) {
    this.outcomes = new Counter({
      name: 'cc_deliveries_total',
      help: 'Outcomes of delivery attempts',
      labelNames: ['platform', 'status'],
      registers: [registry],
    });
  }

  count({ platform, status }: Outcome): void {
    const label = this.labels.of(platform);
    const key = `${label} ${status}`;
    // Cached, because a labelled increment builds and hashes its labels every time.
    const counter = this.counters.get(key) ?? this.outcomes.labels(label, status);
    this.counters.set(key, counter);
    counter.inc();
  }
}
