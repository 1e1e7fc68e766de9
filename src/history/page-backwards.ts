import type { EventsOf } from '../log/event.js';
import type { LogReads } from '../log/event-log.js';
import type { ReadOptions } from '../log/event-reader.js';

/**
 * Positions per query, so that each query is short even when no event matches. The first query looks at few: where most events match
 * it finds the whole page, and before the first ANALYZE PostgreSQL reads and sorts all that it may look at.
 */
const FIRST_WINDOW_POSITIONS = 500;
const WINDOW_GROWTH = 10;
const WINDOW_POSITIONS_MAX = 50_000;
const DEADLINE_MS = 1_000;

export interface BackwardsOptions<Type extends string>
  extends Pick<ReadOptions<Type>, 'categories' | 'types' | 'site' | 'where'> {
  /** Exclusive. */
  readonly before: number;
  /** Exclusive; from the start of the log if it is undefined. */
  readonly after?: number;
  readonly limit: number;
}

export interface BackwardsPage<Event> {
  /** Newest first. There may be fewer than the limit although there are more: a page takes a second at most. */
  readonly events: Event[];
  /** The next page is before this position. Undefined: there are no more. */
  readonly next?: number;
}

/** The newest matching events before a position. The work of one page is bounded, however rare the events are. */
export async function pageBackwards<Type extends string = string>(
  log: Pick<LogReads, 'read'>,
  { before, after: start = 0, limit, ...filter }: BackwardsOptions<Type>,
): Promise<BackwardsPage<EventsOf<Type>>> {
  const events: EventsOf<Type>[] = [];
  const untilMs = performance.now() + DEADLINE_MS;
  let at = before;
  let window = FIRST_WINDOW_POSITIONS;
  while (at > start + 1 && events.length < limit && performance.now() < untilMs) {
    const after = Math.max(start, at - 1 - window);
    window = Math.min(window * WINDOW_GROWTH, WINDOW_POSITIONS_MAX);
    const found = await log.read<Type>({
      ...filter,
      ...{ after, until: at - 1, limit: limit - events.length, newest: true },
    });
    events.push(...found.reverse());
    at = events.length < limit ? await endBefore(log, after + 1) : (events.at(-1) as EventsOf<Type>).position;
  }
  return { events, ...(at > start + 1 && { next: at }) };
}

/** The position after the newest event before this one: at a failover positions leap, by more than windows could search. */
async function endBefore(log: Pick<LogReads, 'read'>, position: number): Promise<number> {
  const [newest] = position > 1 ? await log.read({ until: position - 1, limit: 1, newest: true }) : [];
  return newest ? newest.position + 1 : 1;
}
