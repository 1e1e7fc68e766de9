import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { type AdminClient, startTestAdmin, type TestAdmin } from './support/admin.js';
import { createDatabase } from './support/databases.js';
import { startTestServer, type TestServer, type TestStandby } from './support/postgres-server.js';
import { ConversionEvents } from './support/statistics.js';
import { eventually } from './support/waiting.js';

const SITE = 'shop.example';
const SUBJECT = 'aa'.repeat(32);
const PERIOD = 'from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z';
const LISTS = ['events', 'conversions', 'conversions?order=A-1', 'sync-log'];

describe('the management API with DATABASE_READ_URL', () => {
  let server: TestServer;
  let standby: TestStandby;
  let admin: TestAdmin;
  let log: PostgresEventLog;
  let events: ConversionEvents;
  let boss: AdminClient;

  const get = async (path: string) => {
    const { status, body } = await boss(path);
    expect([path, status]).toEqual([path, 200]);
    return body;
  };
  const asOf = async (path: string) => (await get(path)).asOf.position as number;

  beforeAll(async () => {
    server = await startTestServer();
    const url = await createDatabase(server);
    standby = await server.addStandby();
    const database = /\/(\w+)\?/.exec(url)?.[1] as string;
    admin = await startTestAdmin(url, { DATABASE_READ_URL: standby.url(database), DATABASE_READ_MAX_LAG: '1h' });
    log = admin.log;
    boss = await admin.signedIn('admin');
    await boss.post('/sites', { host: SITE });
    events = new ConversionEvents(log, SITE);
    await events.decided('received', SUBJECT);
  });
  afterAll(async () => {
    await admin?.stop();
    await standby?.stop();
    await server?.stop();
  });

  it('reads lists and statistics from the standby, and everything else from the primary', async () => {
    const before = await log.head();
    for (const path of LISTS) await eventually(() => asOf(`/sites/${SITE}/${path}`), before);
    await standby.pause();
    try {
      const id = await events.decided('received', SUBJECT);
      // A standby that is slow to answer is left alone, and the primary is read.
      for (const path of LISTS) await eventually(() => asOf(`/sites/${SITE}/${path}`), before);
      await eventually(
        () => get(`/sites/${SITE}/events`),
        ({ items }) => items[0].position === before,
      );
      await eventually(
        () => asOf(`/sites/${SITE}/totals?${PERIOD}`),
        (found) => found <= before,
      );
      // The page after one that the primary has answered must not miss what the standby lacks.
      const head = await log.head();
      for (const path of ['events', 'conversions', 'sync-log'])
        expect(await asOf(`/sites/${SITE}/${path}?cursor=${head + 1}`)).toBeGreaterThanOrEqual(head);
      expect(await get(`/sites/${SITE}/conversions/${id}`)).toMatchObject({ conversion: { conversionId: id } });
      // Users, sessions and what administrators change.
      const other = await admin.signedIn('analyst');
      expect((await other('/session')).status).toBe(200);
      expect((await get('/audit')).items[0].position).toBeGreaterThan(before);
    } finally {
      await standby.resume();
    }
    const head = await log.head();
    await eventually(() => asOf(`/sites/${SITE}/events`), head);
  });

  it('exports everything that was stored before, although the standby was behind', async () => {
    const types = ['conversion.received.v1'];
    await standby.pause();
    await events.decided('received', SUBJECT);
    const stored = await log.read({ types });
    const started = await boss.post(`/sites/${SITE}/jobs`, { kind: 'export', types });
    expect(started.status).toBe(202);
    await standby.resume();
    const job = await eventually(
      () => get(`/jobs/${started.body.id}`),
      ({ state }) => state !== 'queued' && state !== 'running',
    );
    expect(job).toMatchObject({ state: 'succeeded', result: { events: stored.length } });
  });
});
