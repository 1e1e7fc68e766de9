import { DatabaseError } from 'pg';
import { messageOf, UserError } from '../kernel/errors.js';
import type { Postgres } from '../postgres/postgres.js';
import { countAfter, readEvents, readHead, readPageEnd } from './event-reader.js';
import { type Projection, pageFor } from './projection.js';
import { ProjectionAsOf } from './projection-as-of.js';
import { compareProjection, type ProjectionDifference } from './projection-difference.js';
import { rebuildLock, rebuildProjection } from './projection-rebuild.js';

const LOOK_EVERY_MS = 500;
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
 * Keeps the projections up with the log. Any number of instances may run one: whoever holds the checkpoint's row folds
 * the next page, and the checkpoint moves in the transaction that writes the rows, so every event counts once. An event
 * that cannot be folded parks its projection, names itself there, and stops nobody else.
 */
export class ProjectionRunner {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private stopped = false;
  /** As of the last round, for the metrics. */
  lags = new Map<string, number>();
  /** Fed by somebody else: left out of the rounds, and still caught up, rebuilt and told of here. */
  private readonly fedByOthers = new Set<string>();

  constructor(
    private readonly postgres: Postgres,
    private readonly projections: readonly Projection[],
    private readonly say: (line: string) => void = () => {},
  ) {}

  /** Parked ones get another chance: a new start may be a new version that can fold what the last one could not. */
  async start(): Promise<void> {
    await this.register();
    await this.postgres.pool.query('UPDATE cc.projections SET parked = false, reason = NULL WHERE parked');
    this.timer = setInterval(() => this.lookQuietly(), LOOK_EVERY_MS);
  }

  /** Those that may be fed by others are theirs from now on. */
  handOver(): Projection[] {
    const theirs = this.projections.filter(({ source }) => source === 'any');
    for (const { name } of theirs) this.fedByOthers.add(name);
    return theirs;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    await this.running?.catch(() => {});
  }

  /** Brings one projection up to the log's head, for a reader that must see what was appended before it asked. */
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
          `Projection ${name} is parked: ${rows[0].reason}. Mend it and run "projections rebuild ${name}".`,
        );
    }
  }

  async rebuild(name: string, progress?: (position: number, head: number) => void): Promise<void> {
    await this.register();
    await rebuildProjection(this.postgres, this.find(name), progress);
  }

  /** The rows as they were at a position. Whoever asked ends it. */
  asOf(name: string, until: number, progress?: (position: number) => void): Promise<ProjectionAsOf> {
    return ProjectionAsOf.fold(this.postgres, this.find(name), until, progress);
  }

  /** Whether the rows are what the log makes of them: as of the checkpoint, which may move on meanwhile. */
  compare(name: string, forgottenBefore: Date, progress?: () => void): Promise<ProjectionDifference> {
    return compareProjection(this.postgres, this.find(name), forgottenBefore, progress);
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
      // Positions leap where the log went on elsewhere: a large difference is counted out before it alarms anybody.
      const apart = Math.max(0, head - position);
      return apart <= LAG_COUNTED_FROM ? apart : countAfter(this.postgres.pool, position, LAG_COUNTED_TO);
    };
    return Promise.all(
      this.projections.map(async (projection) => {
        const row = byName.get(projection.name);
        // An inline projection is written with the event itself: it is never behind.
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

  names(): string[] {
    return this.projections.map((projection) => projection.name);
  }

  private find(name: string): Projection {
    const projection = this.projections.find((candidate) => candidate.name === name);
    if (!projection) throw new UserError(`There is no projection "${name}". There are: ${this.names().join(', ')}.`);
    return projection;
  }

  private async register(): Promise<void> {
    await this.postgres.pool.query(
      'INSERT INTO cc.projections (name, position) SELECT unnest($1::text[]), 0 ON CONFLICT DO NOTHING',
      [this.names()],
    );
  }

  private lookQuietly(): void {
    this.running ??= this.round()
      // The database is away: the next round finds what this one could not.
      .catch(() => {})
      .finally(() => {
        this.running = undefined;
      });
  }

  private async round(): Promise<void> {
    const head = await readHead(this.postgres.pool);
    for (const projection of this.projections) {
      if (projection.inline || this.fedByOthers.has(projection.name) || this.stopped) continue;
      let position = await this.step(projection, PAGE_EVENTS);
      for (let before = -1; position < head && position > before && !this.stopped; ) {
        before = position;
        position = await this.step(projection, PAGE_EVENTS);
      }
      this.lags.set(projection.name, Math.max(0, head - position));
    }
  }

  /** Folds one page; returns how far the projection has come. An inline one is complete by nature. */
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
    this.say(`Projection ${projection.name} is parked at ${reason}`);
  }
}

/** The event is at fault, not the database or the way to it (connections, resources, locks, shutdown). */
export function isPoison(error: unknown): boolean {
  if (error instanceof DatabaseError) return !/^(08|25|40|53|55|57|58)/.test(error.code ?? '');
  return !/connection|timeout|ECONN|EPIPE/i.test(messageOf(error));
}
