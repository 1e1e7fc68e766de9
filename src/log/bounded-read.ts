import { type ClientBase, DatabaseError } from 'pg';
import { UserError } from '../kernel/errors.js';

/** A search is one of many: it must not keep a connection of the pool for long. */
const STATEMENT_TIMEOUT_MS = 3_000;
const QUERY_CANCELED = '57014';

/** Reads in a transaction whose statements are short; `advice` is what to do otherwise. An error leaves the transaction open: the caller closes the connection. */
export async function boundedRead<Result>(
  client: ClientBase,
  read: () => Promise<Result>,
  { advice, settings = '' }: { readonly advice: string; readonly settings?: string },
): Promise<Result> {
  try {
    await client.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}; ${settings}`);
    const result = await read();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === QUERY_CANCELED)
      throw new UserError(`The search takes too long. ${advice}`);
    throw error;
  }
}
