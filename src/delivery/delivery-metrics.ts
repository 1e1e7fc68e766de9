import { Counter, type Registry } from 'prom-client';
import { type Outcome } from '../events/delivery.events.js';

/** Outcomes by platform and status. */
export class DeliveryMetrics {
  private readonly outcomes: Counter<'platform' | 'status'>;
  private readonly counters = new Map<string, { inc(): void }>();

  constructor(registry: Registry) {
    this.outcomes = new Counter({
      name: 'cc_deliveries_total',
      help: 'Outcomes of tries to deliver a conversion',
      labelNames: ['platform', 'status'],
      registers: [registry],
    });
  }

  count({ platform, status }: Outcome): void {
    const key = `${platform} ${status}`;
    // Looked up once: a labelled increment would build and hash its labels every time.
    const counter = this.counters.get(key) ?? this.outcomes.labels(platform, status);
    this.counters.set(key, counter);
    counter.inc();
  }
}
