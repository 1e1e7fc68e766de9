import type { DomainEvent, EventType, TypesOf } from '../events/index.js';
import type { NamedPerson } from '../events/person-keys.js';

export interface NewEvent {
  /** A literal such as `conversion.received.v1`. A changed shape gets a new version. */
  readonly type: string;
  readonly data: object;
  /** The person: by the hash of the email (a visitor: by its id), or by another key. */
  readonly personal?: NamedPerson;
  /** An external identifier (an order number) by which the event can be found within its site. */
  readonly reference?: string | undefined;
  /** Input of the inline projections, not stored in the event. Only the first event of a request may have it. */
  readonly inline?: object | undefined;
}

interface Envelope {
  readonly position: number;
  readonly id: string;
  /** `<category>-<id>` */
  readonly stream: string;
  /** Version within the stream, from 1. */
  readonly version: number;
  readonly site: string;
  /** ISO 8601, milliseconds, UTC. */
  readonly time: string;
  readonly actor: string;
}

/**
 * An event as read from the log: a union discriminated by `type`. The personal part is stored beside the event and is null
 * after erasure. A newer version may have written types that are not in the union, so a `switch` needs a default branch.
 */
export type StoredEvent<Type extends EventType = EventType> = {
  [Each in Type]: Envelope & {
    readonly type: Each;
    readonly data: Extract<DomainEvent, { type: Each }>['data'];
    readonly personal: PersonalOf<Extract<DomainEvent, { type: Each }>>;
  };
}[Type];

/** The events that a read for some types returns; all of them when the types are known at run time only. */
export type EventsOf<Type extends string> = string extends Type ? StoredEvent : StoredEvent<Extract<EventType, Type>>;

/** The events of a category's streams. */
export type StreamEvent<Category extends string> = [TypesOf<Category>] extends [never]
  ? StoredEvent
  : StoredEvent<TypesOf<Category>>;

type PersonalOf<Event> = Event extends { personal: infer Personal } ? Personal | null : null;

/** A part of the log between two positions. */
export interface PositionRange {
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly until: number;
}

/** A dedup key that one stream of a site may hold at a time, for the length of a window. */
export interface DedupClaim {
  /** 16 bytes, formatted as a UUID. */
  readonly key: string;
  /** How long an earlier claim is valid; 0 never refuses. Not stored, so a changed setting applies immediately. */
  readonly windowMs: number;
  /** A weak claim yields to a strong one. */
  readonly weak: boolean;
}

export interface AppendRequest {
  readonly category: string;
  /** UUIDv7, so that the index on streams grows at its right edge. */
  readonly stream: string;
  /**
   * `new`: the stream id is new, nothing to compare. A number: the version that the decision was made on. `owned`: the same, with
   * the position of the stream's last event, from which on the log looks for others; cheaper than a number. A stream that has
   * another version is a `conflict`.
   */
  readonly expected: 'new' | 'any' | number | { readonly owned: number; readonly position: number };
  readonly site: string;
  /** `key:<id>`, `tag`, `cli:<operating-system user>`, `user:<id>`, `token:<id>` or `system`. */
  readonly actor: string;
  /** Stored atomically. A request with a claim has a single event. */
  readonly events: readonly [NewEvent, ...NewEvent[]];
  /** Ids of the events, for a caller that has to recognise them after an append without an answer. The log chooses others. */
  readonly ids?: readonly string[] | undefined;
  readonly claim?: DedupClaim | undefined;
  /** Database time after which the events must not be stored. Without it the deadline of the append queue applies alone. */
  readonly notAfterMs?: number | undefined;
  readonly asOf?: AsOf | undefined;
}

/**
 * What the request was decided on: what is stored about the subject of its events, up to a position. A visitor event about the
 * subject that is newer makes the request `stale`.
 */
export interface AsOf {
  readonly position: number;
  /** Something was found, so an erasure since then concerns it: a visitor event without a subject also makes it stale. */
  readonly found: boolean;
  /** Further subjects that were looked up, in hex. */
  readonly others?: readonly string[] | undefined;
}

/** The first event of a stream; without fields if retention has removed it. */
export interface Opened {
  readonly type?: string;
  readonly id?: string;
}

export type AppendOutcome =
  | { readonly status: 'appended' /** of the last event */; readonly position: number; readonly time: string }
  | { readonly status: 'claimed' /** by the stream that holds the key */; readonly by: string }
  | { readonly status: 'conflict' }
  | { readonly status: 'stale' };
