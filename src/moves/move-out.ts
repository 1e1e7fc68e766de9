import type { ClientBase, Pool } from 'pg';
import { type MovedOut, SITE, streamIdOf } from '../events/site.events.js';
import type { Actor } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import { appendingTransaction, VersionConflict } from '../log/append/append-in-transaction.js';
import { lockAppends } from '../log/append/append-lock.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { countSiteEvents } from '../log/site-copy/site-events.js';
import type { Postgres } from '../postgres/postgres.js';
import { evolve, type Site } from '../sites/site.js';
import { SiteMoved } from '../sites/site-repository.js';

const ATTEMPTS_MAX = 5;

export interface MoveOut extends Omit<MovedOut, 'events' | 'positions'> {
  readonly actor: Actor;
  readonly host: string;
}

/** Where and how a site has left. */
export interface Departure extends MovedOut {
  /** Position of `site.moved_out.v1`. */
  readonly position: number;
}

/** So many events of the site are stored up to a position. */
export interface Counted {
  readonly until: number;
  readonly events: number;
}

/**
 * Closes a site: from the event on, the append stores nothing of it but erasures. The event and the row that the append reads
 * are one transaction. For a site that has left in this way already, only the row is made sure of. `counted`: what need not be counted
 * any more.
 */
export async function moveOut(
  { postgres, log }: { readonly postgres: Postgres; readonly log: EventLog },
  { actor, host, ...move }: MoveOut,
  counted: Counted = { until: 0, events: 0 },
): Promise<Departure> {
  const stream = streamIdOf(host);
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const history = await log.readStream(SITE, stream);
    const site = history.reduce(evolve, undefined as Site | undefined);
    if (site?.move?.state === 'left' && site.epoch === move.epoch && site.move.to === move.to) {
      await close(postgres.pool, host);
      const left = history.findLast((event) => event.type === 'site.moved_out.v1');
      if (left?.type === 'site.moved_out.v1') return { ...left.data, position: left.position };
    }
    requireLeaving(site, host, move);
    // Nearly all of them, before other appends have to wait.
    const head = await log.head();
    const before = counted.events + (await countSiteEvents(postgres.pool, host, counted.until, head));
    try {
      return await appendingTransaction(postgres, async (client, append) => {
        await lockAppends(client);
        const positions = await readEarlierPositions(client, history);
        const data: MovedOut = {
          ...move,
          ...(positions.length > 0 && { positions }),
          events: before + (await countSiteEvents(client, host, head)) + 1,
        };
        const request = { category: SITE, stream, expected: history.length, site: host, actor };
        const outcome = await append({ ...request, events: [{ type: 'site.moved_out.v1', data }] });
        // After the event, which the append would refuse otherwise.
        await close(client, host);
        return { ...data, position: (outcome as { position: number }).position };
      });
    } catch (error) {
      if (!(error instanceof VersionConflict)) throw error;
    }
  }
  throw new UserError(`Site ${host} is being changed concurrently. Run the command again.`);
}

function requireLeaving(site: Site | undefined, host: string, { to, epoch }: Pick<MoveOut, 'to' | 'epoch'>): void {
  if (site?.move?.state === 'leaving' && site.move.to === to && site.epoch === epoch) return;
  if (site?.move && site.move.state !== 'leaving') throw new SiteMoved(site);
  throw new UserError(
    `The move of ${host} to cell ${to} was cancelled. Run "sites move ${host} --to ${to}" to start another.`,
  );
}

/** The append stores nothing of the site but erasures. */
export async function close(client: Pick<ClientBase | Pool, 'query'>, host: string): Promise<void> {
  await client.query(
    `INSERT INTO cc.paused_sites (site, closed) VALUES ($1, true)
     ON CONFLICT (site) DO UPDATE SET closed = true WHERE NOT paused_sites.closed`,
    [host],
  );
}

/** Of the events that versions before 0.3 stored of the site in this log: those have no seal. */
async function readEarlierPositions(client: ClientBase, history: readonly StoredEvent[]): Promise<number[]> {
  const { rows } = await client.query<{ first: number | null }>('SELECT min(first)::float8 AS first FROM cc.seals');
  const first = rows[0]?.first ?? 0;
  return history.map(({ position }) => position).filter((position) => position < first);
}
