import { fieldText } from '../data-condition.js';
import type { StoredEvent } from '../event.js';
import { CountedEvents, type CountOptions, type ReadOptions } from '../event-reader.js';

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

/**
 * Folds the events of a page that it filters into a state, one by one in log order. A projection defines it once, as a constant
 * that identifies the state. The state should keep little of an event: it may have to wait until it is written.
 */
export interface Reducer<State> extends PageFilter {
  start(): State;
  add(state: State, row: PageRow): void;
}

/** Counts events; the database does it itself where they are read from there. */
export class CountReducer implements Reducer<CountedEvents> {
  constructor(
    readonly types: CountOptions['types'],
    readonly by: CountOptions['by'],
  ) {}

  start(): CountedEvents {
    return new CountedEvents(this.by);
  }

  add(counted: CountedEvents, row: PageRow): void {
    counted.add(row.site, row.type, row.timeMs, row.data());
  }
}

/** The time of the newest event of each actor whose name has a prefix, in milliseconds; the database does it itself, too. */
export class NewestByActor implements Reducer<Map<string, number>> {
  constructor(readonly prefix: string) {}

  start(): Map<string, number> {
    return new Map();
  }

  add(newest: Map<string, number>, { actor, timeMs }: PageRow): void {
    if (actor.startsWith(this.prefix) && timeMs > (newest.get(actor) ?? Number.NEGATIVE_INFINITY))
      newest.set(actor, timeMs);
  }
}

/** The events themselves, for those that are rare. */
export function listEvents<Event extends StoredEvent = StoredEvent>(filter: PageFilter): Reducer<Event[]> {
  return {
    ...filter,
    start: () => [],
    add: (events, row) => events.push(row.event() as Event),
  };
}

export function passes({ types, categories, unless }: PageFilter, row: PageRow): boolean {
  if (types && !types.includes(row.type)) return false;
  if (categories && !categories.includes(row.category)) return false;
  return !unless || fieldText(row.data(), unless.field) !== unless.is;
}
