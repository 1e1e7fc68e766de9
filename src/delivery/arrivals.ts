import { SITE, streamIdOf } from '../events/site.events.js';
import { isCopied, type StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Postgres } from '../postgres/postgres.js';

/** A site that this cell acts for since an event of a range of the log. */
export interface Arrived {
  readonly site: string;
  /** Position of the first event that was copied before. */
  readonly first: number;
}

/** Sites that are copied into this log. Their deliveries are owed by another cell until they have arrived, if they ever do. */
export async function readArriving(postgres: Pick<Postgres, 'pool'>): Promise<Set<string>> {
  const { rows } = await postgres.pool.query<{ site: string }>(
    `SELECT site FROM cc.site_moves WHERE direction = 'in' AND NOT done`,
  );
  return new Set(rows.map(({ site }) => site));
}

/** Sites that arrived after a position and up to another one. */
export async function readArrived(
  log: Pick<EventLog, 'read' | 'readStream'>,
  after: number,
  until: number,
): Promise<Arrived[]> {
  const opened = await log.read({ after, until, categories: [SITE], types: ['site.moved_in.v1'] });
  const arrived: Arrived[] = [];
  for (const event of opened as StoredEvent[]) {
    if (isCopied(event)) continue;
    const history = (await log.readStream(SITE, streamIdOf(event.site))) as StoredEvent[];
    const before = history.filter(({ position }) => position < event.position);
    // The site was closed from the first copied event on, so none of its own is between them.
    const own = before.findLastIndex((each) => !isCopied(each));
    arrived.push({ site: event.site, first: (before[own + 1] ?? event).position });
  }
  return arrived;
}

/** The position before everything that has arrived after `reached`: a scan that got there left it out. */
export function beforeArrived(reached: number, arrived: readonly Arrived[]): number {
  return Math.min(reached, ...arrived.map(({ first }) => first - 1));
}
