import type { Pool, PoolClient } from 'pg';

/** Work on a connection of the pool. After an error it is closed instead of reused: a query or a transaction may still be open on it. */
export async function withConnection<Result>(
  pool: Pick<Pool, 'connect'>,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    const result = await work(client);
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** Statements that take effect together or not at all, on a connection of the pool. `before` uses it before they begin. */
export async function transaction<Result>(
  pool: Pick<Pool, 'connect'>,
  work: (client: PoolClient) => Promise<Result>,
  before?: (client: PoolClient) => Promise<void>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    await before?.(client);
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
