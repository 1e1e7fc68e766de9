import type { ClientBase } from 'pg';
import type { StoredEvent } from './event.js';
import { copyEvents, type ReadOptions, readNewestByActor } from './event-reader.js';
import type { EventRow } from './event-row.js';

/**
 * A read model that can be thrown away. `fold` writes what a page of the log changes, through `page.tx` and with bare
 * table names: live rows and the shadow of a rebuild are told apart by the connection's search path alone.
 */
export interface Projection {
  readonly name: string;
  readonly tables: readonly string[];
  /** Written by the append itself, in its transaction; `fold` is then only for rebuilding it. */
  readonly inline?: boolean;
  /** A time by which its rows are forgotten once nobody can need them: a fold of the whole log has those too. */
  readonly forgetsBy?: string;
  fold(page: Page): Promise<void>;
}

type PageFilter = Pick<ReadOptions, 'nouns' | 'types' | 'unless'>;

/** A stretch of the log, from a position (exclusive) to another (inclusive), in the transaction that moves the checkpoint. */
export class Page {
  constructor(
    readonly tx: ClientBase,
    readonly after: number,
    readonly until: number,
    /** Where its events are read: what was appended does not change, so another connection sees the same. */
    private readonly source: ClientBase = tx,
  ) {}

  async events(filter: PageFilter = {}): Promise<StoredEvent[]> {
    const events: StoredEvent[] = [];
    await this.each(filter, (row) => events.push(row.event()));
    return events;
  }

  /** For folds of millions: each row as it comes, of which only what is asked for is parsed. */
  async each(filter: PageFilter, take: (row: EventRow) => void): Promise<void> {
    const { after, until } = this;
    await copyEvents(this.source, { after, until, ...filter }, take);
  }

  newestByActor(prefix: string): Promise<{ actor: string; time: Date }[]> {
    return readNewestByActor(this.source, this.after, this.until, prefix);
  }
}
