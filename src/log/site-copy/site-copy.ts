import { randomBytes } from 'node:crypto';
import { type ClientBase, DatabaseError, escapeLiteral } from 'pg';
import { OUTBOUND } from '../../events/outbound.events.js';
import { derivedUuid } from '../../kernel/uuid.js';
import { IDLE_WITH_LOCK_MS } from '../append/append-lock.js';
import { readRemovedUntil } from '../audit/log-audit.js';
import { SEALED_COLUMNS } from '../audit/sealed-row.js';
import { personalDigest } from '../audit/seals.js';
import { readBeginnings } from '../beginnings.js';
import { copyIn, copyOut } from '../copy.js';
import { copyLine } from '../copy-text.js';
import { readNewestPosition } from '../event-reader.js';
import { EventRow, NULL } from '../event-row.js';
import { SharedPageSource } from '../page-source.js';
import { type Projection, pageFor } from '../projections/projection.js';
import { RETENTION_LOCK } from '../retention/retention-holds.js';
import { readScanEnd, scanParts } from '../scan-parts.js';
import { type Arrivals, compareArrivals, type Removed, type StreamHere } from './arrivals.js';
import { type CopiedEvent, ERASED_ONLY, parseCopiedRows } from './copied-rows.js';
import { SiteCopyRefused } from './site-copy-errors.js';

/** Larger pages would hold the append lock for longer. */
const PAGE_BYTES = 2 * 1024 * 1024;
const SALT_BYTES = 16;
const ERASED = 'visitor.erased.v1';
/** Index of the reference in `SEALED_COLUMNS`. */
const REFERENCE = 14;
const NO_DIGEST = '0'.repeat(64);
/** Length of the subject of a visitor; that of a person is longer. */
const VISITOR_BYTES = 16;

export interface SiteCopy {
  /** Rows in the text format of COPY. */
  readonly rows: Buffer;
  readonly count: number;
  /** Everything of the site up to this position is in this page or in earlier ones. */
  readonly last: number;
  /** There was nothing after `last` when it was read. */
  readonly isLast: boolean;
}

/**
 * The next events of a site after a position, at most `limit`, with their personal parts and what the hash chain needs of those that
 * were erased. Fewer are returned at the end of the log, if they are large, and up to the erasure of a person: what was copied about
 * that person can then be erased before later events follow, which the erasure does not concern. With `erased`, only events whose personal parts are erased: for
 * what was copied before the erasure; none of them is stored by that. With `until`, the log ends there.
 */
export async function readSiteCopy(
  client: ClientBase,
  site: string,
  after: number,
  limit: number,
  options: { readonly erased?: boolean; readonly until?: number } = {},
): Promise<SiteCopy> {
  const lines: Buffer[] = [];
  let bytes = 0;
  let last = after;
  let isFull = false;
  const row = new EventRow();
  while (!isFull) {
    const { until, isEnd } = await readScanEnd(client, last, options.until);
    await copyOut(client, selectOf(site, last, until, limit - lines.length, options.erased ?? false), (line) => {
      isFull ||= bytes >= PAGE_BYTES;
      if (isFull) return;
      // The buffer belongs to the connection.
      lines.push(options.erased ? erasedLine(line) : Buffer.from(line));
      bytes += line.length;
      last = row.at(line).position;
      isFull = isErasure(row);
    });
    isFull ||= lines.length >= limit;
    if (isFull) break;
    last = until;
    if (isEnd) return { rows: Buffer.concat(lines), count: lines.length, last, isLast: true };
  }
  return { rows: Buffer.concat(lines), count: lines.length, last, isLast: false };
}

/** Says only that the event is erased: it is not stored by this, because events before it may not have been copied yet. */
function erasedLine(line: Buffer): Buffer {
  const fields = line.toString('utf8').trimEnd().split('\t');
  fields[10] = ERASED_ONLY;
  // No digest is left of a part from before the hash chain.
  if (fields[17] === NULL) fields[17] = NO_DIGEST;
  return Buffer.from(`${fields.join('\t')}\n`);
}

/** Rows that say that the events at these positions are erased. Those that have a personal part again are left out. */
export async function readErasedAt(client: ClientBase, site: string, positions: readonly number[]): Promise<Buffer> {
  const lines: Buffer[] = [];
  const at = `ANY ('{${positions.map(Number).join(',')}}'::bigint[])`;
  await copyOut(
    client,
    `COPY (SELECT ${SEALED_COLUMNS} FROM cc.events e
      LEFT JOIN cc.personal p ON p.position = e.position AND p.position = ${at}
      LEFT JOIN cc.erased_parts x ON x.position = e.position AND x.position = ${at}
     WHERE e.position = ${at} AND e.site = ${escapeLiteral(site)} AND p.position IS NULL ORDER BY e.position) TO STDOUT`,
    (line) => lines.push(erasedLine(line)),
  );
  return Buffer.concat(lines);
}

/** Whether a person was erased. Parts of visits without one end by their age, many at once. */
function isErasure(row: EventRow): boolean {
  return row.type === ERASED && !(row.data() as { readonly unidentified?: boolean }).unidentified;
}

function selectOf(site: string, after: number, until: number, limit: number, erased: boolean): string {
  const within = (table: string) => `${table}.position > ${Number(after)} AND ${table}.position <= ${Number(until)}`;
  const isErased = 'AND EXISTS (SELECT FROM cc.erased_parts o WHERE o.position = e.position)';
  return `COPY (SELECT ${SEALED_COLUMNS} FROM (
      SELECT * FROM cc.events e WHERE ${within('e')} AND e.site = ${escapeLiteral(site)} ${erased ? isErased : ''}
       ORDER BY e.position LIMIT ${Number(limit)}) e
    LEFT JOIN cc.personal p ON p.position = e.position AND ${within('p')}
    LEFT JOIN cc.erased_parts x ON x.position = e.position AND ${within('x')} ORDER BY e.position) TO STDOUT`;
}

export interface SiteSize {
  readonly events: number;
  /** As stored, without indexes. */
  readonly bytes: number;
  readonly claims: number;
}

/** What a move of the site has to copy. Reads the whole log, a part at a time. */
export async function countSite(client: ClientBase, site: string): Promise<SiteSize> {
  let events = 0;
  let bytes = 0;
  for await (const { after, until } of scanParts(client, 0)) {
    const { rows } = await client.query<{ events: number; bytes: number }>(
      `SELECT count(*)::float8 AS events, coalesce(sum(pg_column_size(e) + coalesce(pg_column_size(p), 0)), 0)::float8 AS bytes
         FROM cc.events e LEFT JOIN cc.personal p ON p.position = e.position AND p.position > $2 AND p.position <= $3
        WHERE e.site = $1 AND e.position > $2 AND e.position <= $3`,
      [site, after, until],
    );
    events += rows[0]?.events ?? 0;
    bytes += rows[0]?.bytes ?? 0;
  }
  const claims = await client.query<{ claims: number }>(
    'SELECT count(*)::float8 AS claims FROM cc.dedup WHERE site = $1',
    [site],
  );
  return { events, bytes, claims: claims.rows[0]?.claims ?? 0 };
}

export interface StoredCopy {
  readonly stored: number;
  /** Events of the page that the log had, or had removed by retention. */
  readonly present: number;
  /** Position of the last one in the log that sent them; undefined for an empty page. */
  readonly last: number | undefined;
  /** Subjects, in hex, with a personal part here of an event that the other log has erased. They must be erased here. */
  readonly erased: readonly string[];
  /** A site begins in the page whose host an earlier one had. */
  readonly begins?: true;
}

/**
 * Appends a page of `readSiteCopy` in a transaction of the caller, which has begun it with the isolation level READ COMMITTED; until
 * it ends, other appends wait. What the log has already is left out. The site must be closed. Events keep their ids, versions,
 * times and places in the order of the site; the given inline projections are folded. Dedup claims come by `storeClaims`.
 */
export async function storeSiteCopy(
  client: ClientBase,
  site: string,
  rows: Buffer,
  inlineProjections: readonly Projection[],
): Promise<StoredCopy> {
  const events = parseCopiedRows(rows, site);
  const last = events.at(-1)?.position;
  // The removal of a partition holds the append lock and waits for tables that this transaction uses.
  await client.query('SELECT pg_advisory_xact_lock_shared($1)', [RETENTION_LOCK]);
  let compared = await compareWithLog(client, site, events);
  const result = ({ missing, erased }: Arrivals) => ({
    ...{ stored: missing.length, present: events.length - missing.length, last, erased },
  });
  if (compared.arrivals.missing.length === 0) return result(compared.arrivals);
  await stage(client, compared.arrivals.missing);
  let outcome = await appendCopy(client, site, compared);
  if (outcome.refused === 'changed') {
    // Another page was stored meanwhile. From here on the append lock is held, so nothing changes any more.
    compared = await compareWithLog(client, site, events);
    if (compared.arrivals.missing.length === 0) return result(compared.arrivals);
    await unstage(client, compared.arrivals.missing);
    outcome = await appendCopy(client, site, compared);
  }
  if (outcome.refused !== undefined) throw new SiteCopyRefused(...refusalOf(outcome.refused, site));
  await foldInline(client, inlineProjections, outcome, compared.arrivals.missing);
  const begins = (await readBeginnings(client, outcome.first - 1, outcome.last)).has(site);
  // Those of an earlier site with the host, which was here. Claims of the new one follow its events.
  if (begins) await client.query('DELETE FROM cc.dedup WHERE site = $1', [site]);
  return { ...result(compared.arrivals), ...(begins && { begins: true as const }) };
}

/** What this log has of events that the other one has erased. */
export interface ErasedSince {
  /** People, in hex. */
  readonly people: readonly string[];
  /** Positions of events of visitors, and of filters of the site. */
  readonly visits: readonly number[];
  /** Streams of the page whose dedup claims were derived from a person. A claim may be copied before its event, which then arrives erased. */
  readonly claimed: readonly string[];
}

/** Personal parts here of events of the page that the other log has erased. Stores nothing. */
export async function findErased(client: ClientBase, site: string, rows: Buffer): Promise<ErasedSince> {
  const events = parseCopiedRows(rows, site).filter(({ isErased }) => isErased);
  const { rows: found } = await client.query<{ position: number; category: string; subject: string }>(
    `SELECT part.position, part.category, part.subject FROM unnest($2::uuid[], $3::integer[], $4::uuid[]) AS a (stream, version, id)
      CROSS JOIN LATERAL (
        SELECT e.position::float8 AS position, e.category, (
                 SELECT coalesce(encode(p.subject, 'hex'), '') FROM cc.personal p WHERE p.position = e.position) AS subject
          FROM cc.events e WHERE e.stream = a.stream AND e.version = a.version AND e.id = a.id AND e.site = $1) part
      WHERE part.subject IS NOT NULL`,
    [site, events.map(({ stream }) => stream), events.map(({ version }) => version), events.map(({ id }) => id)],
  );
  const isVisit = ({ category, subject }: (typeof found)[0]) =>
    category === 'site' || subject.length === 2 * VISITOR_BYTES;
  return {
    people: [...new Set(found.filter((part) => !isVisit(part)).map(({ subject }) => subject))],
    visits: found.filter(isVisit).map(({ position }) => position),
    claimed: events.filter(isClaimedByPerson).map(({ stream }) => stream),
  };
}

/** By the first event of its stream, and not by a reference, which reveals nothing about the person. */
function isClaimedByPerson({ version, fields }: CopiedEvent): boolean {
  return version === 1 && fields[REFERENCE] === null;
}

interface Compared {
  readonly arrivals: Arrivals;
  /** Newest position of the log before it was compared. */
  readonly until: number;
  /** The highest place in the order of the site's events; null if there is none. */
  readonly ordered: string | null;
}

async function compareWithLog(client: ClientBase, site: string, events: readonly CopiedEvent[]): Promise<Compared> {
  const until = await readNewestPosition(client);
  const here = await readHere(client, events);
  const ordered = await client.query<{ newest: string | null }>('SELECT cc.newest_in_order($1, $2) AS newest', [
    site,
    derivedUuid(`${OUTBOUND} ${site}`),
  ]);
  const arrivals = compareArrivals(site, events, here, await readRemoved(client, site));
  return { arrivals, until, ordered: ordered.rows[0]?.newest ?? null };
}

async function readHere(client: ClientBase, events: readonly CopiedEvent[]): Promise<StreamHere[]> {
  const { rows } = await client.query<StreamHere>(
    `SELECT same.id, same.subject, s.lowest, s.highest, s.site, s.category
       FROM unnest($1::uuid[], $2::integer[]) WITH ORDINALITY AS a (stream, version, n)
       JOIN (SELECT d.stream, low.version AS lowest, high.version AS highest, high.site, high.category
               FROM (SELECT DISTINCT stream FROM unnest($1::uuid[]) AS u (stream)) d
               LEFT JOIN LATERAL (SELECT version FROM cc.events WHERE stream = d.stream ORDER BY version LIMIT 1) low ON true
               LEFT JOIN LATERAL (
                 SELECT version, site, category FROM cc.events WHERE stream = d.stream ORDER BY version DESC LIMIT 1) high ON true) s
         ON s.stream = a.stream
       LEFT JOIN LATERAL (
         SELECT e.id, (SELECT encode(p.subject, 'hex') FROM cc.personal p WHERE p.position = e.position) AS subject
           FROM cc.events e WHERE e.stream = a.stream AND e.version = a.version LIMIT 1) same ON true
      ORDER BY a.n`,
    [events.map(({ stream }) => stream), events.map(({ version }) => version)],
  );
  return rows;
}

/**
 * What retention has removed of a site that was in this log before. Its own events up to `removedUntil` had their positions as places, and
 * its copied ones lower places than the first copied event that is left. A site leaves with an event that is kept, so that
 * nothing of it was here with a later place than that of the newest one.
 */
async function readRemoved(client: ClientBase, site: string): Promise<Removed | undefined> {
  const removedUntil = await readRemovedUntil(client);
  const { rows } = await client.query<{ place: number | null; time_ms: number | null }>(
    `SELECT CASE WHEN kept.first <= $2 THEN least($2, kept.newest, (
              SELECT e.origin - 1 FROM cc.events e WHERE e.site = $1 AND e.origin IS NOT NULL AND e.position > $2
               ORDER BY e.origin LIMIT 1)) END::float8 AS place,
            (extract(epoch FROM greatest(
              (SELECT s.time FROM cc.seals s WHERE s.last <= $2 ORDER BY s.last DESC LIMIT 1),
              (SELECT s.time FROM (SELECT first, time FROM cc.seals WHERE last > $2 ORDER BY last LIMIT 1) s WHERE s.first <= $2),
              (SELECT max(c.before_time) FROM cc.clock_steps c WHERE c.position <= $2))) * 1000)::float8 AS time_ms
       FROM (SELECT min(e.position) AS first, max(coalesce(e.origin, e.position)) AS newest
               FROM cc.events e WHERE e.site = $1 AND e.category = 'site') kept`,
    [site, removedUntil],
  );
  const { place, time_ms: timeMs } = rows[0] as (typeof rows)[0];
  return place === null || timeMs === null ? undefined : { place, timeMs };
}

/** Into a temporary table, before other appends have to wait. */
async function stage(client: ClientBase, events: readonly CopiedEvent[]): Promise<void> {
  await client.query(`CREATE TEMP TABLE arriving_events (
    n integer, id uuid, category text, stream uuid, version integer, type text, time_ms bigint, actor text, reference text, data json,
    subject bytea, personal json, salt bytea, part bytea, origin bigint, late boolean) ON COMMIT DROP`);
  try {
    await copyIn(client, 'COPY pg_temp.arriving_events FROM STDIN', [Buffer.from(events.map(stagedLine).join(''))]);
    // JSON text may hold what no operator can read, such as \u0000.
    await client.query('SELECT count(data::jsonb), count(personal::jsonb) FROM pg_temp.arriving_events');
  } catch (error) {
    if (error instanceof DatabaseError && /^(22|54)/.test(error.code ?? ''))
      throw new SiteCopyRefused('the database cannot store a value in one of them');
    throw error;
  }
}

function stagedLine({ fields, id, category, stream, version, order, isLate }: CopiedEvent, index: number): string {
  const [, , , , , type, , time, actor, data, has, subject, personal, , reference, stored, , erased] = fields;
  // Personal parts from before the hash chain have no salt.
  const salt = has === 't' ? (stored ?? randomBytes(SALT_BYTES).toString('hex')) : null;
  const part =
    salt === null
      ? erased
      : personalDigest(Buffer.from(salt, 'hex'), subject ? Buffer.from(subject, 'hex') : null, personal ?? null);
  return copyLine([
    ...[index, id, category, stream, version, type, time, actor, reference, data].map((field) => field ?? null),
    ...[bytea(subject), personal ?? null, bytea(salt), bytea(part), order, isLate],
  ]);
}

function bytea(hex: string | null | undefined): string | null {
  return hex === null || hex === undefined ? null : `\\x${hex}`;
}

/** Leaves only these in the temporary table. */
async function unstage(client: ClientBase, events: readonly CopiedEvent[]): Promise<void> {
  await client.query('DELETE FROM pg_temp.arriving_events WHERE id <> ALL ($1)', [events.map(({ id }) => id)]);
}

interface CopyOutcome {
  readonly refused?: 'open' | 'changed' | 'beyond';
  readonly first: number;
  readonly last: number;
}

async function appendCopy(client: ClientBase, site: string, { until, ordered }: Compared): Promise<CopyOutcome> {
  const { rows } = await client.query<{ outcome: CopyOutcome }>(
    `SELECT cc.append_copy($1, $2, $3) AS outcome, set_config('idle_in_transaction_session_timeout', $4, true)`,
    [site, until, ordered, `${IDLE_WITH_LOCK_MS}ms`],
  );
  return (rows[0] as { outcome: CopyOutcome }).outcome;
}

function refusalOf(refused: 'open' | 'changed' | 'beyond', site: string): [reason: string, next: string] {
  if (refused === 'open')
    return [`${site} is not closed here`, `Start the move with "sites move ${site}": it closes the site first.`];
  return [
    'they have positions that this log has not reached',
    'Start the move again: its first step moves the positions of this log beyond those of the other.',
  ];
}

/** From what has arrived: reading it back would take time while other appends wait. */
async function foldInline(
  client: ClientBase,
  projections: readonly Projection[],
  { first, last }: CopyOutcome,
  events: readonly CopiedEvent[],
): Promise<void> {
  const source = new SharedPageSource(
    client,
    events.map((event, index) => new ArrivedRow(event, first + index)),
  );
  for (const projection of projections)
    await projection.fold(await pageFor(projection, client, first - 1, last, true, source));
}

/** An event as it would be read from this log, for folds. */
class ArrivedRow extends EventRow {
  constructor({ fields, order }: CopiedEvent, position: number) {
    super();
    const escaped = fields.map((field) => (field === null ? NULL : field.replaceAll('\\', '\\\\')));
    this.fields = [String(position), ...escaped.slice(1, 13), String(order), ...escaped.slice(14)];
  }
}
