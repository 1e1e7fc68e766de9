import type { ClientBase } from 'pg';
import type { StoredEvent } from './event.js';
import {
  CountedEvents,
  type CountOptions,
  copyEvents,
  countEvents,
  type EventCount,
  fieldText,
  type ReadOptions,
  readNewestByActor,
} from './event-reader.js';
import { EventRow } from './event-row.js';

export type PageFilter<Type extends string = string> = Pick<ReadOptions<Type>, 'categories' | 'types' | 'unless'>;

/** An event of which only the fields that are used get parsed. */
export interface PageRow {
  readonly position: number;
  readonly type: string;
  readonly category: string;
  readonly site: string;
  readonly actor: string;
  readonly time: string;
  readonly timeMs: number;
  /** Without the category. */
  readonly streamId: string;
  readonly subject: string | undefined;
  data(): StoredEvent['data'];
  /** Null if the event has none or was erased. */
  personal(): object | null;
  event(): StoredEvent;
}

/** The events of a position range of the log. */
export interface PageSource {
  /** Reads other events. */
  readonly client: ClientBase;
  each(filter: PageFilter, onRow: (row: PageRow) => void, personal?: 'all' | 'subject'): Promise<void>;
  count(types: CountOptions['types'], by: CountOptions['by']): Promise<EventCount[]>;
  newestByActor(prefix: string): Promise<{ actor: string; time: Date }[]>;
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

  count(types: CountOptions['types'], by: CountOptions['by']): Promise<EventCount[]> {
    const { after, until } = this;
    return countEvents(this.client, { after, until, types, by });
  }

  newestByActor(prefix: string): Promise<{ actor: string; time: Date }[]> {
    return readNewestByActor(this.client, this.after, this.until, prefix);
  }
}

/** All events of a page in memory, for several projections. Each event is parsed at most once. */
export class SharedPageSource implements PageSource {
  constructor(
    readonly client: ClientBase,
    private readonly rows: readonly PageRow[],
  ) {}

  static async read(client: ClientBase, after: number, until: number): Promise<SharedPageSource> {
    const rows: KeptRow[] = [];
    await copyEvents(client, { after, until }, (row) => rows.push(new KeptRow(row)));
    return new SharedPageSource(client, rows);
  }

  async each({ categories, types, unless }: PageFilter, onRow: (row: PageRow) => void): Promise<void> {
    for (const row of this.rows) {
      if (types && !types.includes(row.type)) continue;
      if (categories && !categories.includes(row.category)) continue;
      if (unless && fieldText(row.data(), unless.field) === unless.is) continue;
      onRow(row);
    }
  }

  async count(types: CountOptions['types'], by: CountOptions['by']): Promise<EventCount[]> {
    const counted = new CountedEvents(by);
    for (const row of this.rows) if (types.includes(row.type)) counted.add(row.site, row.type, row.timeMs, row.data());
    return counted.counts();
  }

  async newestByActor(prefix: string): Promise<{ actor: string; time: Date }[]> {
    const newest = new Map<string, string>();
    for (const { actor, time } of this.rows) {
      if (actor.startsWith(prefix) && time > (newest.get(actor) ?? '')) newest.set(actor, time);
    }
    return [...newest].map(([actor, time]) => ({ actor, time: new Date(time) }));
  }
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
