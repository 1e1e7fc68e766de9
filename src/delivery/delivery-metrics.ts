import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { Outcome, OutcomeStatus } from '../events/delivery.events.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import { ConnectionLabels } from './connections/connection-labels.js';

@Injectable()
export class DeliveryMetrics {
  private readonly outcomes: Counter<'platform' | 'status'>;
  private readonly counters = new Map<ConnectionName, Map<OutcomeStatus, { inc(): void }>>();

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
    // Cached, because a labelled increment builds and hashes its labels every time.
    const cached = this.counters.get(platform)?.get(status);
    if (cached) cached.inc();
    else this.counterOf(platform, status).inc();
  }

  private counterOf(platform: ConnectionName, status: OutcomeStatus): { inc(): void } {
    const label = this.labels.of(platform);
    const counter = this.outcomes.labels(label, status);
    // Connections that share a label are not kept: sites choose the names, and there is no limit to their number.
    if (label !== platform) return counter;
    const counters = this.counters.get(platform) ?? new Map<OutcomeStatus, { inc(): void }>();
    this.counters.set(platform, counters.set(status, counter));
    return counter;
  }
}
