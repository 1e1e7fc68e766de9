import { randomUUID } from 'node:crypto';
import type { ClientBase } from 'pg';
import type { DatabaseClock } from '../../postgres/database-clock.js';
import { appendBatch } from '../append/append-in-transaction.js';
import { readRemovedUntil } from '../audit/log-audit.js';
import { foldInline } from '../projections/fold-inline.js';
import type { Projection } from '../projections/projection.js';
import { RETAINED_CATEGORIES } from '../retention/retention.js';
import { RETENTION_LOCK } from '../retention/retention-holds.js';
import type { CopiedEvent } from './copied-rows.js';
import { SiteCopyRefused, SiteForked } from './site-copy-errors.js';
import type { EventName } from './site-pages.js';

/** The escapes of U+0000 and of lone surrogates. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;
/** Length of the subject of a visitor, in hex; that of a person is longer. */
const VISITOR_CHARACTERS = 32;

export interface PageStore {
  readonly clock: DatabaseClock;
  /** All projections that the append writes. */
  readonly inline: readonly Projection[];
  /** What is copied follows this position of the log. */
  readonly after: number;
}

/**
 * Appends a page of `readSitePage` in a transaction of the caller, who lets nothing else of the site be stored; until it ends, other
 * appends wait. What the log has already is left out. Events keep their ids, versions, times and salts. Returns how many were stored.
 */
export async function storePage(
  client: ClientBase,
  site: string,
  events: readonly CopiedEvent[],
  { clock, inline, after }: PageStore,
): Promise<number> {
  // The removal of a partition holds the append lock and waits for tables that this transaction uses.
  await client.query('SELECT pg_advisory_xact_lock_shared($1)', [RETENTION_LOCK]);
  const missing = missingEvents(site, events, await readHere(client, events), await readRemovedMs(client, site, after));
  if (missing.length === 0) return 0;
  const first = await append(client, clock, site, missing);
  await foldInline(client, inline, first - 1, first + missing.length - 1);
  return missing.length;
}

async function append(client: ClientBase, clock: DatabaseClock, site: string, events: readonly CopiedEvent[]) {
  const batch = JSON.stringify(events.map((event, index) => toRow(event, index + 1, site)));
  if (UNSTORABLE.test(batch)) throw new SiteCopyRefused('no operator of the database can read a value in one of them');
  return (await appendBatch(client, clock, batch, false)).first as number;
}

function toRow({ position: _, timeMs, version, part, erased, ...event }: CopiedEvent, n: number, site: string) {
  return {
    ...{ n, k: version, site, at: timeMs, ...event },
    ...(part && { subject: part.subject, personal: part.data, salt: part.salt ?? randomUUID() }),
    ...(erased !== null && { part: erased }),
  };
}

/** What this log has of the stream of an arriving event. */
export interface StreamHere {
  /** The event with the same version; null if there is none. */
  readonly id: string | null;
  /** The versions that the log has, from and to; null if it has none. */
  readonly lowest: number | null;
  readonly highest: number | null;
  /** Site of its newest event. */
  readonly site: string | null;
  readonly category: string | null;
}

/**
 * Those that the log does not have. Throws if both logs have continued a stream. `removedMs`: retention has removed here what the site had
 * until then.
 */
export function missingEvents(
  site: string,
  events: readonly CopiedEvent[],
  here: readonly StreamHere[],
  removedMs: number,
): readonly CopiedEvent[] {
  const missing: CopiedEvent[] = [];
  const reached = new Map<string, number>();
  for (const [index, event] of events.entries()) {
    const { id, stream, version, category, position, timeMs } = event;
    const { id: stored, lowest, highest, site: ofSite, category: ofCategory } = here[index] as StreamHere;
    if (ofSite !== null && (ofSite !== site || ofCategory !== category))
      throw new SiteCopyRefused(
        `the event at position ${position} of the other log continues a stream that this log has for another site or category`,
      );
    if (stored !== null && stored !== id) throw new SiteForked(stream, version, id, stored);
    if (stored !== null || (lowest !== null && version < lowest)) continue;
    // Retention removes the first events of other streams, so that they may arrive without them.
    const isWhole = RETAINED_CATEGORIES.includes(category);
    if (!isWhole && timeMs <= removedMs) continue;
    const before = reached.get(stream) ?? highest;
    if (before === null ? version > 1 && isWhole : version !== before + 1)
      throw new SiteForked(stream, version, id, undefined);
    reached.set(stream, version);
    missing.push(event);
  }
  return missing;
}

async function readHere(client: ClientBase, events: readonly CopiedEvent[]): Promise<StreamHere[]> {
  const { rows } = await client.query<StreamHere>(
    `SELECT same.id, s.lowest, s.highest, s.site, s.category
       FROM unnest($1::uuid[], $2::integer[]) WITH ORDINALITY AS a (stream, version, n)
       JOIN (SELECT d.stream, low.version AS lowest, high.version AS highest, high.site, high.category
               FROM (SELECT DISTINCT stream FROM unnest($1::uuid[]) AS u (stream)) d
               LEFT JOIN LATERAL (SELECT version FROM cc.events WHERE stream = d.stream ORDER BY version LIMIT 1) low ON true
               LEFT JOIN LATERAL (
                 SELECT version, site, category FROM cc.events WHERE stream = d.stream ORDER BY version DESC LIMIT 1) high ON true) s
         ON s.stream = a.stream
       LEFT JOIN LATERAL (
         SELECT e.id FROM cc.events e WHERE e.stream = a.stream AND e.version = a.version LIMIT 1) same ON true
      ORDER BY a.n`,
    [events.map(({ stream }) => stream), events.map(({ version }) => version)],
  );
  return rows;
}

/** Until when retention has removed the events of a site that was in this log before `after`; 0 if it has removed none. */
async function readRemovedMs(client: ClientBase, site: string, after: number): Promise<number> {
  const { rows } = await client.query<{ ms: number | null }>(
    `SELECT (extract(epoch FROM least(left_at, removed_at)) * 1000)::float8 AS ms FROM (
       SELECT (SELECT max(time) FROM cc.events WHERE site = $1 AND category = 'site' AND position <= $2) AS left_at,
              (SELECT time FROM cc.seals WHERE last >= $3 ORDER BY last LIMIT 1) AS removed_at) known
      WHERE $3 > 0 AND left_at IS NOT NULL AND removed_at IS NOT NULL`,
    [site, after, await readRemovedUntil(client)],
  );
  return rows[0]?.ms ?? 0;
}

/** Of whom this log has personal parts of these events. */
export interface ErasedElsewhere {
  /** People, in hex. */
  readonly people: readonly string[];
  /** Positions of events of visitors, and of filters of the site. */
  readonly visits: readonly number[];
}

/** Personal parts here of events that the other log has erased. */
export async function findErased(
  client: ClientBase,
  site: string,
  events: readonly EventName[],
): Promise<ErasedElsewhere> {
  const { rows } = await client.query<{ position: number; category: string; subject: string }>(
    `SELECT e.position::float8 AS position, e.category, coalesce(encode(p.subject, 'hex'), '') AS subject
       FROM unnest($2::uuid[], $3::integer[], $4::uuid[]) AS a (stream, version, id)
       JOIN cc.events e USING (stream, version, id) JOIN cc.personal p USING (position) WHERE e.site = $1`,
    [site, events.map(({ stream }) => stream), events.map(({ version }) => version), events.map(({ id }) => id)],
  );
  const isVisit = ({ category, subject }: (typeof rows)[0]) =>
    category === 'site' || subject.length === VISITOR_CHARACTERS;
  return {
    people: [...new Set(rows.filter((part) => !isVisit(part)).map(({ subject }) => subject))],
    visits: rows.filter(isVisit).map(({ position }) => position),
  };
}
