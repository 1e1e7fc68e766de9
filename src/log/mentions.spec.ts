import { type ClientBase, DatabaseError } from 'pg';
import { UserError } from '../kernel/errors.js';
import { findNewestMentions } from './mentions.js';

const SEARCH = { site: 'shop.example', after: 0, until: 10, subjects: ['00'.repeat(32)], texts: [], limit: 1 };

it('a search for a person says what to do when it takes too long', async () => {
  const timeout = new DatabaseError('canceling statement due to statement timeout', 1, 'error');
  timeout.code = '57014';
  const query = async (text: string) => (text.startsWith('BEGIN') ? { rows: [] } : Promise.reject(timeout));
  await expect(findNewestMentions({ query } as unknown as ClientBase, SEARCH)).rejects.toThrow(
    new UserError('The search takes too long. Look for the order instead.'),
  );
});
