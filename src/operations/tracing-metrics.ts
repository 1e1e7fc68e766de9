import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { Tracing } from '../tracing/tracing.js';

@Injectable()
export class TracingMetrics {
  constructor(registry: Registry, tracing: Tracing) {
    new Counter({
      name: 'cc_trace_spans_dropped_total',
      help: 'Spans that were recorded and not accepted by the collector',
      registers: [registry],
      collect() {
        this.reset();
        this.inc(tracing.dropped);
      },
    });
  }
}
