import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { HotRoutes } from '../http/hot-routes.js';
import { KafkaService } from '../kafka/kafka.module.js';
import { withTimeout } from '../kernel/with-timeout.js';
import { EventLog } from '../log/event-log.js';
import { ProjectionRunner } from '../log/projections/projection-runner.js';
import { Postgres } from '../postgres/postgres.js';

const CHECK_TIMEOUT_MS = 1_000;
const NO_ANSWER = 'the database does not answer';

@Controller()
export class HealthController {
  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly projections: ProjectionRunner,
    private readonly kafka: KafkaService,
    private readonly hotRoutes: HotRoutes,
  ) {}

  @Get('healthz')
  alive() {
    return { ok: true };
  }

  /**
   * Ready means that conversions can be accepted. Parked projections, a Kafka outage and a steady difference between the
   * clocks are only reported: ages are judged by the database's clock.
   */
  @Get('readyz')
  async ready(@Res({ passthrough: true }) reply: FastifyReply) {
    const log = await this.checkLog();
    const { clock } = this.postgres;
    const ok = log.ok && !clock.refusal() && !this.hotRoutes.draining;
    if (!ok) reply.status(HttpStatus.SERVICE_UNAVAILABLE);
    const stopping = this.hotRoutes.draining && { stopping: true };
    return {
      ok,
      ...stopping,
      log: { ok: log.ok, reason: log.reason },
      clock: { ok: clock.problem() === undefined, reason: clock.problem() },
      projections: log.parked,
      kafka: this.kafka.state,
    };
  }

  /** The projection status may time out without failing the check: a slow database still accepts conversions. */
  private async checkLog() {
    const query = () => this.log.refusal();
    // Retry once: the pool may have returned a connection that the database has closed.
    const refusal = query().catch(query);
    const parked = this.projections
      .status()
      .then((all) => all.filter(({ state }) => state === 'parked').map(({ name, reason }) => ({ name, reason })));
    const [reason, names] = await Promise.all([
      withTimeout(refusal, CHECK_TIMEOUT_MS).catch(() => this.postgres.noPrimary ?? NO_ANSWER),
      withTimeout(parked, CHECK_TIMEOUT_MS).catch(() => []),
    ]);
    return { ok: reason === undefined, reason, parked: names };
  }
}
