import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { NotForwarded } from './forwarder.js';

@Injectable()
export class ForwardingMetrics {
  private readonly requests: Counter<'site' | 'outcome'>;

  constructor(registry: Registry) {
    this.requests = new Counter({
      name: 'cc_forwarded_requests_total',
      help: 'Requests for sites that have moved to another cell, by site and outcome',
      labelNames: ['site', 'outcome'],
      registers: [registry],
    });
  }

  count(site: string, outcome: 'answered' | 'refused' | NotForwarded): void {
    this.requests.inc({ site, outcome });
  }
}
