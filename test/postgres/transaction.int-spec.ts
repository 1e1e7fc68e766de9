import { Pool } from 'pg';
import { transaction } from '../../src/postgres/transaction.js';
import { createEmptyDatabase } from '../support/databases.js';

describe('a transaction of the pool', () => {
  let connectionString: string;
  let pool: Pool;

  beforeAll(async () => {
    connectionString = await createEmptyDatabase();
    pool = new Pool({ connectionString });
    pool.on('connect', (client) => client.on('error', () => {}));
    await pool.query('CREATE TABLE orders (id integer)');
  });
  afterAll(async () => {
    await pool?.end();
  });

  const stored = async () => (await pool.query('SELECT id FROM orders')).rows.map(({ id }) => id);

  it('stores what its statements write, and uses the connection before they begin', async () => {
    const seen: string[] = [];
    const result = await transaction(
      pool,
      async (client) => {
        seen.push('work');
        await client.query('INSERT INTO orders VALUES (1)');
        return 'result';
      },
      async (client) => {
        const { rows } = await client.query('SELECT now() = statement_timestamp() AS alone');
        seen.push(rows[0].alone ? 'before' : 'within');
      },
    );
    expect(result).toBe('result');
    expect(seen).toEqual(['before', 'work']);
    expect(await stored()).toEqual([1]);
  });

  it('stores nothing if it fails, and returns the connection without a transaction', async () => {
    const failing = transaction(pool, async (client) => {
      await client.query('INSERT INTO orders VALUES (2)');
      throw new Error('not today');
    });
    await expect(failing).rejects.toThrow('not today');
    expect(await stored()).toEqual([1]);
    expect(pool).toMatchObject({ totalCount: 1, idleCount: 1 });
  });

  it('closes a connection that does not roll back in time', async () => {
    const impatient = new Pool({ connectionString, query_timeout: 1_000 });
    const failing = transaction(impatient, async (client) => {
      await client.query('INSERT INTO orders VALUES (3)');
      await client.query('SELECT pg_sleep(60)');
    });
    await expect(failing).rejects.toThrow('timeout');
    expect(impatient.totalCount).toBe(0);
    await impatient.end();
    expect(await stored()).toEqual([1]);
  });

  it('closes a connection that the server has ended', async () => {
    const failing = transaction(pool, async (client) => {
      await client.query('SELECT pg_terminate_backend(pg_backend_pid())');
    });
    await expect(failing).rejects.toThrow();
    expect(await stored()).toEqual([1]);
  });
});
