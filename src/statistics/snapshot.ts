import { type ClientBase, DatabaseError } from 'pg';
import { UserError } from '../kernel/errors.js';
import { Semaphore } from '../kernel/semaphore.js';
import { readHead } from '../log/event-reader.js';
import { readTimeAfter } from '../log/stored-time.js';
import type { Postgres } from '../postgres/postgres.js';

const STATEMENT_TIMEOUT = '5s';
/** PostgreSQL's code of a statement that took too long. */
const QUERY_CANCELED = '57014';

/** Reads of this process, whose pool has eight connections. Each takes seconds at worst. */
const reads = new Semaphore(4, 10_000);

/** Every event up to the position is counted; every event before the time is. */
export interface AsOf {
  readonly position: number;
  readonly time: string;
}

/** Reads rows of projections and their positions as of one moment, in bounded time, and few at once. */
export function readSnapshot<Result>(
  postgres: Postgres,
  projections: readonly string[],
  read: (client: ClientBase) => Promise<Result>,
): Promise<Result & { readonly asOf: AsOf }> {
  return reads.run(() => readNow(postgres, projections, read));
}

function readNow<Result>(
  postgres: Postgres,
  projections: readonly string[],
  read: (client: ClientBase) => Promise<Result>,
): Promise<Result & { readonly asOf: AsOf }> {
  return postgres.readLagging(async (client, currentMs) => {
    try {
      await client.query(
        `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '${STATEMENT_TIMEOUT}'`,
      );
      const asOf = await readAsOf(client, projections, currentMs);
      const result = { ...(await read(client)), asOf };
      await client.query('ROLLBACK');
      return result;
    } catch (error) {
      if (error instanceof DatabaseError && error.code === QUERY_CANCELED)
        throw new UserError('There is too much to add up for one request. Choose a shorter period or fewer sites.');
      throw error;
    }
  });
}

async function readAsOf(client: ClientBase, projections: readonly string[], currentMs: number): Promise<AsOf> {
  const { rows } = await client.query<{ position: number | null; known: number }>(
    'SELECT min(position)::float8 AS position, count(*)::int AS known FROM cc.projections WHERE name = ANY ($1)',
    [projections],
  );
  const [folded] = rows;
  const head = await readHead(client);
  // A projection without a position has folded nothing yet.
  const position = folded?.known === projections.length ? Math.min(head, folded.position ?? 0) : 0;
  const next = position < head ? await readTimeAfter(client, position) : undefined;
  return { position, time: (next ?? new Date(currentMs)).toISOString() };
}
