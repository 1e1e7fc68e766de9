import type { ClientBase } from 'pg';
import { readBeginnings } from '../beginnings.js';
import type { EventsOf, StoredEvent, StreamEvent } from '../event.js';
import { readOpenings } from '../event-reader.js';
import { LogPageSource, type PageSource, reduceRows } from '../page-source.js';
import { PartitionPositions } from '../retention/partition-positions.js';
import { type PageFilter, type PageRow, type Reducer } from './reducer.js';
import { deleteStaged, type StagedTable } from './staging-table.js';

/**
 * A table computed from the log, which can be rebuilt from it. `fold` writes the changes of a page of events through `page.tx`, with
 * unqualified table names: the search path of the connection decides between live tables and those of a rebuild.
 */
export interface Projection {
  readonly name: string;
  readonly tables: readonly string[];
  /** Columns that hold the subject of a row. Erasure deletes a person's rows by this column and `site`. */
  readonly subjectColumns?: readonly { readonly table: string; readonly column: string }[];
  /**
   * For rows that count events about several people: takes events out of them whose personal parts are about to be deleted. Only
   * events that are folded are passed, and no other session folds meanwhile.
   */
  readonly forget?: {
    readonly types: readonly string[];
    take(tx: ClientBase, events: readonly StoredEvent[]): Promise<void>;
  };
  /**
   * Every table has a column `site`, and holds nothing of an earlier site with the same host: a page in which a site begins anew drops
   * the rows of the earlier one, and folds only the events of the new one. Not with `source`, whose fold sees events in any order.
   */
  readonly bySite?: true;
  /** Written by the append in its transaction; `fold` is used by rebuilds only. */
  readonly inline?: boolean;
  /**
   * `any`: may be fed by Kafka where it is configured, and then sees what topics carry: `personal` is null, `actor` is empty,
   * and only events of one stream arrive in log order. Without it the projection is fed from the log.
   */
  readonly source?: 'any';
  /** With `source`: the categories that it folds; other events are not delivered to it. */
  readonly categories?: readonly string[];
  /** By table: the time column by which expired rows are pruned. A fold of the whole log also produces expired rows. */
  readonly prunedBy?: Readonly<Record<string, string>>;
  /** Its fold only adds to this staging table, which the rebuild merges. For inline projections only. */
  readonly stagingTable?: StagedTable;
  /** All reducers that `fold` uses. Without them, it reads the events of a page from the database. */
  readonly reducers?: readonly Reducer<unknown>[];
  fold(page: Page): Promise<void>;
}

/** A position range of the log, (after, until], in the transaction that moves the position. */
export class Page {
  constructor(
    readonly tx: ClientBase,
    readonly after: number,
    readonly until: number,
    private readonly source: PageSource = new LogPageSource(tx, after, until),
  ) {}

  async events<Type extends string = string>(filter: PageFilter<Type> = {}): Promise<EventsOf<Type>[]> {
    const events: EventsOf<Type>[] = [];
    await this.each(filter, (row) => events.push(row.event() as EventsOf<Type>));
    return events;
  }

  /** Streams rows for folds of millions of events: only the fields that are used get parsed. */
  each(filter: PageFilter, onRow: (row: PageRow) => void, personal?: 'all' | 'subject'): Promise<void> {
    return this.source.each(filter, onRow, personal);
  }

  /** First events of streams that continue in this page and may have started before it. */
  openings<Category extends string>(category: Category, streams: readonly string[]): Promise<StreamEvent<Category>[]> {
    return readOpenings(this.source.client, category, streams);
  }

  reduce<State>(reducer: Reducer<State>): Promise<State> {
    return this.source.reduce(reducer);
  }
}

/** A page for a projection that Kafka consumers may feed too: without data that topics lack, and without some of the events. */
class SharedPage extends Page {
  /** `omits`: undefined if no event is left out. */
  constructor(
    tx: ClientBase,
    after: number,
    until: number,
    private readonly omits: ((event: StoredEvent) => boolean) | undefined,
    source?: PageSource,
  ) {
    super(tx, after, until, source);
  }

  override async events<Type extends string = string>(filter: PageFilter<Type> = {}): Promise<EventsOf<Type>[]> {
    const events: EventsOf<Type>[] = [];
    await this.each(filter, (row) => {
      const event = row.event();
      if (!this.omits?.(event)) events.push({ ...event, actor: '', personal: null } as EventsOf<Type>);
    });
    return events;
  }

  override async reduce<State>(reducer: Reducer<State>): Promise<State> {
    const { omits } = this;
    if (!omits) return super.reduce(reducer);
    const all = new LogPageSource(this.tx, this.after, this.until);
    return reduceRows(reducer, (onRow) =>
      all.each(reducer, (row) => {
        if (!omits(row.event())) onRow(row);
      }),
    );
  }
}

/** Deletes what the projection has of an earlier site. */
async function dropEarlier(projection: Projection, tx: ClientBase, site: string, position: number): Promise<void> {
  const { stagingTable } = projection;
  if (stagingTable) await deleteStaged(tx, stagingTable, site, position);
  // While rows are only staged, the name leads to the live table.
  for (const table of projection.tables)
    if (!stagingTable || !(await isLiveTable(tx, table)))
      await tx.query(`DELETE FROM ${table} WHERE site = $1`, [site]);
}

/** Whether the search path leads to the table of the schema that the service uses. */
async function isLiveTable(tx: ClientBase, table: string): Promise<boolean> {
  const { rows } = await tx.query<{ live: boolean }>('SELECT to_regclass($1) = to_regclass($2) AS live', [
    table,
    `cc.${table}`,
  ]);
  return rows[0]?.live === true;
}

/** A page in which sites begin whose hosts earlier ones had, without the events of those. */
class LaterPageSource extends LogPageSource {
  constructor(
    client: ClientBase,
    after: number,
    until: number,
    private readonly begun: ReadonlyMap<string, number>,
  ) {
    super(client, after, until);
  }

  override each(filter: PageFilter, onRow: (row: PageRow) => void, personal?: 'all' | 'subject'): Promise<void> {
    const onLater = (row: PageRow) => {
      if (row.position >= (this.begun.get(row.site) ?? 0)) onRow(row);
    };
    return super.each(filter, onLater, personal);
  }

  override reduce<State>(reducer: Reducer<State>): Promise<State> {
    return reduceRows(reducer, (onRow) => this.each(reducer, onRow));
  }
}

/** `live`: the fold writes to the live tables, where Kafka consumers may have folded events already. */
export async function pageFor(
  projection: Projection,
  tx: ClientBase,
  after: number,
  until: number,
  live: boolean,
  source?: PageSource,
  beginnings?: ReadonlyMap<string, number>,
): Promise<Page> {
  if (projection.bySite) {
    const client = source?.client ?? tx;
    const begun = beginnings ?? (await readBeginnings(client, after, until));
    if (begun.size === 0) return new Page(tx, after, until, source);
    for (const [site, position] of begun) await dropEarlier(projection, tx, site, position);
    // From the database: what was reduced in memory has the events of both sites.
    return new Page(tx, after, until, new LaterPageSource(client, after, until, begun));
  }
  if (projection.source !== 'any') return new Page(tx, after, until, source);
  const folded = live ? await PartitionPositions.read(tx, projection.name) : PartitionPositions.none;
  const omits = folded.isEmpty ? undefined : (event: StoredEvent) => folded.covers(event);
  return new SharedPage(tx, after, until, omits, source);
}

/** Only the events that Kafka consumers have folded ahead of the projection's position. */
export function pageAhead(folded: PartitionPositions, tx: ClientBase, after: number, until: number): Page {
  return new SharedPage(tx, after, until, (event) => !folded.covers(event));
}
