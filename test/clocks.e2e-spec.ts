import { CLOCK_STREAM, LOG } from '../src/events/log.events.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import { Lease } from '../src/postgres/lease.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { createFakeClock, type FakeClock, hasFakeClock } from './support/fake-clock.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { eventually, metrics, type Operator, openOperator, post, send, startTestService } from './support/service.js';

const LIMIT_MS = 60_000;
const TEST_LIMIT_MS = 3 * LIMIT_MS;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

if (!hasFakeClock) console.warn('SKIPPED: tests with a wrong clock (install the package faketime).');

(hasFakeClock ? describe : describe.skip)('a wrong clock', () => {
  let server: TestServer;
  let databaseClock: FakeClock;
  let databaseUrl: string;
  let operator: Operator;

  beforeAll(async () => {
    databaseClock = createFakeClock();
    server = await startTestServer({ environment: databaseClock.environment });
  }, LIMIT_MS);
  afterAll(async () => {
    await server?.stop();
    databaseClock.remove();
  }, LIMIT_MS);

  beforeEach(async () => {
    databaseUrl = await createDatabase(server);
    operator = await openOperator(databaseUrl);
  }, LIMIT_MS);
  afterEach(async () => {
    databaseClock.set('+0');
    await operator.close();
  }, LIMIT_MS);

  const order = () => ({ email: 'jane@example.com', event: 'purchase', value: 10, orderId: uuidv7() });

  describe('of the database', () => {
    it(
      'refuses appends while it is 400 days ahead, stores no time of it and records the step',
      async () => {
        const site = await operator.openSite();
        const service = await startTestService(databaseUrl);
        const readiness = async () => {
          const { status, body } = await send(service, { path: '/readyz' });
          return { status, clock: JSON.parse(body).clock };
        };
        try {
          expect((await post(service, site, order())).status).toBe(200);
          databaseClock.set('+400d');
          const refused = await post(service, site, order());
          const during = await readiness();
          databaseClock.set('+0');
          expect(refused.status).toBe(503);
          expect(during).toMatchObject({
            status: 503,
            clock: { ok: false, reason: expect.stringContaining('400d ahead') },
          });

          const after = await eventually(readiness, ({ status }) => status === 200, { withinMs: LIMIT_MS });
          expect(after.clock).toEqual({ ok: true });
          expect((await post(service, site, order())).status).toBe(200);
          const steps = await eventually(
            () => operator.log.readStream(LOG, CLOCK_STREAM),
            ({ length }) => length === 2,
            { withinMs: LIMIT_MS },
          );
          expect(steps.map(({ data }) => Math.round(data.stepMs / DAY_MS))).toEqual([400, -400]);
          expect((await metrics(service)).get('cc_clock_steps_total')).toBe(2);
          const events = await operator.log.read();
          expect(events.filter(({ time }) => Date.parse(time) > Date.now() + MINUTE_MS)).toEqual([]);
          expect(events.filter(({ type }) => type === 'conversion.received.v1')).toHaveLength(2);
        } finally {
          await service.stop();
        }
      },
      TEST_LIMIT_MS,
    );

    it(
      'neither ends nor extends a lease',
      async () => {
        const others = await openDatabase(databaseUrl);
        const lease = (await Lease.take(operator.postgres, 'a')) as Lease;
        const untilMs = async () => {
          const { rows } = await others.pool.query<{ until: Date }>(`SELECT until FROM cc.leases WHERE name = 'a'`);
          return (rows[0] as { until: Date }).until.getTime();
        };
        try {
          const before = await untilMs();
          databaseClock.set('+400d');
          expect(await Lease.take(others, 'a')).toBeUndefined();
          const renewed = await eventually(untilMs, (until) => until > before, { withinMs: LIMIT_MS });
          databaseClock.set('+0');
          expect(renewed).toBeLessThan(Date.now() + MINUTE_MS);
          expect(lease.isLost).toBe(false);
        } finally {
          await lease.release();
          await others.close();
        }
      },
      TEST_LIMIT_MS,
    );
  });
});
