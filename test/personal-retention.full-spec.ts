import { openRetainedService } from './support/retained-service.js';
import { startReceiver } from './support/webhook-receiver.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const STEP_MS = 24 * HOUR_MS;

const receiver = await startReceiver();
const { clock, operator, buy, retained, failedChecks, stop } = await openRetainedService(receiver, {
  ...{ PERSONAL_RETENTION: '1h', LOG_RETENTION: '20d' },
});
afterAll(async () => {
  await stop();
  await receiver.stop();
});

const conversions = async () => (await operator.log.read()).filter(({ type }) => type === 'conversion.received.v1');

it('keeps nothing for longer than it says in three months under traffic, and all totals', async () => {
  let bought = 0;
  let oldestMs = 0;
  const endMs = clock.nowMs() + 90 * DAY_MS;
  while (clock.nowMs() < endMs) {
    for (let each = 0; each < 3; each += 1) expect((await buy(`ORD-${++bought}`)).status).toBe(200);
    await clock.advance(STEP_MS);
    await retained(conversions, (found) => found.every(({ personal }) => personal === null));
    const [oldest] = await conversions();
    oldestMs = Math.max(oldestMs, clock.nowMs() - Date.parse(oldest?.time ?? ''));
  }
  // Of a partition that begins anew each 20 days, the last event is 20 days old when it goes.
  expect(oldestMs).toBeGreaterThan(20 * DAY_MS);
  expect(oldestMs).toBeLessThan(40 * DAY_MS + 2 * STEP_MS);
  const { rows } = await operator.postgres.pool.query('SELECT sum(conversions)::int AS count FROM cc.totals');
  expect(rows).toEqual([{ count: bought }]);
  expect(await failedChecks()).toEqual([]);
});
