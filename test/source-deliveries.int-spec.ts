import { AddSite, EnableInbound, PauseSite, RemoveSite, ResumeSite } from '../src/sites/site.commands.js';
import { DisconnectSource, RotateSource } from '../src/sites/sources/source.commands.js';
import { commandLine } from './support/command-line.js';
import { SECRET_KEY } from './support/secret-key.js';
import { openSocket, type Reply, startTestService, useService } from './support/service.js';
import {
  bodyOf,
  type ConnectedSource,
  connectSource,
  deliver,
  FIRST,
  fixtureOf,
  play,
  rawDelivery,
  type Sent,
} from './support/source-deliveries.js';

const { databaseUrl, operator, service, openSite } = await useService();
const { json } = commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY });

async function connected(name: string, settings: Record<string, string> = {}): Promise<ConnectedSource> {
  const to = await connectSource(operator, await openSite(settings), name);
  await service.refreshSites();
  return to;
}

/** Types of what is stored of deliveries to the site. */
async function stored({ site: { host } }: ConnectedSource): Promise<string[]> {
  const events = await operator.log.read({ categories: ['conversion', 'inbound'], site: host });
  return events.map(({ type }) => type);
}

const received = (reply: Reply) => expect([reply.status, bodyOf(reply)]).toMatchObject([200, { outcome: 'received' }]);
const repeated = (reply: Reply) => expect([reply.status, bodyOf(reply)]).toMatchObject([200, { outcome: 'repeated' }]);

/** What a sender repeats: with Retry-After, and nothing is stored. */
async function refusedForNow(to: ConnectedSource, reply: Reply): Promise<void> {
  expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) } });
  expect(await stored(to)).toEqual([]);
}

describe.each(FIRST)('a delivery of %s', (name, fixture) => {
  it('that two instances receive at once is one conversion', async () => {
    const to = await connected(name);
    const second = await startTestService(databaseUrl);
    try {
      const replies = await Promise.all([service, second, service, second].map((each) => play(each, to, fixture)));
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      const outcomes = replies.map((reply) => bodyOf(reply)['outcome']).sort();
      expect(outcomes).toEqual(['received', 'repeated', 'repeated', 'repeated']);
      expect(await stored(to)).toEqual(['conversion.received.v1']);
    } finally {
      await second.stop();
    }
  });

  it('is refused while the site is paused, and its repetition is a conversion', async () => {
    const to = await connected(name);
    await operator.execute(new PauseSite('cli', to.site.host));
    await service.refreshSites();
    await refusedForNow(to, await play(service, to, fixture));
    await operator.execute(new ResumeSite('cli', to.site.host));
    await service.refreshSites();
    received(await play(service, to, fixture));
    repeated(await play(service, to, fixture));
    expect(await stored(to)).toEqual(['conversion.received.v1']);
  });

  it('of a site that was removed and added again is unknown until its new address is used', async () => {
    const to = await connected(name);
    received(await play(service, to, fixture));
    const { host } = to.site;
    await operator.execute(new RemoveSite('cli', host));
    await operator.execute(new AddSite('cli', host));
    await operator.execute(new EnableInbound('cli', host));
    await service.refreshSites();
    expect((await play(service, to, fixture)).status).toBe(404);
    // The same secret, because the sender may keep it.
    const again = await connectSource(operator, to.site, name);
    await service.refreshSites();
    expect(again.keyId).not.toBe(to.keyId);
    expect((await play(service, to, fixture)).status).toBe(404);
    expect(await stored(to)).toEqual(['conversion.received.v1']);
    received(await play(service, again, fixture));
    repeated(await play(service, again, fixture));
    expect(await stored(to)).toEqual(['conversion.received.v1', 'conversion.received.v1']);
    const { checks } = await json('history verify');
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  });

  it('stays erased when it is repeated, and its order stays known', async () => {
    const to = await connected(name);
    received(await play(service, to, fixture));
    const { email } = fixtureOf(name, fixture).conversion;
    expect(await json(`visitors erase --site ${to.site.host} --email ${email} --yes`)).toMatchObject({ events: 1 });
    repeated(await play(service, to, fixture));
    const [event, ...others] = await operator.conversions(to.site.host);
    expect([event?.personal, others]).toEqual([null, []]);
  });
});

it('is one event, also if two instances receive a delivery at once that is no conversion', async () => {
  const to = await connected('woocommerce');
  const { raw, topic } = fixtureOf('woocommerce', 'order.created');
  const pending = raw.replace('"status": "processing"', '"status": "pending"');
  const second = await startTestService(databaseUrl);
  try {
    const replies = await Promise.all(
      [service, second, service, second].map((each) => deliver(each, to, pending, topic)),
    );
    const outcomes = replies.map((reply) => bodyOf(reply)['outcome']).sort();
    expect(outcomes).toEqual(['ignored', 'repeated', 'repeated', 'repeated']);
    expect(await stored(to)).toEqual(['inbound.delivery_ignored.v1']);
  } finally {
    await second.stop();
  }
});

it('two deliveries of one order, each received by an instance at once, are one conversion', async () => {
  const to = await connected('shopify');
  const second = await startTestService(databaseUrl);
  try {
    const replies = await Promise.all([
      play(service, to, 'orders-create'),
      play(second, to, 'orders-paid'),
      play(second, to, 'orders-create'),
      play(service, to, 'orders-paid'),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const types = await stored(to);
    expect(types.filter((type) => type === 'conversion.received.v1')).toHaveLength(1);
    expect(types.length).toBeLessThanOrEqual(2);
  } finally {
    await second.stop();
  }
});

describe('the erasure of a person between two deliveries of one order', () => {
  const erase = (to: ConnectedSource) =>
    json(`visitors erase --site ${to.site.host} --email jon@example.com --yes`) as Promise<{ events: number }>;

  it('leaves the order known: the second one is no conversion', async () => {
    const to = await connected('shopify', { 'dedup-window': '0s' });
    const first = bodyOf(await play(service, to, 'orders-create'));
    expect(await erase(to)).toMatchObject({ events: 1 });
    const second = bodyOf(await play(service, to, 'orders-paid'));
    expect(second).toMatchObject({ outcome: 'ignored', reason: 'order_known', conversionId: first['conversionId'] });
    const [conversion, ...others] = await operator.conversions(to.site.host);
    expect([conversion?.personal, others]).toEqual([null, []]);
    // What arrives after an erasure is stored, and another one deletes it.
    expect(await erase(to)).toMatchObject({ events: 1 });
    const [ignored] = await operator.log.read({ types: ['inbound.delivery_ignored.v1'], site: to.site.host });
    expect(ignored?.personal).toBeNull();
  });

  it('leaves a refund that does not say whose it is without a person', async () => {
    const to = await connected('shopify');
    const ga4 = { measurement_id: 'G-ABC1234', api_secret: 's', refund_event: 'refund' };
    await operator.connect(to.site.host, 'ga4', ga4, 'http://127.0.0.1:9');
    await service.refreshSites();
    received(await play(service, to, 'orders-paid'));
    await erase(to);
    expect(bodyOf(await play(service, to, 'refunds-create'))).toMatchObject({ outcome: 'ignored' });
    const [ignored] = await operator.log.read({ types: ['inbound.delivery_ignored.v1'], site: to.site.host });
    expect(Object.keys(ignored?.personal ?? {})).toEqual(['delivery']);
  });
});

describe('the clock of the service', () => {
  const { clock } = service.services.postgres;
  const { nowMs } = clock;
  afterEach(() => Object.assign(clock, { nowMs }));
  const setAhead = (ms: number) => Object.assign(clock, { nowMs: () => Date.now() + ms });

  it.each([
    ['ahead', 301_000],
    ['behind', -301_000],
  ])('refuses deliveries of Stripe while it is five minutes %s, and loses none that is repeated', async (_, ms) => {
    const to = await connected('stripe');
    setAhead(ms);
    const reply = await play(service, to, 'checkout.session.completed');
    expect([reply.status, bodyOf(reply)]).toEqual([400, { ok: false, error: 'The signature has expired' }]);
    expect(await stored(to)).toEqual([]);
    setAhead(0);
    received(await play(service, to, 'checkout.session.completed'));
    expect(await stored(to)).toEqual(['conversion.received.v1']);
  });

  it('does not concern the others, and rules are applied later to an order whose time was ahead', async () => {
    const to = await connected('segment');
    const { raw, topic } = fixtureOf('segment', 'order-completed');
    const now = raw.replace(/"timestamp": "[^"]+"/, `"timestamp": "${new Date().toISOString()}"`);
    setAhead(-3_600_000);
    expect(bodyOf(await deliver(service, to, now, topic))).toMatchObject({ outcome: 'ignored', reason: 'occurredAt' });
    setAhead(0);
    const applied = await json(`sources apply segment --site ${to.site.host}`);
    expect(applied).toMatchObject({ deliveries: 1, converted: 1 });
    repeated(await deliver(service, to, now, topic));
    expect(await stored(to)).toEqual(['inbound.delivery_ignored.v1', 'conversion.received.v1']);
  });
});

describe('a delivery whose end arrives late', () => {
  const CONTINUE = /^HTTP\/1\.1 100 Continue\r\n\r\n/;

  /** The status of the answer to a delivery whose end arrives when a change that was made after its headers is in force. */
  async function changedMeanwhile(to: ConnectedSource, change: () => Promise<unknown>, sent?: Sent): Promise<number> {
    const text = rawDelivery(to, 'order-completed', sent);
    const socket = await openSocket(service);
    const end = text.length - 10;
    socket.write(text.slice(0, end).replace('\r\n', '\r\nExpect: 100-continue\r\n'));
    await socket.until(CONTINUE);
    await change();
    await service.refreshSites();
    socket.write(text.slice(end));
    const answer = await socket.until(new RegExp(`${CONTINUE.source}HTTP/1\\.1 \\d{3}[\\s\\S]*\r\n\r\n`));
    socket.socket.destroy();
    return Number(answer.replace(CONTINUE, '').slice('HTTP/1.1 '.length).slice(0, 3));
  }

  const rotate = (to: ConnectedSource, overlapMs: number) => {
    const until = new Date(operator.postgres.clock.nowMs() + overlapMs).toISOString();
    return operator.execute(new RotateSource('cli', to.site.host, to.name, 'another-secret', until));
  };

  it.each<[string, number, (to: ConnectedSource) => Promise<unknown>]>([
    ['is stored if its secret was replaced meanwhile and the overlap lasts', 200, (to) => rotate(to, 3_600_000)],
    ['is refused if its secret was replaced meanwhile without an overlap', 401, (to) => rotate(to, -1)],
    [
      'is refused if the source was disconnected meanwhile',
      404,
      ({ site }) => operator.execute(new DisconnectSource('cli', site.host, 'segment')),
    ],
    [
      'is refused if the site was paused meanwhile',
      503,
      ({ site }) => operator.execute(new PauseSite('cli', site.host)),
    ],
  ])('%s', async (_, status, change) => {
    const to = await connected('segment');
    expect(await changedMeanwhile(to, () => change(to))).toBe(status);
    expect(await stored(to)).toEqual(status === 200 ? ['conversion.received.v1'] : []);
  });

  it('is verified by the secret that is in force at its end', async () => {
    const to = await connected('segment');
    expect(await changedMeanwhile(to, () => rotate(to, -1), { secret: 'another-secret' })).toBe(200);
    expect(await stored(to)).toEqual(['conversion.received.v1']);
  });
});
