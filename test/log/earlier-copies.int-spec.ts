import { Client } from 'pg';
import { parseCopiedRows } from '../../src/log/site-copy/copied-rows.js';
import { createEmptyDatabase, openDatabase } from '../support/databases.js';
import { type EarlierVersion, restoreLog } from '../support/earlier-versions.js';
import { readAll } from '../support/site-copies.js';

describe('the sites of a log that was written by', () => {
  it.each<EarlierVersion>(['0.1', '0.2'])('version %s have only rows that another log accepts', async (version) => {
    const databaseUrl = await createEmptyDatabase();
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    await restoreLog(client, version, 'written').finally(() => client.end());
    const source = await openDatabase(databaseUrl);
    try {
      const { rows } = await source.pool.query<{ site: string; events: number }>(
        `SELECT site, count(*)::int AS events FROM cc.events WHERE category NOT IN ('log', 'user') GROUP BY site`,
      );
      expect(rows.length).toBeGreaterThan(0);
      for (const { site, events } of rows)
        expect(parseCopiedRows(await readAll(source, site), site)).toHaveLength(events);
    } finally {
      await source.close();
    }
  });
});
