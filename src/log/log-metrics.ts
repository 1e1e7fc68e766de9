import { Gauge, Histogram, type Registry } from 'prom-client';
import type { EventLog } from './event-log.js';
import type { LogObserver } from './postgres-event-log.js';

export function measureAppends(registry: Registry): LogObserver['appended'] {
  const batchSize = new Histogram({
    name: 'cc_log_append_batch_size',
    help: 'Events per commit',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'cc_log_append_seconds',
    help: 'Duration of an append, from sending the batch to its commit',
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
    registers: [registry],
  });
  return (events, seconds) => {
    batchSize.observe(events);
    duration.observe(seconds);
  };
}

export function measureReaders(registry: Registry, log: EventLog): void {
  new Gauge({
    name: 'cc_log_tail_lag_events',
    help: 'Positions between a reader and the head of the log, as of its last read',
    labelNames: ['reader'],
    registers: [registry],
    collect() {
      for (const reader of log.readers()) this.set({ reader: reader.name }, reader.lag);
    },
  });
}
