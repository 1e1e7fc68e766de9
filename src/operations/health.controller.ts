import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { HotRoutes } from '../http/hot-routes.js';
import { KafkaConnection } from '../kafka/kafka.module.js';
import { ProjectionRunner } from '../log/projection-runner.js';
import { Postgres } from '../postgres/postgres.js';

const ANSWER_WITHIN_MS = 1_000;

@ApiTags('Operations')
@Controller()
export class HealthController {
  constructor(
    private readonly postgres: Postgres,
    private readonly projections: ProjectionRunner,
    private readonly kafka: KafkaConnection,
    private readonly hotRoutes: HotRoutes,
  ) {}

  @Get('healthz')
  @ApiOperation({ summary: 'Whether the process is alive' })
  alive() {
    return { ok: true };
  }

  /** Whether a conversion would be accepted now. What is merely late (a parked projection, Kafka) is named and changes nothing. */
  @Get('readyz')
  @ApiOperation({ summary: 'Whether conversions can be accepted' })
  async ready(@Res({ passthrough: true }) reply: FastifyReply) {
    const log = await this.askLog();
    const ok = log.ok && !this.hotRoutes.draining;
    if (!ok) reply.status(HttpStatus.SERVICE_UNAVAILABLE);
    const stopping = this.hotRoutes.draining && { stopping: true };
    return { ok, ...stopping, log: { ok: log.ok }, projections: log.parked, kafka: this.kafka.state };
  }

  /** Who is parked is told where that is known soon: a database that is only slow still takes conversions. */
  private async askLog(): Promise<{ ok: boolean; parked: { name: string; reason: string | undefined }[] }> {
    const ask = () => this.postgres.pool.query('SELECT 1').then(() => true);
    // A second time, because the first may have met a connection that the database has closed since.
    const answers = ask().catch(ask);
    const parked = this.projections
      .status()
      .then((all) => all.filter(({ state }) => state === 'parked').map(({ name, reason }) => ({ name, reason })));
    const [ok, named] = await Promise.all([soon(answers, false), soon(parked, [])]);
    return { ok, parked: named };
  }
}

/** The answer, or something else when it does not come in time or is a failure. */
function soon<Answer>(answer: Promise<Answer>, otherwise: Answer): Promise<Answer> {
  const tooLate = new Promise<Answer>((resolve) => {
    setTimeout(() => resolve(otherwise), ANSWER_WITHIN_MS).unref();
  });
  return Promise.race([answer.catch(() => otherwise), tooLate]);
}
