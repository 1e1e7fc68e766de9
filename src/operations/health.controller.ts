import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { FrontDoor } from '../http/front-door.js';
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
    private readonly frontDoor: FrontDoor,
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
    const ok = log.ok && !this.frontDoor.draining;
    if (!ok) reply.status(HttpStatus.SERVICE_UNAVAILABLE);
    const stopping = this.frontDoor.draining && { stopping: true };
    return { ok, ...stopping, log: { ok: log.ok }, projections: log.parked, kafka: this.kafka.state };
  }

  private async askLog(): Promise<{ ok: boolean; parked: { name: string; reason: string | undefined }[] }> {
    const asked = Promise.all([this.postgres.pool.query('SELECT 1'), this.projections.status()]).then(
      ([, statuses]) => ({
        ok: true,
        parked: statuses.filter(({ state }) => state === 'parked').map(({ name, reason }) => ({ name, reason })),
      }),
    );
    const tooLate = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error('no answer')), ANSWER_WITHIN_MS).unref();
    });
    return Promise.race([asked, tooLate]).catch(() => ({ ok: false, parked: [] }));
  }
}
