import type { ClientBase } from 'pg';
import type { Postgres } from '../postgres/postgres.js';
import { readHead } from './event-reader.js';
import { APPEND_LOCK, erasureLock } from './projection-rebuild.js';

/** What an erasure took away. */
export interface Erased {
  readonly events: number;
  readonly claims: number;
}

export interface ErasureOptions {
  readonly site: string;
  /** As the log spells it, in hex. */
  readonly subject: string;
  /** Further subjects that the personal parts of this one turn out to name. */
  also(personal: readonly unknown[]): string[];
  /** Projections that hold something of the subject: none of them is rebuilt meanwhile, or it would come back. */
  readonly projections: readonly string[];
  /** Deletes what those hold, in the same transaction. */
  forget(tx: ClientBase, subjects: readonly Buffer[]): Promise<void>;
}

/**
 * Deletes the personal parts of everything about a subject. The events stay. The search goes through the log beside all
 * traffic; only the deletion itself, and a last look at what came meanwhile, wait behind the append's lock.
 */
export async function eraseSubject(postgres: Postgres, options: ErasureOptions): Promise<Erased> {
  const client = await postgres.connect('erasure', { lock_timeout: '0' });
  try {
    await client.query('SELECT pg_advisory_lock_shared($1, hashtext(name)) FROM unnest($2::text[]) AS name', [
      erasureLock.classId,
      [...options.projections].sort(),
    ]);
    const subjects = new Set([options.subject]);
    for (;;) {
      const erased = await tryToErase(client, options, subjects);
      if (erased) return erased;
    }
  } finally {
    await client.end();
  }
}

/** Undefined when something came meanwhile that names yet another subject: then the search begins anew. */
async function tryToErase(
  client: ClientBase,
  options: ErasureOptions,
  subjects: Set<string>,
): Promise<Erased | undefined> {
  const { site, projections, also, forget } = options;
  const head = await readHead(client);
  const found = await find(client, site, subjects, -1, head);
  const others = new Set(also(found.map(({ data }) => data)).filter((subject) => !subjects.has(subject)));
  const theirs = await find(client, site, others, -1, head);
  for (const other of others) subjects.add(other);
  await client.query('BEGIN');
  // Whoever folds a page has read it before: it must not write after us what it read.
  await client.query('SELECT FROM cc.projections WHERE name = ANY ($1) ORDER BY name FOR UPDATE', [projections]);
  await client.query('SELECT pg_advisory_xact_lock($1)', [APPEND_LOCK]);
  const late = await find(client, site, subjects, head, Number.MAX_SAFE_INTEGER);
  if (also(late.map(({ data }) => data)).some((subject) => !subjects.has(subject))) {
    await client.query('ROLLBACK');
    return undefined;
  }
  const positions = [...found, ...theirs, ...late].map(({ position }) => position);
  const claims = await client.query(
    // A key that was made of an outside name tells nothing of the person; the others were made of the person.
    `DELETE FROM cc.dedup WHERE site = $1 AND stream = ANY (
       SELECT stream FROM cc.events WHERE position = ANY ($2) AND reference IS NULL)`,
    [site, positions],
  );
  const events = await client.query('DELETE FROM cc.personal WHERE position = ANY ($1)', [positions]);
  await forget(client, bytesOf(subjects));
  await client.query('COMMIT');
  return { events: events.rowCount ?? 0, claims: claims.rowCount ?? 0 };
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
