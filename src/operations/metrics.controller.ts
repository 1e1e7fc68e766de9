import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Controller, Get, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { collectDefaultMetrics, Gauge, type MetricType, Registry } from 'prom-client';
import { ProjectionRunner } from '../log/projections/projection-runner.js';
import { Postgres } from '../postgres/postgres.js';
import { OperatorsOnly } from './operators-only.guard.js';

const SCRAPE_TIMEOUT_MS = 1_000;
/** Gauges of prom-client with the suffix of a counter. The sum of the gauge without it is the same. */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `cc_nodejs_active_${kind}_total`);
/** Metrics that `cc_event_loop_delay_seconds` replaces: one sampler is enough, each sample wakes an idle process. */
const LAGS = ['', 'min_', 'max_', 'mean_', 'stddev_', 'p50_', 'p90_', 'p99_'].map(
  (kind) => `cc_nodejs_eventloop_lag_${kind}seconds`,
);
/** The longest interval of a timer. */
const NEVER_MS = 2 ** 31 - 1;
/** Shorter delays are seen only by chance. */
const DELAY_SAMPLED_EVERY_MS = 50;

@Controller('metrics')
@UseGuards(OperatorsOnly)
export class MetricsController {
  constructor(
    private readonly registry: Registry,
    postgres: Postgres,
    projections: ProjectionRunner,
  ) {
    collectDefaultMetrics({ register: registry, prefix: 'cc_', eventLoopMonitoringPrecision: NEVER_MS });
    for (const name of [...MISNAMED, ...LAGS]) registry.removeSingleMetric(name);
    const intervals = monitorEventLoopDelay({ resolution: DELAY_SAMPLED_EVERY_MS });
    intervals.enable();
    const delays = new Gauge({
      name: 'cc_event_loop_delay_seconds',
      help: 'Event loop delay since the last scrape',
      labelNames: ['quantile'],
      registers: [registry],
      collect() {
        for (const quantile of [0.5, 0.99, 1]) {
          const delayMs = intervals.percentile(quantile * 100) / 1e6 - DELAY_SAMPLED_EVERY_MS;
          this.set({ quantile }, Math.max(0, delayMs) / 1_000);
        }
        intervals.reset();
      },
    });
    // Only a summary may have quantiles. prom-client's own would have to observe every single delay.
    const get = delays.get.bind(delays);
    delays.get = async () => ({ ...(await get()), type: 'summary' as unknown as MetricType });
    new Gauge({
      name: 'cc_postgres_pool_connections',
      help: 'Connections of the PostgreSQL pool by state; "waiting" counts requests that wait for a connection',
      labelNames: ['state'],
      registers: [registry],
      collect() {
        this.set({ state: 'total' }, postgres.pool.totalCount);
        this.set({ state: 'idle' }, postgres.pool.idleCount);
        this.set({ state: 'waiting' }, postgres.pool.waitingCount);
      },
    });
    new Gauge({
      name: 'cc_projection_lag_events',
      help: 'Positions between a projection and the head of the log, as of its last run',
      labelNames: ['projection'],
      registers: [registry],
      collect() {
        for (const [projection, lag] of projections.lags) this.set({ projection }, lag);
      },
    });
    new Gauge({
      name: 'cc_projection_parked',
      help: '1 for a projection that stopped at an event that it cannot fold, else 0',
      labelNames: ['projection'],
      registers: [registry],
      async collect() {
        try {
          const parked = await projections.parked(SCRAPE_TIMEOUT_MS);
          for (const [projection, isParked] of parked) this.set({ projection }, isParked ? 1 : 0);
        } catch {
          // The database is unavailable: the gauge keeps its last value.
        }
      },
    });
  }

  @Get()
  async show(@Res() reply: FastifyReply): Promise<void> {
    await reply.type(this.registry.contentType).send(await this.registry.metrics());
  }
}
