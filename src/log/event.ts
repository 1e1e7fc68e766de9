import type { DomainEvent, EventType, TypesOf } from '../events/index.js';

export interface NewEvent {
  /** A literal such as `conversion.received.v1`; a changed shape is a new version of the name. */
  readonly type: string;
  readonly data: object;
  readonly personal?: { readonly subject?: string };
  /** A name from outside (an order number) by which the event can be found again, within its site. */
  readonly reference?: string | undefined;
  /** For the inline projections, in their own shape: written with the event and not kept in it. The first of a request may. */
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

/** A key that one stream of a site may hold at a time, for a while. */
export interface Claim {
  /** 16 bytes, spelled as a UUID. */
  readonly key: string;
  /** How long an earlier claim counts: 0 never refuses. Not stored, so a change of it counts at once. */
  readonly windowMs: number;
  /** A weak claim yields to one that is not. */
  readonly weak: boolean;
}

export interface AppendRequest {
  readonly category: string;
  /** UUIDv7: the index on streams then grows at its right edge. */
  readonly stream: string;
  /**
   * `new`: the id was made just now, nothing to compare. A number: the version the decision was made on. `owned`: nobody
   * else writes this stream now, and this is the version it has reached; should somebody have done so, the log refuses.
   */
  readonly expected: 'new' | 'any' | number | { readonly owned: number };
  readonly site: string;
  /** `key:<id>`, `tag`, `cli`, `user:<name>` or `system`. */
  readonly actor: string;
  /** All or none of them. A claim goes with a single event. */
  readonly events: readonly [NewEvent, ...NewEvent[]];
  readonly claim?: Claim | undefined;
}

export type AppendOutcome =
  | { readonly status: 'appended' /** of the last event */; readonly position: number; readonly time: string }
  | { readonly status: 'claimed' /** the stream that holds the key */; readonly by: string }
  | { readonly status: 'conflict' };
