import { type ClientBase, DatabaseError } from 'pg';
import { UserError } from '../../kernel/errors.js';
import { findNewestByField } from './newest-by-field.js';

const SEARCH = {
  ...{ site: 'shop.example', field: 'platform', indexed: ['conversion.failed.v1'], after: 0, before: 10, limit: 1 },
  keys: [{ type: 'conversion.failed.v1', value: 'meta' }],
};

/** A database that refuses the search. */
function refusing(error: Error): ClientBase {
  const query = async (text: string) => (text.startsWith('BEGIN') ? { rows: [] } : Promise.reject(error));
  return { query } as unknown as ClientBase;
}

describe('a search by type and field', () => {
  it('says what to do when it takes too long', async () => {
    const timeout = new DatabaseError('canceling statement due to statement timeout', 1, 'error');
    timeout.code = '57014';
    await expect(findNewestByField(refusing(timeout), SEARCH)).rejects.toThrow(
      new UserError('The search takes too long. Select a connection or a shorter period.'),
    );
  });

  it('does not hide other errors', async () => {
    const client = refusing(new Error('Connection terminated'));
    await expect(findNewestByField(client, SEARCH)).rejects.toThrow('Connection terminated');
  });
});
