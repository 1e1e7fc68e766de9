import type { ClientBase } from 'pg';
import { CountedEvents, copyEvents, countEvents, type ReadOptions, readNewestByActor } from './event-reader.js';
import { EventRow } from './event-row.js';
import {
  CountReducer,
  NewestByActor,
  type PageFilter,
  type PageRow,
  passes,
  type Reducer,
} from './projections/reducer.js';

/** The events of a position range of the log. */
export interface PageSource {
  /** Reads other events. */
  readonly client: ClientBase;
  each(filter: PageFilter, onRow: (row: PageRow) => void, personal?: 'all' | 'subject'): Promise<void>;
  reduce<State>(reducer: Reducer<State>): Promise<State>;
}

/** Asks the database for each: best for a projection that needs few of the events, or their number. */
export class LogPageSource implements PageSource {
  /** Events are immutable, so another connection than the one that writes reads the same. */
  constructor(
    readonly client: ClientBase,
    private readonly after: number,
    private readonly until: number,
  ) {}

  async each(filter: PageFilter, onRow: (row: PageRow) => void, personal?: 'all' | 'subject'): Promise<void> {
    await copyEvents(this.client, { after: this.after, until: this.until, ...filter }, onRow, personal);
  }

  async reduce<State>(reducer: Reducer<State>): Promise<State> {
    if (reducer instanceof CountReducer) return (await this.count(reducer)) as State;
    if (reducer instanceof NewestByActor) return (await this.newestByActor(reducer)) as State;
    return reduceRows(reducer, (onRow) => this.each(reducer, onRow));
  }

  private async count({ types, by }: CountReducer): Promise<CountedEvents> {
    const { after, until } = this;
    return CountedEvents.of(await countEvents(this.client, { after, until, types, by }), by);
  }

  private async newestByActor({ prefix }: NewestByActor): Promise<Map<string, number>> {
    const newest = await readNewestByActor(this.client, this.after, this.until, prefix);
    return new Map(newest.map(({ actor, time }) => [actor, time.getTime()]));
  }
}

/** All events of a page in memory, for several projections. Each event is parsed at most once. */
export class SharedPageSource implements PageSource {
  constructor(
    readonly client: ClientBase,
    private readonly rows: readonly PageRow[],
  ) {}

  static read(client: ClientBase, after: number, until: number): Promise<SharedPageSource> {
    return SharedPageSource.of(client, { after, until });
  }

  /** Only the events of some streams. */
  static ofStreams(client: ClientBase, streams: readonly string[], until: number): Promise<SharedPageSource> {
    return SharedPageSource.of(client, { streams, until });
  }

  private static async of(client: ClientBase, options: ReadOptions): Promise<SharedPageSource> {
    const rows: KeptRow[] = [];
    await copyEvents(client, options, (row) => rows.push(new KeptRow(row)));
    return new SharedPageSource(client, rows);
  }

  async each(filter: PageFilter, onRow: (row: PageRow) => void): Promise<void> {
    for (const row of this.rows) if (passes(filter, row)) onRow(row);
  }

  reduce<State>(reducer: Reducer<State>): Promise<State> {
    return reduceRows(reducer, (onRow) => this.each(reducer, onRow));
  }
}

export async function reduceRows<State>(
  reducer: Reducer<State>,
  each: (onRow: (row: PageRow) => void) => Promise<void>,
): Promise<State> {
  const state = reducer.start();
  await each((row) => reducer.add(state, row));
  return state;
}

class KeptRow extends EventRow {
  private parsedData: ReturnType<EventRow['data']> | undefined;
  private parsedEvent: ReturnType<EventRow['event']> | undefined;

  constructor(row: EventRow) {
    super();
    this.fields = row.fields;
  }

  override event(): ReturnType<EventRow['event']> {
    this.parsedEvent ??= super.event();
    return this.parsedEvent;
  }

  override data(): ReturnType<EventRow['data']> {
    this.parsedData ??= super.data();
    return this.parsedData;
  }
}
