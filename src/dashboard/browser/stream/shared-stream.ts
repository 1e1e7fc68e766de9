import { followEvents, type StreamState } from './event-stream.js';
import type { LiveEvent } from './live-events.js';
import { WaitingEvents } from './waiting-events.js';

/** Events are handed over in batches, so that hundreds in a second cost a few renders. */
const BATCH_EVERY_MS = 200;
/** The page that was left may have been the only one with some types. The next one asks for its own by then. */
const NARROW_AFTER_MS = 5_000;
/** What the service accepts in a request. All types are a few more. */
const TYPES_MAX = 50;

export interface StreamReader {
  /** Undefined: events of all types. */
  readonly types: readonly string[] | undefined;
  /** It has what happened up to here. */
  position: number;
  onEvents(events: readonly LiveEvent[]): void;
  /** Events up to this position were left out. */
  onSkipped(until: number): void;
  onState(state: StreamState): void;
}

/**
 * The events of a site for all parts of a page, over one connection: a browser opens six to a host. Each part gets every event of its
 * types after its own position, once. There is no connection while it is off, or while there is no reader.
 */
export class SharedStream {
  private readonly readers = new Set<StreamReader>();
  private connection: { readonly types: readonly string[] | undefined; stop(): void } | undefined;
  private state: StreamState = 'connecting';
  /** Everything up to it was handed over. */
  private reached = 0;
  private isDue = false;
  private narrowing: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly site: string,
    private isOn: boolean,
    private readonly onFailed: () => void,
    private readonly follow: typeof followEvents = followEvents,
  ) {}

  /** Until the returned function is called. */
  add(reader: StreamReader): () => void {
    this.readers.add(reader);
    reader.onState(this.state);
    this.adjustSoon();
    return () => {
      this.readers.delete(reader);
      this.adjustSoon();
    };
  }

  turn(isOn: boolean): void {
    this.isOn = isOn;
    this.adjust();
  }

  /** Once for all readers that come and go together. */
  private adjustSoon(): void {
    if (this.isDue) return;
    this.isDue = true;
    queueMicrotask(() => {
      this.isDue = false;
      this.adjust();
    });
  }

  private adjust(): void {
    const { connection, readers } = this;
    clearTimeout(this.narrowing);
    if (!this.isOn || readers.size === 0) {
      connection?.stop();
      return;
    }
    const types = typesOf(readers);
    const start = Math.min(...[...readers].map(({ position }) => position));
    if (!connection || start < this.reached || !includesAll(connection.types, types)) this.connect(types, start);
    else if (!includesAll(types, connection.types))
      this.narrowing = setTimeout(() => this.connect(typesOf(this.readers), this.reached), NARROW_AFTER_MS);
  }

  private connect(types: readonly string[] | undefined, after: number): void {
    this.connection?.stop();
    const waiting = new WaitingEvents();
    let arrived = after;
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.reached = after;
    const handOverSoon = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        handOver();
        if (!waiting.isEmpty) handOverSoon();
      }, BATCH_EVERY_MS);
    };
    const handOver = () => {
      const { events, dropped } = waiting.take();
      const from = this.reached;
      // Not what has arrived: what still waits when the connection ends is requested again.
      this.reached = waiting.isEmpty ? arrived : (waiting.position ?? this.reached);
      this.deliver(events, from);
      if (dropped > 0) for (const reader of this.readers) reader.onSkipped(this.reached);
    };
    const stop = this.follow({ site: this.site, types }, after, {
      onState: (state) => this.enter(state),
      onEvents: (events, position) => {
        waiting.add(events);
        arrived = position;
        handOverSoon();
      },
      onSkipped: (until) => {
        arrived = until;
        this.skipped(until);
      },
      onFailed: this.onFailed,
    });
    this.connection = {
      types,
      stop: () => {
        this.connection = undefined;
        stop();
        clearTimeout(timer);
        handOver();
        this.enter('lost');
      },
    };
  }

  /** @param from the events after it are complete. A part that has less needs another connection. */
  private deliver(events: readonly LiveEvent[], from: number): void {
    for (const reader of this.readers) {
      const { types, position } = reader;
      if (position < from) continue;
      const wanted = events.filter((event) => event.position > position && (types?.includes(event.type) ?? true));
      reader.position = Math.max(position, this.reached);
      if (wanted.length > 0) reader.onEvents(wanted);
    }
  }

  private skipped(until: number): void {
    // The database was replaced by its backup: what was read of it later does not exist.
    const isRestored = until < this.reached;
    this.reached = until;
    for (const reader of this.readers) {
      if (!isRestored && reader.position >= until) continue;
      reader.position = until;
      reader.onSkipped(until);
    }
  }

  private enter(state: StreamState): void {
    if (state === this.state) return;
    this.state = state;
    for (const reader of this.readers) reader.onState(state);
  }
}

/** Undefined: all. */
function typesOf(readers: Iterable<StreamReader>): readonly string[] | undefined {
  const all = [...readers].map(({ types }) => types);
  if (all.includes(undefined)) return undefined;
  const types = [...new Set(all.flatMap((own) => own ?? []))].sort();
  return types.length > TYPES_MAX ? undefined : types;
}

function includesAll(outer: readonly string[] | undefined, inner: readonly string[] | undefined): boolean {
  return outer === undefined || (inner?.every((type) => outer.includes(type)) ?? false);
}
