import { DatabaseError } from 'pg';
import { messageOf, UserError } from '../kernel/errors.js';
import type { Postgres } from '../postgres/postgres.js';
import { countAfter, readEvents, readHead, readPageEnd } from './event-reader.js';
import { type Projection, pageFor } from './projection.js';
import { ProjectionAsOf } from './projection-as-of.js';
import { compareProjection, type ProjectionDifference } from './projection-difference.js';
import { projectionHolds } from './projection-holds.js';
import { rebuildLock, rebuildProjection } from './projection-rebuild.js';
import type { HoldSource } from './retention-holds.js';

const POLL_EVERY_MS = 500;
const PAGE_EVENTS = 5_000;
const LAG_COUNTED_FROM = 100_000;
const LAG_COUNTED_TO = 1_000_000;

export interface ProjectionStatus {
  readonly name: string;
  readonly position: number;
  readonly head: number;
  readonly lag: number;
  readonly state: 'running' | 'parked' | 'rebuilding';
  readonly reason?: string;
}

/**
 * Keeps the projections up to date. Any number of instances may run one: the holder of the checkpoint row's lock folds the next
 * page, and the checkpoint moves in the transaction that writes the rows, so every event is folded once. An event that cannot
 * be folded parks its projection with a reason that names the event; other projections continue.
 */
export class ProjectionRunner {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private stopped = false;
  /** Lag as of the last round, for metrics. */
  lags = new Map<string, number>();
  /** Fed by Kafka consumers: excluded from the rounds, but still caught up, rebuilt and reported here. */
  private readonly fedByKafka = new Set<string>();

  constructor(
    private readonly postgres: Postgres,
    private readonly projections: readonly Projection[],
    private readonly onMessage: (line: string) => void = () => {},
  ) {}

  /** Unparks projections: a restart may bring a version that can fold the event. */
  async start(): Promise<void> {
    await this.register();
    await this.postgres.pool.query('UPDATE cc.projections SET parked = false, reason = NULL WHERE parked');
    this.timer = setInterval(() => this.runQuietly(), POLL_EVERY_MS);
  }

  /** Excludes the projections with `source: 'any'` from the rounds and returns them, for Kafka consumers to feed. */
  handOver(): Projection[] {
    const shared = this.projections.filter(({ source }) => source === 'any');
    for (const { name } of shared) this.fedByKafka.add(name);
    return shared;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    await this.running?.catch(() => {});
  }

  /** Brings one projection up to the head of the log, for a reader that must see everything appended before. */
  async catchUp(name: string): Promise<void> {
    await this.register();
    const projection = this.find(name);
    const head = await readHead(this.postgres.pool);
    while ((await this.step(projection, PAGE_EVENTS)) < head) {
      const { rows } = await this.postgres.pool.query<{ reason: string }>(
        'SELECT reason FROM cc.projections WHERE name = $1 AND parked',
        [name],
      );
      if (rows[0])
        throw new UserError(
          `Projection ${name} is parked: ${rows[0].reason}. Fix the cause and run "projections rebuild ${name}".`,
        );
    }
  }

  async rebuild(name: string, progress?: (position: number, head: number) => void): Promise<void> {
    await this.register();
    await rebuildProjection(this.postgres, this.find(name), progress);
  }

  /** The rows as of a position. The caller must call `end()`. */
  asOf(name: string, until: number, progress?: (position: number) => void): Promise<ProjectionAsOf> {
    return ProjectionAsOf.fold(this.postgres, this.find(name), until, progress);
  }

  /** Compares the rows with a fold of the log as of the checkpoint. */
  compare(name: string, prunedBefore: Date, progress?: () => void): Promise<ProjectionDifference> {
    return compareProjection(this.postgres, this.find(name), prunedBefore, progress);
  }

  async status(): Promise<ProjectionStatus[]> {
    await this.register();
    const head = await readHead(this.postgres.pool);
    const { rows } = await this.postgres.pool.query<{
      name: string;
      position: string;
      parked: boolean;
      reason: string | null;
      rebuilding: boolean;
    }>(
      `SELECT name, position, parked, reason, EXISTS (
         SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND classid = ${rebuildLock.classId} AND objid = (hashtext(name)::bigint & 4294967295)::oid) AS rebuilding
         FROM cc.projections`,
    );
    const byName = new Map(rows.map((row) => [row.name, row]));
    const counted = async (position: number) => {
      // Positions jump after a failover, so a large difference is replaced by a real count.
      const difference = Math.max(0, head - position);
      return difference <= LAG_COUNTED_FROM ? difference : countAfter(this.postgres.pool, position, LAG_COUNTED_TO);
    };
    return Promise.all(
      this.projections.map(async (projection) => {
        const row = byName.get(projection.name);
        // The append writes inline projections itself: they have no lag.
        const position = projection.inline ? head : Number(row?.position ?? 0);
        const state = row?.rebuilding ? 'rebuilding' : row?.parked ? 'parked' : 'running';
        return {
          name: projection.name,
          position,
          head,
          lag: await counted(position),
          state,
          ...(row?.reason && { reason: row.reason }),
        };
      }),
    );
  }

  /** The events that the projections have not folded. */
  holds(): HoldSource {
    return projectionHolds(this.postgres.pool, this.projections);
  }

  names(): string[] {
    return this.projections.map((projection) => projection.name);
  }

  private find(name: string): Projection {
    const projection = this.projections.find((candidate) => candidate.name === name);
    if (!projection) throw new UserError(`Unknown projection "${name}". Projections: ${this.names().join(', ')}.`);
    return projection;
  }

  private async register(): Promise<void> {
    await this.postgres.pool.query(
      'INSERT INTO cc.projections (name, position) SELECT unnest($1::text[]), 0 ON CONFLICT DO NOTHING',
      [this.names()],
    );
  }

  private runQuietly(): void {
    this.running ??= this.round()
      // The database is unavailable: the next round retries.
      .catch(() => {})
      .finally(() => {
        this.running = undefined;
      });
  }

  private async round(): Promise<void> {
    const head = await readHead(this.postgres.pool);
    for (const projection of this.projections) {
      if (projection.inline || this.fedByKafka.has(projection.name) || this.stopped) continue;
      let position = await this.step(projection, PAGE_EVENTS);
      for (let before = -1; position < head && position > before && !this.stopped; ) {
        before = position;
        position = await this.step(projection, PAGE_EVENTS);
      }
      this.lags.set(projection.name, Math.max(0, head - position));
    }
  }

  /** Folds one page and returns the checkpoint. Inline projections are always complete. */
  private async step(projection: Projection, limit: number): Promise<number> {
    if (projection.inline) return Number.MAX_SAFE_INTEGER;
    const client = await this.postgres.pool.connect();
    let after = 0;
    try {
      await client.query('BEGIN');
      const { rows } = await client.query<{ position: string; parked: boolean }>(
        'SELECT position, parked FROM cc.projections WHERE name = $1 FOR UPDATE',
        [projection.name],
      );
      after = Number(rows[0]?.position ?? 0);
      const until = rows[0]?.parked ? after : await readPageEnd(client, after, limit);
      if (until > after) {
        await projection.fold(await pageFor(projection, client, after, until, true));
        await client.query('UPDATE cc.projections SET position = $2 WHERE name = $1', [projection.name, until]);
      }
      await client.query('COMMIT');
      return until;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {});
      if (!isPoison(error)) throw error;
      if (limit > 1) return this.step(projection, 1);
      await this.park(projection, after, error);
      return after;
    } finally {
      client.release();
    }
  }

  private async park(projection: Projection, after: number, error: unknown): Promise<void> {
    const [event] = await readEvents(this.postgres.pool, { after, limit: 1 });
    const reason = `event ${event?.id} at position ${event?.position} (${event?.type}): ${messageOf(error)}`;
    await this.postgres.pool.query('UPDATE cc.projections SET parked = true, reason = $2 WHERE name = $1', [
      projection.name,
      reason,
    ]);
    this.onMessage(`Projection ${projection.name} is parked at ${reason}`);
  }
}

/** The event is at fault, not the database or the way to it (connections, resources, locks, shutdown). */
export function isPoison(error: unknown): boolean {
  if (error instanceof DatabaseError) return !/^(08|25|40|53|55|57|58)/.test(error.code ?? '');
  return !/connection|timeout|ECONN|EPIPE/i.test(messageOf(error));
}
