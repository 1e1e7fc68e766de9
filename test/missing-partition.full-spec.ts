import { keepPartitionsAhead } from '../src/log/retention/partitions.js';
import { post, send, useService } from './support/service.js';
import { eventually } from './support/waiting.js';

const PURCHASE = { email: 'jane@example.com', event: 'purchase', value: 10, currency: 'EUR', orderId: 'ORD-1' };

const { operator, service, openSite } = await useService();
const owner = await operator.postgres.connectAsOwner('test');
afterAll(() => owner.end());

describe('the service without a partition for the next event', () => {
  it('answers 503, names the cause in /readyz, and accepts the conversion when the partition exists', async () => {
    const site = await openSite();
    // Keeps the service from creating the partition before the test has seen the failure.
    await owner.query('SELECT pg_advisory_lock(4845005)');
    await owner.query(`SELECT setval('cc.event_position', (SELECT max(beyond) FROM cc.log_partitions), false)`);

    expect((await post(service, site, PURCHASE)).status).toBe(503);
    const ready = () => send(service, { path: '/readyz' });
    const unready = await ready();
    expect(unready.status).toBe(503);
    expect(JSON.parse(unready.body).log).toEqual({
      ok: false,
      reason: expect.stringMatching(/^the log has no partition for position \d+$/),
    });

    await owner.query('SELECT pg_advisory_unlock(4845005)');
    await keepPartitionsAhead(operator.postgres);
    // The failure of the last append is remembered for some seconds.
    await eventually(ready, { status: 200 });
    const { status, body } = await post(service, site, PURCHASE);
    // An append that was under way when its request was answered may have been stored: then this one is its duplicate.
    expect({ status, receipt: JSON.parse(body) }).toMatchObject({ status: 200, receipt: { ok: true } });
    expect(await operator.log.read({ site: site.host, types: ['conversion.received.v1'] })).toHaveLength(1);
  });
});
