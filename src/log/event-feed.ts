import type { ClientBase } from 'pg';
import type { PageSource } from './page-source.js';
import { type PageRow, passes, type Reducer } from './projections/reducer.js';

/** Beyond this, what was gathered is dropped: the projections are far behind, or do not run here. */
const EVENTS_MAX = 100_000;
/** Shorter than a database takes to be restored or to fail over, after which positions may belong to other events. */
const HELD_MS = 10_000;

/** What the reducers made of consecutive events, (after, until]. */
export class Gathered {
  until: number;
  /** Id of the event at `until`. */
  lastId = '';
  events = 0;
  private readonly states = new Map<Reducer<unknown>, unknown>();

  constructor(
    readonly after: number,
    reducers: readonly Reducer<unknown>[],
    readonly beganMs: number,
  ) {
    this.until = after;
    for (const reducer of reducers) this.states.set(reducer, reducer.start());
  }

  add(reducer: Reducer<unknown>, row: PageRow): void {
    reducer.add(this.states.get(reducer), row);
  }

  /** As the source of a page; events that are not in it are read with the client. */
  source(client: ClientBase): PageSource {
    return {
      client,
      reduce: async <State>(reducer: Reducer<State>) => this.stateOf(reducer),
      each: () =>
        Promise.reject(new Error('A projection that is folded from memory reads events by its reducers alone')),
    };
  }

  private stateOf<State>(reducer: Reducer<State>): State {
    if (!this.states.has(reducer)) throw new Error('The projection does not list the reducer that it uses');
    return this.states.get(reducer) as State;
  }
}

/**
 * Hands the events that this process appends to the reducers of its projections as soon as they are stored, so that the events
 * themselves need not be kept until the projections are written. What it has gathered begins anew when an event of another
 * process lies between two of its own.
 */
export class EventFeed {
  private gathered: Gathered | undefined;
  /** Those that an event of a type concerns. */
  private readonly byType = new Map<string, readonly Reducer<unknown>[]>();

  constructor(
    private readonly reducers: readonly Reducer<unknown>[],
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {}

  /** From where on the newest events were gathered; undefined if none were. */
  get after(): number | undefined {
    return this.current()?.after;
  }

  /** Up to where they were. */
  get until(): number | undefined {
    return this.current()?.until;
  }

  /** `previous`: position of the newest event before the rows, which are consecutive. */
  add(previous: number, rows: readonly (PageRow & { readonly id: string })[]): void {
    const last = rows.at(-1);
    if (last === undefined) return;
    const current = this.current();
    if (current?.until !== previous || current.events > EVENTS_MAX) this.beginAfter(previous);
    const gathered = this.gathered as Gathered;
    try {
      for (const row of rows)
        for (const reducer of this.concerned(row))
          if (!reducer.unless || passes(reducer, row)) gathered.add(reducer, row);
      gathered.until = last.position;
      gathered.lastId = last.id;
      gathered.events += rows.length;
    } catch {
      // Read from the database, this event parks the projection that cannot fold it.
      this.clear();
    }
  }

  /** What was gathered after a position, if it begins there. The feed continues after it. */
  take(after: number): Gathered | undefined {
    const current = this.current();
    if (current?.after !== after) return undefined;
    this.beginAfter(current.until);
    return current;
  }

  /** Begins anew after the events that were gathered. */
  skip(): void {
    const until = this.until;
    if (until !== undefined) this.beginAfter(until);
  }

  clear(): void {
    this.gathered = undefined;
  }

  private beginAfter(position: number): void {
    this.gathered = new Gathered(position, this.reducers, this.monotonicMs());
  }

  private current(): Gathered | undefined {
    if (this.gathered && this.monotonicMs() - this.gathered.beganMs > HELD_MS) this.clear();
    return this.gathered;
  }

  private concerned(row: PageRow): readonly Reducer<unknown>[] {
    const { type } = row;
    let reducers = this.byType.get(type);
    if (!reducers) {
      reducers = this.reducers.filter(({ unless: _, ...filter }) => passes(filter, row));
      this.byType.set(type, reducers);
    }
    return reducers;
  }
}
