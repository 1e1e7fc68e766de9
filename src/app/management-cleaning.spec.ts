import type { Logger } from '../kernel/logger.js';
import { Sealer } from '../kernel/sealing.js';
import type { Postgres } from '../postgres/postgres.js';
import { ManagementCleaning } from './management-cleaning.js';

describe('the cleaning of what the management API keeps', () => {
  it('deletes tokens of sign-ins, repeatable answers and attempts to sign in also while files cannot be deleted', async () => {
    const queries: string[] = [];
    const warnings: string[] = [];
    const query = async (asked: string | { text: string }) => {
      const text = typeof asked === 'string' ? asked : asked.text;
      if (text.includes('cc.jobs')) throw new Error('the disk is full');
      queries.push(text);
      return { rows: [], rowCount: 0 };
    };
    const postgres = { pool: { query }, clock: { at: () => 0 } } as unknown as Postgres;
    const logger = { warn: (message: string) => warnings.push(message) } as unknown as Logger;
    await new ManagementCleaning(postgres, new Sealer(Buffer.alloc(32)), logger).clean();
    expect(queries).toContainEqual(expect.stringContaining('DELETE FROM platform_sign_ins'));
    expect(queries).toContainEqual(expect.stringContaining('DELETE FROM idempotency_keys'));
    expect(queries).toContainEqual(expect.stringContaining('DELETE FROM cc.sign_in_attempts'));
    expect(warnings).toEqual(['Old files were not deleted; retrying in 30 s']);
  });
});
