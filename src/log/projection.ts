import type { ClientBase } from 'pg';
import type { EventsOf, StreamEvent } from './event.js';
import {
  type CountOptions,
  copyEvents,
  countAmong,
  countEvents,
  type EventCount,
  type ReadOptions,
  readNewestByActor,
  readOpenings,
} from './event-reader.js';
import type { EventRow } from './event-row.js';
import { PartitionCheckpoints } from './partition-checkpoints.js';
import type { StagedTable } from './staging-table.js';

/**
 * A read model that can be thrown away. `fold` writes what a page of the log changes, through `page.tx` and with bare
 * table names: live rows and the shadow of a rebuild are told apart by the connection's search path alone.
 */
export interface Projection {
  readonly name: string;
  readonly tables: readonly string[];
  /** Columns that hold the subject of a row. Erasure deletes a person's rows by this column and `site`. */
  readonly subjectColumns?: readonly { readonly table: string; readonly column: string }[];
  /** Written by the append itself, in its transaction; `fold` is then only for rebuilding it. */
  readonly inline?: boolean;
  /**
   * `any`: it may be fed by Kafka where that is configured, so it sees what others see: `personal` is null, `actor` is
   * empty, and only the events of one stream come in the order of the log. Without it, the log's tail feeds it.
   */
  readonly source?: 'any';
  /** With `source`: the only categories whose events it folds, so that the others need not be delivered. */
  readonly categories?: readonly string[];
  /** A time by which its rows are forgotten once nobody can need them: a fold of the whole log has those too. */
  readonly forgetsBy?: string;
  /** Its fold only adds to this stagingTable; whoever folds sorts it out. For what the append writes: nobody else folds for good. */
  readonly stagingTable?: StagedTable;
  fold(page: Page): Promise<void>;
}

export type PageFilter<Type extends string = string> = Pick<ReadOptions<Type>, 'categories' | 'types' | 'unless'>;

/** A stretch of the log, from a position (exclusive) to another (inclusive), in the transaction that moves the checkpoint. */
export class Page {
  constructor(
    readonly tx: ClientBase,
    readonly after: number,
    readonly until: number,
    /** Where its events are read: what was appended does not change, so another connection sees the same. */
    private readonly source: ClientBase = tx,
  ) {}

  async events<Type extends string = string>(filter: PageFilter<Type> = {}): Promise<EventsOf<Type>[]> {
    const events: EventsOf<Type>[] = [];
    await this.each(filter, (row) => events.push(row.event() as EventsOf<Type>));
    return events;
  }

  /** For folds of millions: each row as it comes, of which only what is asked for is parsed. */
  async each(filter: PageFilter, take: (row: EventRow) => void, personal?: 'all' | 'subject'): Promise<void> {
    const { after, until } = this;
    await copyEvents(this.source, { after, until, ...filter }, take, personal);
  }

  /** Of streams that go on in this stretch: they may have begun before it. */
  openings<Category extends string>(category: Category, streams: readonly string[]): Promise<StreamEvent<Category>[]> {
    return readOpenings(this.source, category, streams);
  }

  count(types: CountOptions['types'], by: CountOptions['by']): Promise<EventCount[]> {
    return countEvents(this.source, { after: this.after, until: this.until, types, by });
  }

  newestByActor(prefix: string): Promise<{ actor: string; time: Date }[]> {
    return readNewestByActor(this.source, this.after, this.until, prefix);
  }
}

/** The same for a projection that may be fed by others: nothing that they could not see, nothing that they have folded. */
class SharedPage extends Page {
  constructor(
    tx: ClientBase,
    after: number,
    until: number,
    private readonly marks: PartitionCheckpoints,
    source?: ClientBase,
  ) {
    super(tx, after, until, source);
  }

  override async events<Type extends string = string>(filter: PageFilter<Type> = {}): Promise<EventsOf<Type>[]> {
    const events: EventsOf<Type>[] = [];
    await this.each(filter, (row) => {
      const event = row.event();
      if (!this.marks.cover(event)) events.push({ ...event, actor: '', personal: null } as EventsOf<Type>);
    });
    return events;
  }

  override async count(types: CountOptions['types'], by: CountOptions['by']): Promise<EventCount[]> {
    return this.marks.isEmpty ? super.count(types, by) : countAmong(await this.events({ types }), by);
  }
}

/** `live`: into the rows that others have written to, as opposed to the empty ones of a rebuild. */
export async function pageFor(
  projection: Projection,
  tx: ClientBase,
  after: number,
  until: number,
  live: boolean,
  source?: ClientBase,
): Promise<Page> {
  if (projection.source !== 'any') return new Page(tx, after, until, source);
  return new SharedPage(
    tx,
    after,
    until,
    live ? await PartitionCheckpoints.read(tx, projection.name) : PartitionCheckpoints.none,
    source,
  );
}
