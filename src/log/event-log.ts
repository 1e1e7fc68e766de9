import type { ChangeWithEvents } from './append/append-in-transaction.js';
import type { AppendedRange } from './append/appended-positions.js';
import type { AppendOutcome, AppendRequest, EventsOf, Opened, StoredEvent, StreamEvent } from './event.js';
import type { EventField, FieldOptions } from './event-fields.js';
import type {
  CountOptions,
  EventCount,
  EventSubject,
  ReadOptions,
  SomeOptions,
  SubjectOptions,
} from './event-reader.js';
import type { Follower, FollowOptions } from './follower.js';
import type { Jump } from './lineage.js';

/**
 * The append-only log: streams, positions and dedup claims, without any business term. An abstract class, so that it is also
 * the injection token; `PostgresEventLog` is the implementation that the service uses.
 */
export abstract class EventLog {
  /** Resolves when the events are committed, or when it is certain that they are not. */
  abstract append(request: AppendRequest): Promise<AppendOutcome>;

  /**
   * Appends in one transaction with other changes: both are stored, or neither is. For rare changes only, because other appends wait
   * until it has ended.
   */
  abstract appendWith(
    request: AppendRequest & { readonly expected: number },
    change: ChangeWithEvents,
  ): Promise<AppendOutcome>;

  abstract read<Type extends string = string>(options?: ReadOptions<Type>): Promise<EventsOf<Type>[]>;

  abstract readStream<Category extends string>(category: Category, stream: string): Promise<StreamEvent<Category>[]>;

  /** All events of these streams, each in version order, without personal parts. */
  abstract readStreams<Category extends string>(
    category: Category,
    streams: readonly string[],
  ): Promise<StreamEvent<Category>[]>;

  /** The first event of each of these streams, in log order. */
  abstract readOpenings<Category extends string>(
    category: Category,
    streams: readonly string[],
  ): Promise<StreamEvent<Category>[]>;

  /**
   * The first event of those of these streams that exist. Also finds streams with a derived id (UUIDv8) that retention has removed:
   * such an id must not be used again.
   */
  abstract findOpened(category: string, streams: readonly string[]): Promise<Map<string, Opened>>;

  /** The last event of each of these streams. */
  abstract readEnds<Category extends string>(
    category: Category,
    streams: readonly string[],
  ): Promise<StreamEvent<Category>[]>;

  /** One field of the events of a category, in log order, for readers of the whole log that need nothing else of them. */
  abstract readFields(options: FieldOptions): Promise<EventField[]>;

  /** Events of a site that carry this reference, in log order: all, or the oldest or newest of some types. */
  abstract find(site: string, reference: string, some?: SomeOptions): Promise<StoredEvent[]>;

  abstract count(options: CountOptions): Promise<EventCount[]>;

  /** Site and subject of the events of some types, for subjects of at least one length. Reads nothing else of the events. */
  abstract subjects(options: SubjectOptions): Promise<EventSubject[]>;

  /** Position of the newest event; 0 when the log is empty. */
  abstract head(): Promise<number>;

  /** Position of the last of `limit` events after a position, for readers that skip most of them. */
  abstract pageEnd(after: number, limit: number): Promise<number>;

  /** Retention has removed the events up to this position, except those that it keeps; 0 if it has removed none. */
  abstract removedUntil(): Promise<number>;

  /** Where the log was cut off and continued by the last restore or failover; undefined if there was none. Appends continue there. */
  abstract lastJump(): Promise<Jump | undefined>;

  /**
   * The last position before a time. An event that was stored while the database's clock was ahead counts from the moment at
   * which the clock was set back, a copied one from when it was copied.
   */
  abstract positionBefore(time: Date): Promise<number>;

  /** Sites whose events are being copied into this log: it does not have them until they have arrived, whatever these events say. */
  abstract incompleteSites(): Promise<ReadonlySet<string>>;

  /** Where an event is; undefined if the log does not have it. */
  abstract positionOf(stream: string, version: number): Promise<number | undefined>;

  /** Delivers every event after a position, in order and without gaps, until stopped. Resolves once caught up. */
  abstract follow(options: FollowOptions, apply: (events: StoredEvent[]) => void | Promise<void>): Promise<Follower>;

  /** The followers, for metrics: each knows its lag. */
  abstract readers(): Follower[];

  /** Why an append would not be stored at the moment; undefined if nothing is known that keeps it from being stored. */
  abstract refusal(): Promise<string | undefined>;

  /** Positions that this process appended and that the log has lost, as after a failover to a lagging standby. Each is returned once. */
  abstract takeLost(): Promise<AppendedRange[]>;

  /** Resolves when every accepted append is answered and the connections are closed. */
  abstract close(): Promise<void>;
}

/** Reads that need nothing else of the log, and may therefore be answered by a standby. */
export type LogReads = Pick<EventLog, 'read' | 'readStreams' | 'readOpenings' | 'find' | 'head' | 'positionBefore'>;

export type { EventField, FieldOptions } from './event-fields.js';
