import type { PoolClient } from 'pg';
import type { Postgres } from '../postgres/postgres.js';

export async function inTransaction<Result>(
  { pool }: Postgres,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    // A connection that cannot roll back is closed, not used again.
    await client.query('ROLLBACK').then(
      () => client.release(),
      () => client.release(true),
    );
    throw error;
  }
}
