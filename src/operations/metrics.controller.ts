import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Controller, Get, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { ProjectionRunner } from '../log/projection-runner.js';
import { Postgres } from '../postgres/postgres.js';
import { OperatorsOnly } from './operators-only.guard.js';

@Controller('metrics')
@UseGuards(OperatorsOnly)
export class MetricsController {
  constructor(
    private readonly registry: Registry,
    postgres: Postgres,
    projections: ProjectionRunner,
  ) {
    collectDefaultMetrics({ register: registry, prefix: 'cc_' });
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    new Gauge({
      name: 'cc_event_loop_delay_seconds',
      help: 'Event loop delay since the last scrape',
      labelNames: ['quantile'],
      registers: [registry],
      collect() {
        for (const quantile of [0.5, 0.99, 1]) this.set({ quantile }, delay.percentile(quantile * 100) / 1e9);
        delay.reset();
      },
    });
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
  }

  @Get()
  async show(@Res() reply: FastifyReply): Promise<void> {
    await reply.type(this.registry.contentType).send(await this.registry.metrics());
  }
}
