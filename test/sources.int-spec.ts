import { followSite } from '../src/conversions/follow-site.js';
import { DeliveryOutdated, type ReceiveConversion } from '../src/conversions/receive-conversion.command.js';
import { ConversionReceiver, receivedOf } from '../src/conversions/receive-conversion.handler.js';
import { SourceDeliveries } from '../src/conversions/sources/source-deliveries.js';
import { type Delivery, storedDelivery } from '../src/conversions/sources/source-delivery.js';
import type { StoredEvent } from '../src/log/event.js';
import type { LoadedSource } from '../src/sites/sources/loaded-source.js';
import { RotateSource } from '../src/sites/sources/source.commands.js';
import { Matcher } from '../src/visitors/matcher.js';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folders.js';
import { SECRET_KEY } from './support/secret-key.js';
import { post, send, type TestSite, useService } from './support/service.js';
import {
  bodyOf,
  type ConnectedSource,
  connectSource,
  deliver as deliverTo,
  FIRST,
  fixtureOf,
  play as playTo,
  SOURCE_SECRET as SECRET,
  type Sent,
  sourceOf,
} from './support/source-deliveries.js';

const { databaseUrl, operator, service, openSite } = await useService();
const environment = {
  DATABASE_URL: databaseUrl,
  SECRET_KEY,
  PORT: String(service.port),
  DATA_DIR: temporaryFolder('cc-sources-'),
};
const { run, json } = commandLine(environment);

async function connected(name: string, settings: Record<string, string> = {}): Promise<ConnectedSource> {
  const to = await connectSource(operator, await openSite(settings), name);
  await service.refreshSites();
  return to;
}

const deliver = (to: ConnectedSource, raw: string, topic: string, sent?: Sent) =>
  deliverTo(service, to, raw, topic, sent);
const play = (to: ConnectedSource, fixture: string, sent?: Sent) => playTo(service, to, fixture, sent);
const ignored = async ({ host }: TestSite) => operator.log.read({ categories: ['inbound'], site: host });

describe.each(FIRST)('a delivery of %s', (name, fixture) => {
  it('with a valid signature becomes the documented conversion', async () => {
    const to = await connected(name);
    const reply = await play(to, fixture);
    expect([reply.status, bodyOf(reply)]).toEqual([
      200,
      { ok: true, outcome: 'received', conversionId: expect.any(String) },
    ]);
    const [event, ...others] = await operator.conversions(to.site.host);
    expect(others).toEqual([]);
    const { email: _, ...documented } = fixtureOf(name, fixture).conversion;
    expect(event).toMatchObject({
      type: 'conversion.received.v1',
      actor: `key:${to.keyId}`,
      data: { ...documented, keyId: to.keyId, delivery: { source: name, digest: expect.any(String) } },
      personal: {
        subject: expect.stringMatching(/^[0-9a-f]{64}$/),
        delivery: { values: expect.any(Object), shape: expect.any(Object) },
      },
    });
    // Shopify documents a phone with letters.
    expect(event?.data['dropped']).toEqual(name === 'shopify' ? ['phone'] : undefined);
    expect(JSON.stringify(event)).not.toContain('@');
  });

  it('is stored once, however often it is sent', async () => {
    const to = await connected(name);
    const replies = await Promise.all(Array.from({ length: 4 }, () => play(to, fixture)));
    replies.push(await play(to, fixture));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const outcomes = replies.map((reply) => bodyOf(reply)['outcome']);
    expect(outcomes.sort()).toEqual(['received', 'repeated', 'repeated', 'repeated', 'repeated'].sort());
    expect(await operator.conversions(to.site.host)).toHaveLength(1);
    expect(await ignored(to.site)).toEqual([]);
  });

  it('is one conversion with the same order sent to inbound', async () => {
    const to = await connected(name);
    const { event, value, currency, orderId } = fixtureOf(name, fixture).conversion;
    await post(service, to.site, { email: 'jane@example.com', event, value, currency, orderId });
    expect(bodyOf(await play(to, fixture))).toMatchObject({ outcome: 'deduplicated' });
    const types = (await operator.conversions(to.site.host)).map(({ type }) => type);
    expect(types).toEqual(['conversion.received.v1', 'conversion.deduplicated.v1']);
  });

  it('is accepted with the secret before until the overlap ends', async () => {
    const to = await connected(name);
    const until = new Date(operator.postgres.clock.nowMs() + 3_600_000).toISOString();
    await operator.execute(new RotateSource('cli', to.site.host, name, 'another-secret', until));
    await service.refreshSites();
    expect((await play(to, fixture)).status).toBe(200);
    expect((await play(to, fixture, { secret: 'another-secret' })).status).toBe(200);
    const past = new Date(operator.postgres.clock.nowMs() - 1).toISOString();
    await operator.execute(new RotateSource('cli', to.site.host, name, 'a-third-secret', past));
    await service.refreshSites();
    expect((await play(to, fixture, { secret: 'another-secret' })).status).toBe(sourceOf(name).refusalStatus);
    expect((await play(to, fixture, { secret: 'a-third-secret' })).status).toBe(200);
  });
});

it('stores a further delivery of an order with the conversion that it has', async () => {
  const to = await connected('shopify', { 'dedup-window': '0s' });
  const first = bodyOf(await play(to, 'orders-create'));
  expect(first).toMatchObject({ outcome: 'received' });
  const second = bodyOf(await play(to, 'orders-paid'));
  expect(second).toEqual({ ok: true, outcome: 'ignored', reason: 'order_known', conversionId: first['conversionId'] });
  expect(await operator.conversions(to.site.host)).toHaveLength(1);
  expect(await ignored(to.site)).toMatchObject([
    {
      type: 'inbound.delivery_ignored.v1',
      data: { reason: 'order_known', topic: 'orders/paid', conversionId: first['conversionId'] },
    },
  ]);
});

it('stores a delivery that is no conversion, with the reason and without personal values', async () => {
  const to = await connected('woocommerce');
  const { raw, topic } = fixtureOf('woocommerce', 'order.created');
  const pending = raw.replace('"status": "processing"', '"status": "pending"');
  for (const outcome of ['ignored', 'repeated'])
    expect(bodyOf(await deliver(to, pending, topic))).toMatchObject({ ok: true, outcome });
  const [event, ...others] = await ignored(to.site);
  expect(others).toEqual([]);
  expect(event).toMatchObject({
    data: { source: 'woocommerce', topic, reason: 'condition', keyId: to.keyId },
    personal: {
      subject: expect.stringMatching(/^[0-9a-f]{64}$/),
      delivery: { values: { '/status': 'pending', '/total': '29.35' } },
    },
  });
  expect(JSON.stringify(event)).not.toMatch(/john|doe@|555/i);
});

it('answers the unsigned request by which WooCommerce tries an address out', async () => {
  const { site, keyId } = await connected('woocommerce');
  const headers = { Host: site.host, 'Content-Type': 'application/x-www-form-urlencoded' };
  const path = `/__cc/sources/woocommerce/${keyId}`;
  expect((await send(service, { method: 'POST', path, headers, body: 'webhook_id=12' })).status).toBe(200);
  expect((await send(service, { method: 'POST', path, headers, body: 'webhook_id=12&x=1' })).status).toBe(401);
});

it('makes a refund a correction of its order, also if it does not say whose it is', async () => {
  const to = await connected('shopify');
  expect(bodyOf(await play(to, 'refunds-create'))).toMatchObject({ outcome: 'ignored', reason: 'no_refund_event' });
  await operator.connect(
    to.site.host,
    'ga4',
    { measurement_id: 'G-ABC1234', api_secret: 's', refund_event: 'refund' },
    'http://127.0.0.1:9',
  );
  await service.refreshSites();
  const { raw, topic } = fixtureOf('shopify', 'refunds-create');
  const other = raw.replace('"order_id": 820982911946154508,\n', '"order_id": 1,\n');
  expect(bodyOf(await deliver(to, other, topic))).toMatchObject({ outcome: 'ignored', reason: 'order_unknown' });
  await play(to, 'orders-paid');
  expect(bodyOf(await play(to, 'refunds-create'))).toMatchObject({ outcome: 'corrected' });
  expect(bodyOf(await play(to, 'refunds-create'))).toMatchObject({ outcome: 'repeated' });
  const [order, refund] = await operator
    .conversions(to.site.host)
    .then((events) => events.filter(({ type }) => type === 'conversion.received.v1'));
  expect(refund).toMatchObject({ data: { correction: true, value: 199, orderId: '820982911946154508' } });
  expect(refund?.personal?.['subject']).toBe(order?.personal?.['subject']);
});

it('accepts the secret itself from tools that do not sign', async () => {
  const to = await connected('segment');
  const { raw } = fixtureOf('segment', 'order-completed');
  const path = `/__cc/sources/segment/${to.keyId}`;
  const request = (secret: string) =>
    send(service, {
      method: 'POST',
      path,
      body: raw,
      headers: { Host: to.site.host, Authorization: `Bearer ${secret}` },
    });
  expect((await request('wrong')).status).toBe(401);
  expect((await request(SECRET)).status).toBe(200);
});

describe('the command line', () => {
  it('connects a source, shows its rules and disconnects it', async () => {
    const { host } = await openSite();
    const { id, url, secret, state } = await json(`sources connect segment --site ${host}`);
    expect(url).toBe(`https://${host}/__cc/sources/segment/${id}`);
    expect([state, typeof secret]).toEqual(['active', 'string']);
    const shown = await json(`sources show segment --site ${host}`);
    expect(shown).toMatchObject({ id, url, state, rules: { 'Order Completed': { event: "'purchase'" } } });
    expect(JSON.stringify(shown)).not.toContain(secret);
    expect(await json(`sources list --site ${host}`)).toMatchObject([{ id, source: 'segment' }]);
    await json(`sources disconnect segment --site ${host} --yes`);
    expect(await json(`sources list --site ${host}`)).toEqual([]);
    await service.refreshSites();
    const path = new URL(url).pathname;
    expect((await send(service, { method: 'POST', path, body: '{}', headers: { Host: host } })).status).toBe(404);
  });

  it('gives the URL of a source before its sender makes a secret', async () => {
    const { host } = await openSite();
    const { id, url, secret, state } = await json(`sources connect stripe --site ${host}`);
    expect([state, secret]).toEqual(['no_secret', undefined]);
    await service.refreshSites();
    const to = { site: { host } as TestSite, keyId: id, name: 'stripe' };
    expect((await play(to, 'checkout.session.completed')).status).toBe(401);
    const again = await json(`sources connect stripe --site ${host} --set secret=${SECRET}`);
    expect(again).toMatchObject({ id, url, state: 'active' });
    await service.refreshSites();
    expect((await play(to, 'checkout.session.completed')).status).toBe(200);
  });

  it.each(FIRST)('plays a documented delivery of %s', async (name, fixture) => {
    const { site } = await connected(name);
    const played = await json(`sources trigger ${name} ${fixture} --site ${site.host}`);
    expect(played).toEqual({ status: 200, ok: true, outcome: 'received', conversionId: expect.any(String) });
    expect(await operator.conversions(site.host)).toHaveLength(1);
  });

  it('names what is wrong with a rule, and changes nothing', async () => {
    const { site } = await connected('shopify');
    const { code, stderr } = await run(`sources set shopify --site ${site.host} --map`, 'orders/paid:value=total');
    expect([code, stderr]).toEqual([1, expect.stringContaining('orders/paid:value "total" is neither a JSON pointer')]);
    expect((await json(`sources show shopify --site ${site.host}`)).mapping).toEqual({});
  });

  it('applies changed rules to stored deliveries, after a dry run, and once', async () => {
    const to = await connected('woocommerce');
    const { raw, topic } = fixtureOf('woocommerce', 'order.created');
    await deliver(to, raw.replace('"status": "processing"', '"status": "on-hold"'), topic);
    const apply = (...words: string[]) => json(`sources apply woocommerce --site ${to.site.host}`, ...words);
    const nothing = { deliveries: 1, converted: 0, erased: 0, reasons: { condition: 1 } };
    expect(await apply()).toEqual(nothing);
    await json(`sources set woocommerce --site ${to.site.host} --map`, 'order.created:when=/status = on-hold');
    await service.refreshSites();
    expect(await apply('--dry-run')).toEqual({ ...nothing, converted: 1, reasons: {}, dryRun: true });
    expect(await operator.conversions(to.site.host)).toEqual([]);
    expect(await apply()).toEqual({ ...nothing, converted: 1, reasons: {} });
    expect(await apply()).toEqual({ ...nothing, reasons: { order_known: 1 } });
    const { email: _, ...documented } = fixtureOf('woocommerce', 'order.created').conversion;
    const events = await operator.conversions(to.site.host);
    expect(events).toMatchObject([{ type: 'conversion.received.v1', data: documented }]);
    const [stored] = await ignored(to.site);
    const hashes = ({ delivery: _delivery, payloadKey: _key, address: _address, ...others }: Record<string, unknown>) =>
      others;
    expect(hashes(events[0]?.personal as Record<string, unknown>)).toEqual(hashes(stored?.personal as never));
  });

  it('applies no rules to the delivery of a person who was erased', async () => {
    const to = await connected('woocommerce');
    const { raw, topic } = fixtureOf('woocommerce', 'order.created');
    await deliver(to, raw.replace('"status": "processing"', '"status": "on-hold"'), topic);
    const [before] = await ignored(to.site);
    expect(before?.personal).not.toBeNull();
    await json(`visitors erase --site ${to.site.host} --email john.doe@example.com --yes`);
    expect((await ignored(to.site)).find(({ type }) => type === 'inbound.delivery_ignored.v1')?.personal).toBeNull();
    await json(`sources set woocommerce --site ${to.site.host} --map`, 'order.created:when=');
    expect(await json(`sources apply woocommerce --site ${to.site.host}`)).toMatchObject({ converted: 0, erased: 1 });
    expect(await operator.conversions(to.site.host)).toEqual([]);
  });
});

it('does not bring back what an erasure has deleted while rules are applied', async () => {
  const to = await connected('woocommerce');
  const { raw, topic } = fixtureOf('woocommerce', 'order.created');
  await deliver(to, raw.replace('"status": "processing"', '"status": "on-hold"'), topic);
  await json(`sources set woocommerce --site ${to.site.host} --map`, 'order.created:when=');
  const { log, postgres, settings } = service.services;
  const site = (await followSite(service.services, to.site.host))();
  const source = site.sources.get(to.keyId) as LoadedSource;
  const matcher = new Matcher(postgres, () => {});
  const receiver = new ConversionReceiver(log, matcher, postgres.clock);
  const receive = async (command: ReceiveConversion) => receivedOf(await receiver.receive(command), {});
  const deliveries = new SourceDeliveries({ log, clock: postgres.clock, rules: settings, receive });
  const readAt = await log.head();
  const [event] = (await ignored(to.site)) as StoredEvent<'inbound.delivery_ignored.v1'>[];
  const delivery = storedDelivery(source, event?.data as never, event?.personal as never) as Delivery;
  await json(`visitors erase --site ${to.site.host} --email john.doe@example.com --yes`);
  await expect(deliveries.store(site, source, { ...delivery, readAt })).rejects.toThrow(DeliveryOutdated);
  await matcher.close();
  expect(await operator.conversions(to.site.host)).toEqual([]);
});
