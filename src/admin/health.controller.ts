import { Controller, ForbiddenException, Get, HttpStatus, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import type { Check } from '../app/doctor/check.js';
import { runChecks } from '../app/doctor/run-checks.js';
import { operatesAll, type Principal } from '../users/access.js';
import { Caller, Requires } from './access/access.decorators.js';
import { Dependencies } from './dependencies.js';
import { ProjectionRebuilds } from './projection-rebuilds.js';
import { Returns } from './returns.decorator.js';
import { listOf, time } from './schemas.js';

const CHECKS_WITHIN_MS = 10_000;
/** Some checks read many rows. Longer than the checks can take, so that they run once at a time. */
const SHARED_MS = 15_000;

const checkSchema = z
  .object({
    name: z.string(),
    ok: z.boolean(),
    detail: z.string(),
    fix: z.string().optional(),
    warning: z.literal(true).optional().meta({ description: 'The installation works, and something needs attention.' }),
  })
  .meta({ id: 'HealthCheck' });
const healthSchema = z.object({ ok: z.boolean(), time, checks: z.array(checkSchema) }).meta({ id: 'Health' });

const projectionSchema = z
  .object({
    name: z.string(),
    state: z.enum(['running', 'parked', 'rebuilding']),
    position: z.int(),
    head: z.int().meta({ description: 'Position of the newest event of the log.' }),
    lag: z.int().meta({ description: 'Events that are not folded yet, counted up to a million.' }),
    reason: z.string().optional().meta({ description: 'The event that it is parked at, and why.' }),
    rebuild: z
      .object({
        position: z.int().meta({ description: 'Up to here the log is folded into the new rows.' }),
        error: z.string().optional().meta({ description: 'Why it ended; the rows are unchanged.' }),
      })
      .optional()
      .meta({ description: 'The last rebuild that was requested here, unless it succeeded.' }),
  })
  .meta({ id: 'Projection' });

interface Health {
  readonly ok: boolean;
  readonly time: string;
  readonly checks: readonly Check[];
}

@ApiTags('Service')
@Controller()
export class HealthController {
  private last: { readonly sinceMs: number; readonly health: Promise<Health> } | undefined;

  constructor(
    private readonly dependencies: Dependencies,
    private readonly rebuilds: ProjectionRebuilds,
  ) {}

  @Get('health')
  @Requires('write')
  @ApiOperation({ summary: 'The checks of "doctor", for operators of all sites' })
  @Returns(healthSchema, 'All checks, at most 15 s old. A check that takes too long has failed.')
  health(@Caller() caller: Principal): Promise<Health> {
    requireAll(caller);
    const nowMs = performance.now();
    if (!this.last || nowMs - this.last.sinceMs > SHARED_MS) this.last = { sinceMs: nowMs, health: this.examine() };
    return this.last.health;
  }

  @Get('projections')
  @Requires('write')
  @ApiOperation({ summary: 'Position and lag of each projection, for operators of all sites' })
  @Returns(listOf(projectionSchema), 'All projections.')
  async projections(@Caller() caller: Principal) {
    requireAll(caller);
    return { items: await this.rebuilds.status() };
  }

  @Post('projections/:name/rebuild')
  @Requires('write')
  @ApiOperation({ summary: 'Fold the whole log again into one projection, for operators of all sites' })
  @Returns(projectionSchema, 'It is rebuilt in the background; until then its rows stay.', HttpStatus.ACCEPTED)
  async rebuild(@Param('name', { schema: z.string().max(100) }) name: string, @Caller() caller: Principal) {
    requireAll(caller);
    return this.rebuilds.start(name, caller.actor);
  }

  private async examine(): Promise<Health> {
    const checks = await runChecks(this.dependencies, CHECKS_WITHIN_MS);
    const time = new Date(this.dependencies.postgres.clock.nowMs()).toISOString();
    return { ok: checks.every(({ ok }) => ok), time, checks };
  }
}

/** The checks name sites, files and addresses of the installation. */
function requireAll(caller: Principal): void {
  if (!operatesAll(caller)) throw new ForbiddenException('This needs access to all sites.');
}
