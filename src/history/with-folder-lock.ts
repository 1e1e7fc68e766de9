import { resolve } from 'node:path';
import { UserError } from '../kernel/errors.js';
import type { Postgres } from '../postgres/postgres.js';
import { withClient } from './with-client.js';

/** First key of the advisory lock; the second is a hash of the folder. */
const FOLDER_LOCK = 4845011;

/**
 * Two processes that add parts to one folder at the same time would write some events twice. The database holds the lock, so that it
 * ends with the process, however that ends.
 */
export function withFolderLock<Result>(
  postgres: Postgres,
  folder: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return withClient(
    () => postgres.connect('export-folder'),
    undefined,
    async (client) => {
      const { rows } = await client.query<{ locked: boolean }>(
        'SELECT pg_try_advisory_lock($1, hashtext($2)) AS locked',
        [FOLDER_LOCK, resolve(folder)],
      );
      if (!rows[0]?.locked)
        throw new UserError(`Another process exports to ${folder}. Run the command again when it has finished.`);
      return work();
    },
  );
}
