import type { ClientBase } from 'pg';
import type { DatabaseClock } from '../postgres/database-clock.js';
import type { Postgres } from '../postgres/postgres.js';
import { withConnection } from '../postgres/with-connection.js';
import { appendInTransaction } from './append/append-in-transaction.js';
import { lockAppends } from './append/append-lock.js';
import { readBeginning } from './beginnings.js';
import { countRows, deleteRows, type FoldedPosition, foldLeft } from './erasure-rows.js';
import {
  ErasedSubjects,
  type ErasureSearch,
  erasureParts,
  type FoundEvent,
  findAppended,
  findWithLinked,
} from './erasure-search.js';
import type { AppendRequest, PositionRange } from './event.js';
import { NEWEST_POSITION, readEventsAt, readHead } from './event-reader.js';
import { followLineage, readJump } from './lineage.js';
import { erasureLock } from './projections/projection-rebuild.js';
import { RETENTION_LOCK } from './retention/retention-holds.js';

/** The projection of dedup claims, which the append writes and this file erases. */
const DEDUP = 'dedup';

/** Events that one transaction erases. */
const PART_EVENTS = 1_000;
/** Rows of a projection that the transaction of a part deletes. An event makes fewer than ten. */
const PART_ROWS = 10 * PART_EVENTS;

/**
 * Events of streams with personal claims. A claim is made with the first event of its stream: if that has a reference, the key was derived from
 * it and reveals nothing about the person, whatever follows in the stream. All other keys were derived from the subject.
 */
const CLAIMING = 'position = ANY ($1) AND version = 1 AND reference IS NULL';

export interface Erased {
  /** Events that lost their personal part. */
  readonly events: number;
  readonly claims: number;
  /** Rows by table of the projections. */
  readonly rows: ReadonlyMap<string, number>;
}

export interface RecordedErasure extends Erased {
  /** Position of the last event that states it. */
  readonly position: number;
}

export interface ErasureOptions extends Omit<ErasureSearch, 'until'> {
  /** As in `ErasureSearch`. `restored`: where the log was restored or failed over the last time; no limit if it never was. */
  readonly until?: number | 'restored' | undefined;
  /** The event that states the erasure. It is appended by the transaction that deletes. */
  record(erased: Erased): AppendRequest & { readonly expected: 'new' };
}

/**
 * Deletes the personal parts of all events about a subject, and the subject's rows in projections. The events stay. All of it runs
 * concurrently with appends, except for the search for newer events at the end: that part, the claims and the event that states
 * the erasure hold the append lock. Many events are erased in several transactions, each with an event of its own.
 */
export async function eraseSubject(
  postgres: Postgres,
  { until, ...others }: ErasureOptions,
  partEvents = PART_EVENTS,
): Promise<RecordedErasure> {
  return withConnection(postgres.connect('erasure', { lock_timeout: '0' }), async (client) => {
    await followLineage(client, () => {});
    const options = { ...others, until: until === 'restored' ? (await readJump(client))?.kept : until };
    // A rebuild that runs at the same time would restore the rows from what it has read, so none may run.
    await client.query('SELECT pg_advisory_lock_shared($1, hashtext(name)) FROM unnest($2::text[]) AS name', [
      erasureLock.classId,
      lockedProjections(options).sort(),
    ]);
    const subjects = new ErasedSubjects(options.subjects);
    let sum: Erased = { events: 0, claims: 0, rows: new Map() };
    for (;;) {
      const head = await readHead(client);
      const parts = erasureParts(await findWithLinked(client, options, subjects, head), partEvents);
      for (const [index, events] of parts.entries()) {
        const isLast = index === parts.length - 1;
        const erased = await erasePart(client, postgres.clock, options, { events, subjects, head, isLast });
        if (!erased) break;
        sum = sumOf(sum, erased);
        if (isLast) return { ...sum, position: erased.position };
      }
    }
  });
}

/** Counts what `eraseSubject` would delete at the moment. Takes no lock, and nothing waits for it. */
export async function countErasable(postgres: Postgres, search: ErasureSearch): Promise<Erased> {
  return withConnection(postgres.connect('erasure'), async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const subjects = new ErasedSubjects(search.subjects);
    const found = await findWithLinked(client, search, subjects, Number.MAX_SAFE_INTEGER);
    const positions = found.map(({ position }) => position);
    const { rows: claims } = await client.query<{ count: number }>(
      `SELECT count(*)::float8 AS count FROM cc.dedup
        WHERE site = $2 AND stream = ANY (SELECT stream FROM cc.events WHERE ${CLAIMING})`,
      [positions, search.site],
    );
    return {
      events: positions.length,
      claims: claims[0]?.count ?? 0,
      rows: await countRows(client, search, subjects.whole),
    };
  });
}

function lockedProjections({ projections }: Pick<ErasureSearch, 'projections'>): string[] {
  return [
    ...projections.filter(({ subjectColumns, forget }) => subjectColumns ?? forget).map(({ name }) => name),
    DEDUP,
  ];
}

type PartOptions = ErasureSearch & Pick<ErasureOptions, 'record'>;

interface ErasurePart {
  readonly events: readonly FoundEvent[];
  readonly subjects: ErasedSubjects;
  /** Head of the log when the events were searched for. */
  readonly head: number;
  /** The last part also erases what was appended since. */
  readonly isLast: boolean;
}

/** Undefined when an event appended since the search names another subject: nothing is erased, and the search must run again. */
async function erasePart(
  client: ClientBase,
  clock: DatabaseClock,
  options: PartOptions,
  { events: found, subjects, head, isLast }: ErasurePart,
): Promise<RecordedErasure | undefined> {
  const { site } = options;
  await client.query('BEGIN');
  // The removal of a partition holds the append lock and waits for tables that this transaction uses.
  await client.query('SELECT pg_advisory_xact_lock_shared($1)', [RETENTION_LOCK]);
  // Waits for folds that have read personal parts and not yet written their rows.
  const { rows: foldedPositions } = await client.query<FoldedPosition>(
    'SELECT name, position::float8 AS position FROM cc.projections WHERE name = ANY ($1) ORDER BY name FOR UPDATE',
    [lockedProjections(options)],
  );
  // Until the end of this transaction nothing beyond is folded.
  const reached = await readHead(client);
  const appended = await findAppended(client, options, subjects, head, reached);
  if (!appended) return rollBack(client);
  const streams = new Set(found.map(({ stream }) => stream));
  const together = [...found, ...appended.filter(({ stream }) => isLast || streams.has(stream))];
  const positions = together.map(({ position }) => position);
  await forgetEvents(client, options, foldedPositions, positions);
  const erasedParts = await deletePersonalParts(client, 'position = ANY ($1)', [positions]);
  const claims = await deleteClaims(client, positions);
  await lockAppends(client);
  if (isLast) {
    const last = await findAppended(client, options, subjects, reached, Number.MAX_SAFE_INTEGER);
    if (!last) return rollBack(client);
    const lastPositions = last.map(({ position }) => position);
    erasedParts.push(...(await deletePersonalParts(client, 'position = ANY ($1)', [lastPositions])));
    claims.push(...(await deleteClaims(client, lastPositions)));
  }
  const rows = await eraseRows(client, options, { subjects, isLast, foldedPositions });
  await recordErased(client, erasedParts);
  const erased = { events: erasedParts.length, claims: claims.length, rows };
  const { position } = await appendInTransaction(client, clock, options.record(erased));
  await client.query('COMMIT');
  return { ...erased, position };
}

async function eraseRows(
  client: ClientBase,
  options: ErasureSearch,
  {
    subjects,
    isLast,
    foldedPositions,
  }: Pick<ErasurePart, 'subjects' | 'isLast'> & { readonly foldedPositions: readonly FoldedPosition[] },
): Promise<Map<string, number>> {
  const { whole, partial } = subjects;
  const isAll = options.until === undefined;
  const rows = isAll
    ? await deleteRows(client, options, whole, isLast ? undefined : PART_ROWS)
    : new Map<string, number>();
  const divided = isAll ? partial : new Set([...whole, ...partial]);
  // Rows of what stays may be missing for no longer than this transaction.
  if (!isLast || divided.size === 0) return rows;
  const add = (counts: ReadonlyMap<string, number>, sign: number) => {
    for (const [table, count] of counts) rows.set(table, (rows.get(table) ?? 0) + sign * count);
  };
  add(await deleteRows(client, options, divided, undefined), 1);
  add(await foldLeft(client, options, divided, foldedPositions), -1);
  return rows;
}

/**
 * Deletes the claims that were derived from the subjects of these events; appends wait for the end of the transaction if there are
 * any. Returns the site of each.
 */
async function deleteClaims(client: ClientBase, positions: readonly number[]): Promise<string[]> {
  // A claim has the time of its event, and no index has its stream. They are searched for before appends wait.
  const { rows } = await client.query<{ site: string; key: string; stream: string }>(
    `WITH claiming AS MATERIALIZED (SELECT site, stream, time FROM cc.events WHERE ${CLAIMING})
     SELECT c.site, c.key, c.stream FROM cc.dedup c JOIN claiming USING (site, stream)
      WHERE c.at BETWEEN (SELECT min(time) FROM claiming) AND (SELECT max(time) FROM claiming)`,
    [positions],
  );
  if (rows.length === 0) return [];
  await lockAppends(client);
  const deleted = await client.query<{ site: string }>(
    `DELETE FROM cc.dedup c USING unnest($1::text[], $2::uuid[], $3::uuid[]) AS found (site, key, stream)
      WHERE c.site = found.site AND c.key = found.key AND c.stream = found.stream RETURNING c.site`,
    [rows.map(({ site }) => site), rows.map(({ key }) => key), rows.map(({ stream }) => stream)],
  );
  return deleted.rows.map(({ site }) => site);
}

async function rollBack(client: ClientBase): Promise<undefined> {
  await client.query('ROLLBACK');
  return undefined;
}

/** Takes events out of the rows that count them. */
async function forgetEvents(
  client: ClientBase,
  { projections, site }: ErasureSearch,
  foldedPositions: readonly FoldedPosition[],
  positions: readonly number[],
): Promise<void> {
  const beginning = await readBeginning(client, site);
  for (const { name, forget } of projections) {
    const folded = foldedPositions.find((each) => each.name === name)?.position ?? 0;
    // An earlier site with the host is not counted any more, once the beginning of the new one is folded.
    const from = beginning <= folded ? beginning : 0;
    const counted = positions.filter((position) => position >= from && position <= folded);
    if (forget && counted.length > 0) await forget.take(client, await readEventsAt(client, counted, forget.types));
  }
}

function sumOf(one: Erased, other: Erased): Erased {
  const rows = new Map(one.rows);
  for (const [table, count] of other.rows) rows.set(table, (rows.get(table) ?? 0) + count);
  return { events: one.events + other.events, claims: one.claims + other.claims, rows };
}

export interface ExpiryRange extends PositionRange {
  /** Length of their subject; undefined: any, also without one. */
  readonly subjectBytes?: number | undefined;
  /** Types of their events; undefined: any but `kept`. */
  readonly types?: readonly string[] | undefined;
  /** Types and categories of events that keep them. */
  readonly kept?: readonly string[] | undefined;
  /** Host of the site; undefined: all sites. */
  readonly site?: string | undefined;
}

/**
 * Deletes the personal parts in a position range that are meant. Their digests stay, as after an erasure, and the
 * same transaction appends an event for each site that states how many. Returns their number.
 */
export function expirePersonalParts(
  postgres: Postgres,
  { after, until, subjectBytes, types, kept, site }: ExpiryRange,
  record: ExpiryRecord,
): Promise<number> {
  const isMeant =
    types || kept ? ` AND EXISTS (SELECT FROM cc.events e WHERE e.position = personal.position AND ${MEANT})` : '';
  const condition = `position > $1 AND position <= $2 AND ($3::int IS NULL OR octet_length(subject) = $3)
    AND ($4::text IS NULL OR site = $4)${isMeant}`;
  const values = [after, until, subjectBytes, site, ...(isMeant ? [types, kept ?? []] : [])];
  return expire(postgres, condition, values, record);
}

const MEANT = '($5::text[] IS NULL OR e.type = ANY ($5)) AND e.type <> ALL ($6) AND e.category <> ALL ($6)';

/** Deletes the personal parts of these events in the same way. */
export function expirePersonalPartsAt(
  postgres: Postgres,
  positions: readonly number[],
  record: ExpiryRecord,
): Promise<number> {
  return expire(postgres, 'position = ANY ($1)', [positions], record);
}

export type ExpiryRecord = (
  site: string,
  expired: Pick<Erased, 'events' | 'claims'>,
) => AppendRequest & { readonly expected: 'new' };

async function expire(
  postgres: Postgres,
  condition: string,
  values: readonly unknown[],
  record: ExpiryRecord,
): Promise<number> {
  return withConnection(postgres.connect('expiry'), async (client) => {
    await followLineage(client, () => {});
    await client.query('BEGIN');
    await lockForDeletion(client);
    const deleted = await deletePersonalParts(client, condition, values);
    const claims = await deleteClaims(
      client,
      deleted.map(({ position }) => Number(position)),
    );
    await lockAppends(client);
    await recordErased(client, deleted);
    for (const site of [...new Set(deleted.map((part) => part.site))].sort())
      await appendInTransaction(
        client,
        postgres.clock,
        record(site, {
          events: deleted.filter((part) => part.site === site).length,
          claims: claims.filter((each) => each === site).length,
        }),
      );
    await client.query('COMMIT');
    return deleted.length;
  });
}

/**
 * Deletes the personal parts of these events of a site in a transaction of the caller, which appends an event that accounts for them.
 * Holds the append lock from here on.
 */
export async function deletePartsAt(client: ClientBase, positions: readonly number[]): Promise<void> {
  await lockForDeletion(client);
  const deleted = await deletePersonalParts(client, 'position = ANY ($1)', [positions]);
  await lockAppends(client);
  await recordErased(client, deleted);
}

async function lockForDeletion(client: ClientBase): Promise<void> {
  // Without it, an erasure of the same rows and this one could each wait for the other: it takes the append lock first.
  await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [erasureLock.classId, DEDUP]);
  // As in `erasePart`; in this order, which is that of an erasure.
  await client.query('SELECT pg_advisory_xact_lock_shared($1)', [RETENTION_LOCK]);
}

interface ErasedPart {
  readonly site: string;
  readonly position: string;
  /** In hex; null for a part from before the chain, which has no salt. */
  readonly digest: string | null;
}

async function deletePersonalParts(
  client: ClientBase,
  condition: string,
  values: readonly unknown[],
): Promise<ErasedPart[]> {
  const { rows } = await client.query<ErasedPart>(
    `WITH erased AS (DELETE FROM cc.personal WHERE ${condition} RETURNING position, site, salt, subject, data)
     SELECT site, position, CASE WHEN salt IS NOT NULL THEN encode(cc.personal_digest(salt, subject, data), 'hex') END AS digest
       FROM erased`,
    [...values],
  );
  return rows;
}

/**
 * The digests stay, so that the hash chain of the log can still be computed. Under the append lock: the next event is stored by this
 * transaction, or after it.
 */
async function recordErased(client: ClientBase, parts: readonly ErasedPart[]): Promise<void> {
  await client.query(
    `INSERT INTO cc.erased_parts (position, digest, since)
     SELECT position, decode(digest, 'hex'), ${NEWEST_POSITION} + 1 FROM unnest($1::bigint[], $2::text[]) AS part (position, digest)`,
    [parts.map(({ position }) => position), parts.map(({ digest }) => digest)],
  );
}
