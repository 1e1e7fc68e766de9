import { AlignedInterval } from '../kernel/aligned-interval.js';
import { INTERVALS } from '../kernel/intervals.js';
import type { Postgres } from '../postgres/postgres.js';
import { AppendConnection } from './append/append-connection.js';
import { appendWith, type ChangeWithEvents } from './append/append-in-transaction.js';
import { AppendNotifications } from './append/append-notifications.js';
import { AppendQueue } from './append/append-queue.js';
import { AppendReadiness, tryAppend } from './append/append-readiness.js';
import { AppendedPositions, type AppendedRange } from './append/appended-positions.js';
import { readRemovedUntil } from './audit/log-audit.js';
import type { AppendOutcome, AppendRequest, EventsOf, Opened, StoredEvent, StreamEvent } from './event.js';
import { type EventField, type FieldOptions, readEventFields } from './event-fields.js';
import { EventLog } from './event-log.js';
import {
  type CountOptions,
  countEvents,
  type EventCount,
  type EventSubject,
  findByReference,
  findOpened,
  type ReadOptions,
  readEnds,
  readEvents,
  readHead,
  readIdsAt,
  readOpenings,
  readPageEnd,
  readPositionOf,
  readStream,
  readStreams,
  readSubjects,
  type SomeOptions,
  type SubjectOptions,
  withQueryTimeout,
} from './event-reader.js';
import { Follower, type FollowerSource, type FollowOptions } from './follower.js';
import { followLineage, type Jump, readJump } from './lineage.js';
import { sharedRead } from './projections/shared-read.js';
import { fieldsOf, RecentEvents, subjectsOf } from './recent-events.js';
import { readPositionBefore } from './stored-time.js';

export interface LogObserver {
  /** A batch was committed. */
  readonly appended?: ((events: number, seconds: number) => void) | undefined;
  onMessage?(line: string): void;
}

const FOLLOWER_QUERY_TIMEOUT_MS = 2_500;
/** Timeout of one page of a reader of the whole log. */
const PAGE_QUERY_TIMEOUT_MS = 10_000;

export class PostgresEventLog extends EventLog {
  private readonly readiness: AppendReadiness;
  private readonly connection: AppendConnection;
  private readonly queue: AppendQueue;
  private readonly notifications: AppendNotifications;
  private readonly followers = new Set<Follower>();
  private readonly headForFollowers: () => Promise<number>;
  private followerTimer: AlignedInterval | undefined;
  private readonly appended = new AppendedPositions();

  constructor(
    private readonly postgres: Postgres,
    private readonly observer: LogObserver = {},
    private readonly recent = new RecentEvents(),
    private readonly followEveryMs = INTERVALS.followMs,
  ) {
    super();
    this.readiness = new AppendReadiness(() => tryAppend(postgres));
    this.connection = new AppendConnection(postgres, this.readiness, (line) => observer.onMessage?.(line));
    this.notifications = new AppendNotifications(postgres);
    this.headForFollowers = sharedRead(() => readHead(withQueryTimeout(postgres.pool, FOLLOWER_QUERY_TIMEOUT_MS)));
    const observe = (requests: AppendRequest[], events: number, seconds: number) => {
      for (const { category } of requests) this.notifications.notify(category);
      observer.appended?.(events, seconds);
    };
    this.queue = new AppendQueue(this.connection, postgres.clock, observe, undefined, recent, this.appended);
  }

  append(request: AppendRequest): Promise<AppendOutcome> {
    return this.queue.append(request);
  }

  async appendWith(
    request: AppendRequest & { readonly expected: number },
    change: ChangeWithEvents,
  ): Promise<AppendOutcome> {
    const outcome = await appendWith(this.postgres, request, change);
    this.notifications.notify(request.category);
    if (outcome.status === 'appended') {
      this.appended.note(outcome.position - request.events.length + 1, outcome.position);
    }
    return outcome;
  }

  read<Type extends string = string>(options: ReadOptions<Type> = {}): Promise<EventsOf<Type>[]> {
    return readEvents(this.postgres.pool, options);
  }

  readStream<Category extends string>(category: Category, stream: string): Promise<StreamEvent<Category>[]> {
    return readStream(this.postgres.pool, category, stream);
  }

  readStreams<Category extends string>(
    category: Category,
    streams: readonly string[],
  ): Promise<StreamEvent<Category>[]> {
    return readStreams(this.postgres.pool, category, streams);
  }

  async readFields(options: FieldOptions): Promise<EventField[]> {
    const { after, until, opening, field } = options;
    const rows = this.recent.keeps([opening.field, field]) ? await this.recent.read(after, until) : undefined;
    if (rows) return fieldsOf(rows, options);
    return readEventFields(withQueryTimeout(this.postgres.pool, PAGE_QUERY_TIMEOUT_MS), options);
  }

  readOpenings<Category extends string>(
    category: Category,
    streams: readonly string[],
  ): Promise<StreamEvent<Category>[]> {
    return readOpenings(this.postgres.pool, category, streams);
  }

  findOpened(category: string, streams: readonly string[]): Promise<Map<string, Opened>> {
    return findOpened(this.postgres.pool, category, streams);
  }

  readEnds<Category extends string>(category: Category, streams: readonly string[]): Promise<StreamEvent<Category>[]> {
    return readEnds(this.postgres.pool, category, streams);
  }

  count(options: CountOptions): Promise<EventCount[]> {
    return countEvents(this.postgres.pool, options);
  }

  async subjects(options: SubjectOptions): Promise<EventSubject[]> {
    const rows = await this.recent.read(options.after, options.until);
    return rows ? subjectsOf(rows, options) : readSubjects(this.postgres.pool, options);
  }

  find(site: string, reference: string, some?: SomeOptions): Promise<StoredEvent[]> {
    return findByReference(this.postgres.pool, site, reference, some);
  }

  head(): Promise<number> {
    return readHead(this.postgres.pool);
  }

  removedUntil(): Promise<number> {
    return readRemovedUntil(this.postgres.pool);
  }

  lastJump(): Promise<Jump | undefined> {
    return this.postgres.read(async (client) => {
      await followLineage(client, (line) => this.observer.onMessage?.(line));
      return readJump(client);
    });
  }

  pageEnd(after: number, limit: number): Promise<number> {
    return readPageEnd(this.postgres.pool, after, limit);
  }

  positionBefore(time: Date): Promise<number> {
    return readPositionBefore(this.postgres.pool, time);
  }

  async incompleteSites(): Promise<ReadonlySet<string>> {
    const { rows } = await this.postgres.pool.query<{ site: string }>(
      `SELECT site FROM cc.site_moves WHERE direction = 'in' AND NOT done`,
    );
    return new Set(rows.map(({ site }) => site));
  }

  positionOf(stream: string, version: number): Promise<number | undefined> {
    return readPositionOf(this.postgres.pool, stream, version);
  }

  async follow(options: FollowOptions, apply: (events: StoredEvent[]) => void | Promise<void>): Promise<Follower> {
    const pool = withQueryTimeout(this.postgres.pool, FOLLOWER_QUERY_TIMEOUT_MS);
    const source: FollowerSource = {
      head: this.headForFollowers,
      read: (readOptions) => readEvents(pool, readOptions),
      isLost: async ({ position, id }) => {
        const found = (await readIdsAt(pool, [position])).get(position);
        return found !== id && found !== 'dropped';
      },
    };
    const follower = new Follower(source, options, apply, () => {
      this.followers.delete(follower);
      if (this.followers.size > 0) return;
      this.followerTimer?.stop();
      this.followerTimer = undefined;
    });
    await follower.start(this.notifications);
    this.followers.add(follower);
    // One timer for all, so that they share the read of the head.
    this.followerTimer ??= new AlignedInterval(() => {
      for (const each of this.followers) each.pollQuietly();
    }, this.followEveryMs);
    return follower;
  }

  readers(): Follower[] {
    return [...this.followers];
  }

  refusal(): Promise<string | undefined> {
    return this.readiness.refusal(this.postgres.pool);
  }

  takeLost(): Promise<AppendedRange[]> {
    return this.appended.takeLost(this.postgres.pool);
  }

  async close(): Promise<void> {
    await this.queue.drained();
    for (const follower of this.followers) await follower.stop();
    await this.notifications.close();
    await this.connection.close();
  }
}
