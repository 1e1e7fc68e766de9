import { Counter, Registry } from 'prom-client';
import type { Outcome } from './delivery.js';

/** Outcomes by platform and status. Counted in plain numbers: labels cost more than the counting. */
export class DeliveryMetrics {
  private readonly counts = new Map<string, number>();

  constructor(registry: Registry) {
    const { counts } = this;
    new Counter({
      name: 'cc_deliveries_total',
      help: 'Outcomes of tries to deliver a conversion',
      labelNames: ['platform', 'status'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [key, count] of counts) {
          const [platform, status] = key.split(' ') as [string, string];
          this.inc({ platform, status }, count);
        }
      },
    });
  }

  count({ platform, status }: Outcome): void {
    const key = `${platform} ${status}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }
}
