import { DatabaseError, type Pool } from 'pg';
import { UserError } from '../kernel/errors.js';
import { findNewestByField } from './newest-by-field.js';

const SEARCH = {
  ...{ site: 'shop.example', field: 'platform', indexed: ['conversion.failed.v1'], after: 0, before: 10, limit: 1 },
  keys: [{ type: 'conversion.failed.v1', value: 'meta' }],
};

/** A database that refuses the search. */
function refusing(error: Error) {
  const released: unknown[] = [];
  const query = async (text: string) => (text.startsWith('BEGIN') ? { rows: [] } : Promise.reject(error));
  const client = { query, release: (closed?: boolean) => released.push(closed) };
  return { pool: { connect: async () => client } as unknown as Pool, released };
}

describe('a search by type and field', () => {
  it('says what to do when it takes too long, and closes its connection', async () => {
    const timeout = new DatabaseError('canceling statement due to statement timeout', 1, 'error');
    timeout.code = '57014';
    const { pool, released } = refusing(timeout);
    const search = findNewestByField(pool, SEARCH);
    await expect(search).rejects.toThrow(
      new UserError('The search takes too long. Select a connection or a shorter period.'),
    );
    expect(released).toEqual([true]);
  });

  it('does not hide other errors', async () => {
    const { pool } = refusing(new Error('Connection terminated'));
    await expect(findNewestByField(pool, SEARCH)).rejects.toThrow('Connection terminated');
  });
});
