import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientBase, DatabaseError } from 'pg';
import { messageOf, UserError } from '../../kernel/errors.js';
import { INTERVALS } from '../../kernel/intervals.js';
import { Poller } from '../../kernel/poller.js';
import { isDatabaseOutage } from '../../postgres/outage.js';
import type { Postgres } from '../../postgres/postgres.js';
import { transaction } from '../../postgres/transaction.js';
import { readBeginnings } from '../beginnings.js';
import { EventFeed, type Gathered } from '../event-feed.js';
import {
  countAfter,
  readEvents,
  readHead,
  readIdsAt,
  readNewestPosition,
  readPageEnd,
  withQueryTimeout,
} from '../event-reader.js';
import { type PageSource, SharedPageSource } from '../page-source.js';
import { RecentEvents } from '../recent-events.js';
import { type Projection, pageFor } from './projection.js';
import { ProjectionAsOf } from './projection-as-of.js';
import { compareProjection, type ProjectionDifference } from './projection-difference.js';
import { rebuildLock, rebuildProjection } from './projection-rebuild.js';

/** While nothing is appended and all projections are at the head. A position may have been changed by other means. */
const IDLE_ROUND_EVERY_MS = 5_000;
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
 * Keeps the projections up to date. Any number of instances may run one: the holder of the lock on the projection's row folds the next
 * page, and the position moves in the transaction that writes the rows, so every event is folded once. An event that cannot
 * be folded parks its projection with a reason that names the event; other projections continue.
 */
export class ProjectionRunner {
  private readonly poller = new Poller(() => this.roundIfDue());
  /** Lag as of the last round, for metrics. */
  lags = new Map<string, number>();
  /** The head up to which the last round found all projections, and when it began. */
  private folded = { head: -1, beganMs: Number.NEGATIVE_INFINITY };
  /** Fed by Kafka consumers: excluded from the rounds, but still caught up, rebuilt and reported here. */
  private readonly fedByKafka = new Set<string>();
  private readonly feed: EventFeed;

  constructor(
    private readonly postgres: Postgres,
    readonly all: readonly Projection[],
    private readonly onMessage: (line: string) => void = () => {},
    recent = new RecentEvents(),
  ) {
    this.feed = new EventFeed(all.flatMap(({ inline, reducers = [] }) => (inline ? [] : reducers)));
    recent.attach(this.feed);
  }

  /** Unparks projections: a restart may bring a version that can fold the event. */
  async start(everyMs = INTERVALS.foldMs): Promise<void> {
    await this.register();
    await this.postgres.pool.query('UPDATE cc.projections SET parked = false, reason = NULL WHERE parked');
    this.poller.start(everyMs);
  }

  /** Excludes the projections with `source: 'any'` from the rounds and returns them, for Kafka consumers to feed. */
  handOver(): Projection[] {
    const shared = this.all.filter(({ source }) => source === 'any');
    for (const { name } of shared) this.fedByKafka.add(name);
    return shared;
  }

  stop(): Promise<void> {
    return this.poller.stop();
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

  /** Position up to which a projection has folded the events. */
  async position(name: string): Promise<number> {
    const { rows } = await this.postgres.pool.query<{ position: number }>({
      name: 'read-position',
      text: 'SELECT position::float8 AS position FROM cc.projections WHERE name = $1',
      values: [name],
    });
    return rows[0]?.position ?? 0;
  }

  async rebuild(name: string, progress?: (position: number, head: number) => void): Promise<void> {
    await this.register();
    await rebuildProjection(this.postgres, this.find(name), progress);
  }

  /** The rows as of a position. The caller must call `end()`. */
  asOf(name: string, until: number, progress?: (position: number) => void): Promise<ProjectionAsOf> {
    return ProjectionAsOf.fold(this.postgres, this.find(name), until, progress);
  }

  /** Compares the rows with a fold of the log as of its position. */
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
      this.all.map(async (projection) => {
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

  /** Whether each projection stopped at an event that it cannot fold. */
  async parked(timeoutMs: number): Promise<Map<string, boolean>> {
    const { rows } = await withQueryTimeout(this.postgres.pool, timeoutMs).query<{ name: string; parked: boolean }>({
      name: 'read-parked',
      text: 'SELECT name, parked FROM cc.projections WHERE name = ANY ($1)',
      values: [this.all.map(({ name }) => name)],
    });
    return new Map(rows.map(({ name, parked }) => [name, parked]));
  }

  names(): string[] {
    return this.all.map((projection) => projection.name);
  }

  private find(name: string): Projection {
    const projection = this.all.find((candidate) => candidate.name === name);
    if (!projection) throw new UserError(`Unknown projection "${name}". Projections: ${this.names().join(', ')}.`);
    return projection;
  }

  private async register(): Promise<void> {
    await this.postgres.pool.query(
      'INSERT INTO cc.projections (name, position) SELECT unnest($1::text[]), 0 ON CONFLICT DO NOTHING',
      [this.names()],
    );
  }

  private async roundIfDue(): Promise<void> {
    const beganMs = performance.now();
    const head = await readHead(this.postgres.pool);
    if (head === this.folded.head && beganMs - this.folded.beganMs < IDLE_ROUND_EVERY_MS) return;
    await this.round(head);
    if ([...this.lags.values()].every((lag) => lag === 0)) this.folded = { head, beganMs };
  }

  /** Folds what is new. One page at a time for each group, so that a projection that is far behind delays no other. */
  async round(given?: number): Promise<void> {
    const head = given ?? (await readHead(this.postgres.pool));
    for (let hasMoved = true; hasMoved && !this.poller.isStopping; ) {
      hasMoved = false;
      for (const group of await this.groups(head))
        if (!this.poller.isStopping && (await this.stepTogether(group))) hasMoved = true;
    }
  }

  /** Projections that have events to fold, by position. Updates the lags. */
  private async groups(head: number): Promise<Group[]> {
    const fed = this.all.filter(({ inline, name }) => !inline && !this.fedByKafka.has(name));
    const { rows } = await this.postgres.pool.query<{ name: string; position: number; parked: boolean }>({
      name: 'read-positions',
      text: 'SELECT name, position::float8 AS position, parked FROM cc.projections WHERE name = ANY ($1)',
      values: [fed.map(({ name }) => name)],
    });
    for (const { name, position } of rows) this.lags.set(name, Math.max(0, head - position));
    return groupByPosition(fed, rows, head);
  }

  /**
   * Folds the next page for all projections of the group in one transaction: the events are read once. Those whose position is
   * locked by another instance, a rebuild or an erasure are left out. Returns whether a position moved.
   */
  private async stepTogether({ projections, after, most }: Group): Promise<boolean> {
    try {
      return await transaction(this.postgres.pool, async (client) => {
        const { rows } = await client.query<{ name: string }>({
          name: 'lock-positions',
          text: `SELECT name FROM cc.projections WHERE name = ANY ($1) AND position = $2 AND NOT parked
                  ORDER BY name FOR UPDATE SKIP LOCKED`,
          values: [projections.map(({ name }) => name), after],
        });
        const locked = rows.map(({ name }) => name);
        const isFed = projections.every(({ reducers }) => reducers);
        const { until, source } =
          locked.length === 0 ? { until: after } : await this.nextPage(client, after, most, isFed);
        if (until <= after) return false;
        const beginnings = await readBeginnings(client, after, until);
        for (const projection of projections)
          if (locked.includes(projection.name))
            await projection.fold(await pageFor(projection, client, after, until, true, source, beginnings));
        await client.query('UPDATE cc.projections SET position = $2 WHERE name = ANY ($1)', [locked, until]);
        return true;
      });
    } catch {
      // One of them cannot fold an event, or the database is unavailable. Each by itself, so that only that one is parked.
      for (const projection of projections) await this.step(projection, PAGE_EVENTS);
      return true;
    }
  }

  /** From memory if this process has appended all events after the position, and those alone. */
  private async nextPage(
    client: ClientBase,
    after: number,
    most: number,
    isFed: boolean,
  ): Promise<{ until: number; source?: PageSource }> {
    // Read after the positions were locked: an erasure that held them has appended its event by now, and that event is not in memory.
    const newest = await readNewestPosition(client);
    if (newest <= after) return { until: after };
    const gathered = isFed ? await this.gathered(after, newest, most) : undefined;
    // Another database than that of the appends may answer here: a standby that was promoted may lack the newest of them.
    if (gathered && (await readIdsAt(client, [gathered.until])).get(gathered.until) === gathered.lastId)
      return { until: gathered.until, source: gathered.source(client) };
    // Up to where the feed begins, so that the next page is taken from there.
    const begins = isFed ? (this.feed.after ?? 0) : 0;
    const until = Math.min(most, begins > after ? begins : newest, await readPageEnd(client, after, PAGE_EVENTS));
    return { until, source: await SharedPageSource.read(client, after, until) };
  }

  /** What this process has appended after the position, at least up to the newest event and at most up to another one. */
  private async gathered(after: number, newest: number, most: number): Promise<Gathered | undefined> {
    if ((this.feed.after ?? after) < after) this.feed.skip();
    // The answer to an append arrives a little after its commit.
    for (let waits = 0; waits < 4 && this.feed.after === after && (this.feed.until ?? 0) < newest; waits += 1)
      await sleep(5);
    const { until = 0 } = this.feed;
    return until >= newest && until <= most ? this.feed.take(after) : undefined;
  }

  /** Folds one page and returns the position. Inline projections are always complete. */
  private async step(projection: Projection, limit: number): Promise<number> {
    if (projection.inline) return Number.MAX_SAFE_INTEGER;
    let after = 0;
    try {
      return await transaction(this.postgres.pool, async (client) => {
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
        return until;
      });
    } catch (error) {
      if (!isPoison(error)) throw error;
      if (limit > 1) return this.step(projection, 1);
      await this.park(projection, after, error);
      return after;
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

interface Group {
  readonly projections: readonly Projection[];
  /** Their position. */
  readonly after: number;
  /** The position of the group that is next ahead: there they join it. */
  readonly most: number;
}

/** Those that are furthest behind first: they join the next group before it moves on. */
export function groupByPosition(
  projections: readonly Projection[],
  positionsOf: readonly { readonly name: string; readonly position: number; readonly parked: boolean }[],
  head: number,
): Group[] {
  const running = positionsOf.filter(({ parked, position }) => !parked && position < head);
  const positions = [...new Set(running.map(({ position }) => position))].sort((one, other) => one - other);
  return positions.map((after, index) => {
    const names = new Set(running.filter(({ position }) => position === after).map(({ name }) => name));
    return {
      projections: projections.filter(({ name }) => names.has(name)),
      after,
      most: positions[index + 1] ?? Number.MAX_SAFE_INTEGER,
    };
  });
}

/** The event is at fault, not the database or the way to it (connections, resources, locks, shutdown). */
export function isPoison(error: unknown): boolean {
  if (isDatabaseOutage(error)) return false;
  if (error instanceof DatabaseError) return !/^(08|25|40|53|55|57|58)/.test(error.code ?? '');
  return !/connection|timeout|ECONN|EPIPE/i.test(messageOf(error));
}
