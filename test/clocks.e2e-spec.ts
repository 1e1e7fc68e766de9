import { CLOCK_STREAM, LOG } from '../src/events/log.events.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import { createDatabase } from './support/databases.js';
import { createFakeClock, type FakeClock, hasFakeClock } from './support/fake-clock.js';
import { loosely } from './support/loose-event.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { eventually, metrics, type Operator, openOperator, post, send, startTestService } from './support/service.js';

const LIMIT_MS = 60_000;
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
          expect(loosely(steps).map(({ data }) => Math.round(Number(data['stepMs']) / DAY_MS))).toEqual([400, -400]);
          expect((await metrics(service)).get('cc_clock_steps_total')).toBe(2);
          const events = await operator.log.read();
          expect(events.filter(({ time }) => Date.parse(time) > Date.now() + MINUTE_MS)).toEqual([]);
          expect(events.filter(({ type }) => type === 'conversion.received.v1')).toHaveLength(2);
        } finally {
          await service.stop();
        }
      },
      3 * LIMIT_MS,
    );
  });
});
