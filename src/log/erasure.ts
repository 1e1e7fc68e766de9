import type { ClientBase } from 'pg';
import type { DatabaseClock } from '../postgres/database-clock.js';
import type { Postgres } from '../postgres/postgres.js';
import { appendInTransaction } from './append-in-transaction.js';
import type { AppendRequest } from './event.js';
import { readEventsAt, readHead } from './event-reader.js';
import { followLineage } from './lineage.js';
import type { Projection } from './projection.js';
import { APPEND_LOCK, erasureLock } from './projection-rebuild.js';

/** The projection of dedup claims, which the append writes and this file erases. */
const DEDUP = 'dedup';

/** A key that was derived from a reference reveals nothing about the person; all others were derived from the subject. */
const CLAIMS = `site = $1 AND stream = ANY (
  SELECT stream FROM cc.events WHERE position = ANY ($2) AND reference IS NULL)`;

/** Counts of what an erasure deleted. */
export interface Erased {
  /** Events that lost their personal part. */
  readonly events: number;
  readonly claims: number;
  /** Rows by table of the projections. */
  readonly rows: ReadonlyMap<string, number>;
}

export interface ErasureSearch {
  readonly site: string;
  /** In hex. */
  readonly subject: string;
  /** Further subjects that are named in personal parts of this one and are erased with it. */
  linkedSubjects(personal: readonly unknown[]): string[];
  /** All projections; those that declare `subjectColumns` lose the rows of the subject, those with `forget` its events. */
  readonly projections: readonly Projection[];
}

export interface ErasureOptions extends ErasureSearch {
  /** The event that states the erasure. It is appended by the transaction that deletes. */
  record(erased: Erased): AppendRequest & { readonly expected: 'new' };
}

/**
 * Deletes the personal parts of all events about a subject, and the subject's rows in projections. The events stay. The
 * search runs concurrently with appends; only the deletion, its event and a second search for newer events hold the append lock.
 */
export async function eraseSubject(postgres: Postgres, options: ErasureOptions): Promise<Erased> {
  const client = await postgres.connect('erasure', { lock_timeout: '0' });
  try {
    await followLineage(client, () => {});
    // A rebuild that runs at the same time would restore the rows from what it has read, so none may run.
    await client.query('SELECT pg_advisory_lock_shared($1, hashtext(name)) FROM unnest($2::text[]) AS name', [
      erasureLock.classId,
      lockedProjections(options).sort(),
    ]);
    const subjects = new Set([options.subject]);
    for (;;) {
      const erased = await eraseOnce(client, postgres.clock, options, subjects);
      if (erased) return erased;
    }
  } finally {
    await client.end();
  }
}

/** Counts what `eraseSubject` would delete at the moment. Takes no lock, and nothing waits for it. */
export async function countErasable(postgres: Postgres, search: ErasureSearch): Promise<Erased> {
  const client = await postgres.connect('erasure');
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const subjects = new Set([search.subject]);
    const positions = await findWithLinked(client, search, subjects, Number.MAX_SAFE_INTEGER);
    const { rows: claims } = await client.query<{ count: number }>(
      `SELECT count(*)::float8 AS count FROM cc.dedup WHERE ${CLAIMS}`,
      [search.site, positions],
    );
    const rows = new Map<string, number>();
    for (const { table, condition, values } of subjectRows(search, subjects)) {
      const found = await client.query<{ count: number }>(
        `SELECT count(*)::float8 AS count FROM cc.${table} WHERE ${condition}`,
        values,
      );
      rows.set(table, found.rows[0]?.count ?? 0);
    }
    return { events: positions.length, claims: claims[0]?.count ?? 0, rows };
  } finally {
    await client.end();
  }
}

function lockedProjections({ projections }: ErasureSearch): string[] {
  return [
    ...projections.filter(({ subjectColumns, forget }) => subjectColumns ?? forget).map(({ name }) => name),
    DEDUP,
  ];
}

/** Undefined when an event appended during the search names another subject: the search must then run again. */
async function eraseOnce(
  client: ClientBase,
  clock: DatabaseClock,
  options: ErasureOptions,
  subjects: Set<string>,
): Promise<Erased | undefined> {
  const { site, linkedSubjects } = options;
  const head = await readHead(client);
  const found = await findWithLinked(client, options, subjects, head);
  await client.query('BEGIN');
  // Waits for folds that have read personal parts and not yet written their rows.
  const { rows: checkpoints } = await client.query<{ name: string; position: string }>(
    'SELECT name, position FROM cc.projections WHERE name = ANY ($1) ORDER BY name FOR UPDATE',
    [lockedProjections(options)],
  );
  await client.query('SELECT pg_advisory_xact_lock($1)', [APPEND_LOCK]);
  const newer = await find(client, site, subjects, head, Number.MAX_SAFE_INTEGER);
  if (linkedSubjects(newer.map(({ data }) => data)).some((subject) => !subjects.has(subject))) {
    await client.query('ROLLBACK');
    return undefined;
  }
  const positions = [...found, ...newer.map(({ position }) => position)];
  for (const { name, forget } of options.projections) {
    const folded = Number(checkpoints.find((checkpoint) => checkpoint.name === name)?.position ?? 0);
    await forget?.take(
      client,
      await readEventsAt(
        client,
        positions.map(Number).filter((at) => at <= folded),
        forget.types,
      ),
    );
  }
  const claims = await client.query(`DELETE FROM cc.dedup WHERE ${CLAIMS}`, [site, positions]);
  const events = await deletePersonalParts(client, 'position = ANY ($1)', [positions]);
  const rows = await deleteRows(client, options, subjects);
  const erased = { events: totalOf(events), claims: claims.rowCount ?? 0, rows };
  await appendInTransaction(client, clock, options.record(erased));
  await client.query('COMMIT');
  return erased;
}

/**
 * Deletes the personal parts in a position range whose subject has this length. Their digests stay, as after an erasure, and the
 * same transaction appends an event for each site that states how many. Returns their number.
 */
export async function expirePersonalParts(
  postgres: Postgres,
  range: { readonly after: number; readonly until: number; readonly subjectBytes: number },
  record: (site: string, events: number) => AppendRequest & { readonly expected: 'new' },
): Promise<number> {
  const client = await postgres.connect('expiry');
  try {
    await followLineage(client, () => {});
    await client.query('BEGIN');
    // Without it, an erasure of the same rows and this one could each wait for the other: it takes the append lock first.
    await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [erasureLock.classId, DEDUP]);
    const deleted = await deletePersonalParts(
      client,
      'position > $1 AND position <= $2 AND octet_length(subject) = $3',
      [range.after, range.until, range.subjectBytes],
    );
    for (const { site, count } of deleted) await appendInTransaction(client, postgres.clock, record(site, count));
    await client.query('COMMIT');
    return totalOf(deleted);
  } finally {
    await client.end();
  }
}

/**
 * Their digests stay, so that the hash chain of the log can still be computed. Parts from before the chain have no salt.
 * Returns how many were deleted, by site.
 */
async function deletePersonalParts(
  client: ClientBase,
  condition: string,
  values: readonly unknown[],
): Promise<{ site: string; count: number }[]> {
  const { rows } = await client.query<{ site: string; count: number }>(
    `WITH erased AS (DELETE FROM cc.personal WHERE ${condition} RETURNING position, site, salt, subject, data),
          kept AS (INSERT INTO cc.erased_parts (position, digest)
                   SELECT position, cc.personal_digest(salt, subject, data) FROM erased WHERE salt IS NOT NULL)
     SELECT site, count(*)::float8 AS count FROM erased GROUP BY site ORDER BY site`,
    [...values],
  );
  return rows;
}

function totalOf(deleted: readonly { readonly count: number }[]): number {
  return deleted.reduce((sum, { count }) => sum + count, 0);
}

async function deleteRows(
  client: ClientBase,
  search: ErasureSearch,
  subjects: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const rows = new Map<string, number>();
  for (const { table, condition, values } of subjectRows(search, subjects)) {
    const { rowCount } = await client.query(`DELETE FROM cc.${table} WHERE ${condition}`, values);
    rows.set(table, rowCount ?? 0);
  }
  return rows;
}

/** The rows of projections that are about the subjects. */
function subjectRows({ site, projections }: ErasureSearch, subjects: ReadonlySet<string>) {
  return projections
    .flatMap(({ subjectColumns = [] }) => subjectColumns)
    .map(({ table, column }) => ({
      table,
      condition: `site = $1 AND ${column} = ANY ($2)`,
      values: [site, bytesOf(subjects)],
    }));
}

/** Positions of the events about the subjects and those linked with them, which are added to `subjects`. */
async function findWithLinked(
  client: ClientBase,
  { site, linkedSubjects }: ErasureSearch,
  subjects: Set<string>,
  until: number,
): Promise<string[]> {
  const found = await find(client, site, subjects, -1, until);
  const linked = new Set(linkedSubjects(found.map(({ data }) => data)).filter((subject) => !subjects.has(subject)));
  const foundLinked = await find(client, site, linked, -1, until);
  for (const subject of linked) subjects.add(subject);
  return [...found, ...foundLinked].map(({ position }) => position);
}

async function find(client: ClientBase, site: string, subjects: ReadonlySet<string>, after: number, until: number) {
  if (subjects.size === 0) return [];
  const { rows } = await client.query<{ position: string; data: unknown }>(
    'SELECT position, data FROM cc.personal WHERE site = $1 AND subject = ANY ($2) AND position > $3 AND position <= $4',
    [site, bytesOf(subjects), after, until],
  );
  return rows;
}

function bytesOf(subjects: Iterable<string>): Buffer[] {
  return [...subjects].map((subject) => Buffer.from(subject, 'hex'));
}
