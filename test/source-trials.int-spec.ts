import { SetWebhook } from '../src/sites/webhook.commands.js';
import { startTestAdmin } from './support/admin.js';
import { commandLine } from './support/command-line.js';
import { createDatabase } from './support/databases.js';
import { SECRET_KEY } from './support/secret-key.js';
import { openOperator, SHORT_ATTEMPTS, startTestService } from './support/service.js';
import { bodyOf, type ConnectedSource, connectSource, deliver, fixtureOf, play } from './support/source-deliveries.js';
import { eventually } from './support/waiting.js';
import { startReceiver } from './support/webhook-receiver.js';

const databaseUrl = await createDatabase();
const operator = await openOperator(databaseUrl);
// What is stored by the management API is found in the log once it is owed.
const service = await startTestService(databaseUrl, { OUTBOUND_ALLOW_PRIVATE: 'true' }, { attempts: SHORT_ATTEMPTS });
const { json } = commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY });
const admin = await startTestAdmin(databaseUrl);
const boss = await admin.signedIn('admin');
const receiver = await startReceiver();
afterAll(async () => {
  await admin.stop();
  await service.stop();
  await operator.close();
  await receiver.stop();
});

async function connected(name: string): Promise<ConnectedSource> {
  const to = await connectSource(operator, await operator.openSite(), name);
  await service.refreshSites();
  return to;
}

const pathOf = ({ site, name }: ConnectedSource) => `/sites/${site.host}/inbound-sources/${name}`;
const listed = async ({ site, name }: ConnectedSource) => {
  const { body } = await boss(`/sites/${site.host}/inbound-sources`);
  return body.items.find(({ source }: { source: string }) => source === name);
};

describe('the test of a source', () => {
  it('stores a trial conversion, which is checked for every platform, and neither sent nor counted', async () => {
    const to = await connected('shopify');
    const { host } = to.site;
    await operator.connect(host, 'webhook', { url: `${receiver.url}/trial` });
    await operator.execute(new SetWebhook('cli', host, { url: `${receiver.url}/totals`, allowPrivate: true }));
    await service.refreshSites();
    const outcomes = [];
    for (let times = 0; times < 2; times += 1) {
      const { status, body } = await boss.post(`${pathOf(to)}/trial`, { fixture: 'orders-paid' });
      expect(status).toBeLessThan(300);
      outcomes.push(body);
    }
    // Each has an order of its own.
    expect(outcomes).toEqual([1, 2].map(() => ({ outcome: 'received', conversionId: expect.any(String) })));
    await eventually(
      async () => (await operator.conversions(host)).map(({ type }) => type).sort(),
      (types) => types.filter((type) => type === 'conversion.validated.v1').length === 2,
    );
    const [first] = await operator.conversions(host);
    expect(first?.data).toMatchObject({ trial: true, keyId: to.keyId, delivery: { source: 'shopify' } });
    expect(receiver.callsTo('/trial')).toEqual([]);
    expect((await listed(to)).deliveries).toMatchObject([{ outcome: 'trial' }, { outcome: 'trial' }]);
    // The real one is none that is known.
    expect(bodyOf(await play(service, to, 'orders-paid'))).toMatchObject({ outcome: 'received' });
    const { checks } = await json('history verify');
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  });

  it('stores nothing of a delivery that is no conversion: rules that are applied later would make one of it', async () => {
    const to = await connected('shopify');
    const { body } = await boss.post(`${pathOf(to)}/trial`, { fixture: 'refunds-create' });
    expect(body).toEqual({ outcome: 'ignored', reason: 'no_refund_event' });
    expect(await operator.log.read({ categories: ['conversion', 'inbound'], site: to.site.host })).toEqual([]);
  });

  it('needs a connection, and a documented delivery', async () => {
    const to = await connected('shopify');
    expect((await boss.post(`${pathOf({ ...to, name: 'stripe' })}/trial`, { fixture: 'charge.refunded' })).status).toBe(
      404,
    );
    expect((await boss.post(`${pathOf(to)}/trial`, { fixture: '../index' })).status).toBe(404);
  });
});

describe('rules that are tried', () => {
  const tried = async (to: ConnectedSource, body: object) => (await boss.post(`${pathOf(to)}/try`, body)).body;

  it('are applied to what was stored of a delivery, whether it is a conversion or not', async () => {
    const to = await connected('woocommerce');
    const { raw, topic } = fixtureOf('woocommerce', 'order.created');
    const pending = raw.replace('"status": "processing"', '"status": "on-hold"');
    expect(bodyOf(await deliver(service, to, pending, topic))).toMatchObject({ outcome: 'ignored' });
    expect(bodyOf(await play(service, to, 'order.created'))).toMatchObject({ outcome: 'received' });
    const [received, ignored] = (await listed(to)).deliveries;
    const { value, orderId } = fixtureOf('woocommerce', 'order.created').conversion;
    const mapping = { 'order.created': { when: '/status = on-hold' } };
    expect(await tried(to, { delivery: ignored.position })).toMatchObject({ outcome: 'ignored', reason: 'condition' });
    expect(await tried(to, { delivery: ignored.position, mapping })).toMatchObject({
      ...{ topic, outcome: 'converted', conversion: { value, orderId } },
      values: { '/status': 'on-hold' },
    });
    expect(await tried(to, { delivery: received.position })).toMatchObject({ outcome: 'converted' });
    expect(await tried(to, { delivery: received.position, mapping })).toMatchObject({ outcome: 'ignored' });
    const answers = [ignored, received].map(({ position }: { position: string }) =>
      tried(to, { delivery: position, mapping }),
    );
    // Neither values nor hashes of the person.
    expect(JSON.stringify(await Promise.all(answers))).not.toMatch(/john|doe@|555|[0-9a-f]{64}/i);
    await json(`visitors erase --site ${to.site.host} --email john.doe@example.com --yes`);
    expect(await tried(to, { delivery: ignored.position, mapping })).toEqual({ topic, outcome: 'erased' });
  });

  it('are applied to no event that is no delivery of the source to the site', async () => {
    const [to, other] = [await connected('woocommerce'), await connected('woocommerce')];
    await play(service, other, 'order.created');
    const [foreign] = (await listed(other)).deliveries;
    expect((await boss.post(`${pathOf(to)}/try`, { delivery: foreign.position })).status).toBe(404);
    expect(
      (await boss.post(`${pathOf({ ...other, name: 'shopify' })}/try`, { delivery: foreign.position })).status,
    ).toBe(404);
    expect((await boss.post(`${pathOf(to)}/try`, { delivery: '1' })).status).toBe(404);
    expect((await boss.post(`${pathOf(to)}/try`, {})).status).toBe(404);
  });
});
