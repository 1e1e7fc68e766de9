import { ConflictException, Injectable, NotFoundException, type OnModuleDestroy } from '@nestjs/common';
import type { Actor } from '../kernel/command.js';
import { messageOf, UserError } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { ProjectionRunner, type ProjectionStatus } from '../log/projections/projection-runner.js';

interface Rebuild {
  readonly name: string;
  /** Up to here the log is folded into the new tables. */
  position: number;
  /** Why it ended without a result. */
  error?: string;
}

interface RebuiltProjection extends ProjectionStatus {
  /** The last rebuild that this process started, unless it succeeded. */
  readonly rebuild?: Omit<Rebuild, 'name'>;
}

/** Rebuilds projections in the background, one at a time: each reads the whole log. */
@Injectable()
export class ProjectionRebuilds implements OnModuleDestroy {
  private last: Rebuild | undefined;
  private running: Promise<void> | undefined;
  private isStopping = false;

  constructor(
    private readonly projections: ProjectionRunner,
    private readonly logger: Logger,
  ) {}

  async status(): Promise<RebuiltProjection[]> {
    const statuses = await this.projections.status();
    return statuses.map((status) => withRebuild(status, this.last));
  }

  /** Returns when the rebuild has begun. */
  async start(name: string, actor: Actor): Promise<RebuiltProjection> {
    const status = (await this.projections.status()).find((candidate) => candidate.name === name);
    if (!status) throw new NotFoundException(`There is no projection ${name}. GET /projections lists them.`);
    const busy = this.running ? this.last?.name : status.state === 'rebuilding' ? name : undefined;
    if (busy !== undefined)
      throw new ConflictException(`${busy} is being rebuilt. Wait until that rebuild has finished.`);
    const rebuild: Rebuild = { name, position: 0 };
    this.last = rebuild;
    this.logger.info('A projection is being rebuilt', { projection: name, actor });
    this.running = this.carryOut(rebuild).finally(() => {
      this.running = undefined;
    });
    return withRebuild(status, rebuild);
  }

  /** The live tables are unchanged until a rebuild is complete, so that it can be interrupted. */
  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    await this.running;
  }

  private async carryOut(rebuild: Rebuild): Promise<void> {
    const { name } = rebuild;
    try {
      await this.projections.rebuild(name, (position, head) => {
        if (this.isStopping && position < head) throw new UserError('The service was stopped.');
        rebuild.position = position;
      });
      if (this.last === rebuild) this.last = undefined;
      this.logger.info('A projection was rebuilt', { projection: name });
    } catch (error) {
      rebuild.error = messageOf(error);
      this.logger.warn('A projection was not rebuilt; its rows are unchanged', {
        projection: name,
        error: rebuild.error,
      });
    }
  }
}

/** The database tells of a rebuild a moment after it began. */
function withRebuild(status: ProjectionStatus, last: Rebuild | undefined): RebuiltProjection {
  if (last?.name !== status.name) return status;
  const { name: _, ...rebuild } = last;
  return { ...status, state: rebuild.error === undefined ? 'rebuilding' : status.state, rebuild };
}
