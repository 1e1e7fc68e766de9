import type { ClientBase } from 'pg';
import type { StoredEvent } from './event.js';
import {
  type CountOptions,
  countEvents,
  type EventCount,
  type ReadOptions,
  readEvents,
  readNewestByActor,
  readOpenings,
} from './event-reader.js';

/**
 * A read model that can be thrown away. `fold` writes what a page of the log changes, through `page.tx` and with bare
 * table names: live rows and the shadow of a rebuild are told apart by the connection's search path alone.
 */
export interface Projection {
  readonly name: string;
  readonly tables: readonly string[];
  /** Written by the append itself, in its transaction; `fold` is then only for rebuilding it. */
  readonly inline?: boolean;
  fold(page: Page): Promise<void>;
}

/** A stretch of the log, from a position (exclusive) to another (inclusive), in the transaction that moves the checkpoint. */
export class Page {
  constructor(
    readonly tx: ClientBase,
    readonly after: number,
    readonly until: number,
  ) {}

  events(filter: Pick<ReadOptions, 'nouns' | 'types' | 'unless'> = {}): Promise<StoredEvent[]> {
    return readEvents(this.tx, { after: this.after, until: this.until, ...filter });
  }

  /** Of streams that go on in this stretch: they may have begun before it. */
  openings(noun: string, streams: readonly string[]): Promise<StoredEvent[]> {
    return readOpenings(this.tx, noun, streams);
  }

  count(types: CountOptions['types'], by: CountOptions['by']): Promise<EventCount[]> {
    return countEvents(this.tx, { after: this.after, until: this.until, types, by });
  }

  newestByActor(prefix: string): Promise<{ actor: string; time: Date }[]> {
    return readNewestByActor(this.tx, this.after, this.until, prefix);
  }
}
