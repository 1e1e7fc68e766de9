/** What is about a person, kept beside the event so that it can be erased: `subject` says whose it is (SHA-256, hex). */
export type Personal = { readonly subject?: string } & { readonly [name: string]: unknown };

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

export interface StoredEvent {
  readonly position: number;
  readonly id: string;
  readonly type: string;
  /** `<category>-<id>` */
  readonly stream: string;
  readonly version: number;
  readonly site: string;
  /** ISO 8601, milliseconds, UTC. */
  readonly time: string;
  readonly actor: string;
  readonly data: Record<string, unknown>;
  readonly personal: Personal | null;
}

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
