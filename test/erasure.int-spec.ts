import { allProjections } from '../src/app/projections.js';
import { Sealer } from '../src/kernel/sealing.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';

/** The log's own table of personal parts, which erasure always includes. */
const PERSONAL = { table: 'personal', column: 'subject' };

describe('subject columns', () => {
  let server: TestServer;
  let postgres: Postgres;

  beforeAll(async () => {
    server = await startTestServer();
    postgres = await openDatabase(await createDatabase(server));
  }, 60_000);
  afterAll(async () => {
    await postgres.close();
    await server.stop();
  }, 60_000);

  it('are declared by a projection for every table that has one, so that erasure includes it', async () => {
    const { rows } = await postgres.pool.query<{ table: string; column: string }>(
      `SELECT table_name AS table, column_name AS column FROM information_schema.columns
        WHERE table_schema = 'cc' AND column_name = 'subject' AND data_type = 'bytea' ORDER BY table_name`,
    );
    const projections = allProjections(new SiteSecrets(postgres.pool, new Sealer(Buffer.alloc(32))));
    const declared = projections.flatMap(({ subjectColumns = [] }) => subjectColumns);
    const sorted = [...declared, PERSONAL].sort((one, other) => (one.table < other.table ? -1 : 1));
    expect(rows).toEqual(sorted);
  });
});
