import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer } from './support/postgres-server.js';
import { conversionId, getReceipt, metrics, post, type Reply, send, useService } from './support/service.js';
import { bodyOf, connectSource, FIRST, play } from './support/source-deliveries.js';
import { eventually, runConcurrently } from './support/waiting.js';

const purchase = ({ orderId = randomUUID() as string } = {}) => ({
  email: 'jane@example.com',
  event: 'purchase',
  value: 12.5,
  orderId,
});

const server = await startTestServer();
const { operator, service, openSite } = await useService({}, { server });
const site = await openSite();
afterAll(() => server.stop());

describe('the service while PostgreSQL is unavailable', () => {
  const UNAVAILABLE = {
    status: 503,
    type: 'application/json; charset=utf-8',
    body: JSON.stringify({ ok: false, error: 'Temporarily unavailable: send the conversion again' }),
  };
  const ready = async () => (await send(service, { path: '/readyz' })).status;

  it('answers 503 with Retry-After, then recovers without losing an acknowledged conversion', async () => {
    const acknowledged: { orderId: string; id: string }[] = [];
    const refused: string[] = [];
    const unexpected: Reply[] = [];
    let refusals = 0;
    let posting = true;
    /** Whether the answer is a 200. Answers other than 200 and 503 are collected and fail the test at its end. */
    const isAccepted = (reply: Reply): boolean => {
      if (reply.status === 503) {
        refusals += 1;
        expect(reply).toMatchObject(UNAVAILABLE);
        expect(reply.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      } else if (reply.status !== 200) unexpected.push(reply);
      return reply.status === 200;
    };
    const sender = async () => {
      while (posting) {
        const orderId = randomUUID();
        const reply = await post(service, site, purchase({ orderId }));
        if (!isAccepted(reply)) {
          refused.push(orderId);
          await sleep(20);
          continue;
        }
        acknowledged.push({ orderId, id: conversionId(reply) });
        // A duplicate and a receipt read the log; a new conversion only appends to it.
        isAccepted(await post(service, site, purchase({ orderId })));
        isAccepted(await getReceipt(service, site, `/${conversionId(reply)}`));
      }
    };
    const refuse = async (orderId: string) => {
      expect(isAccepted(await post(service, site, purchase({ orderId })))).toBe(false);
      expect(isAccepted(await getReceipt(service, site, `?orderId=${orderId}`))).toBe(false);
      return orderId;
    };
    const sending = Promise.all(Array.from({ length: 10 }, sender));
    const atLeast = (count: number) =>
      eventually(
        async () => acknowledged.length,
        (length) => length >= count,
      );
    await atLeast(50);
    await server.kill9();
    await eventually(ready, 503);
    // From then on it no longer accepts a key without reading the log, and rejects at once instead of waiting.
    await eventually(() => service.hasFreshSites(), false);
    refused.push(...(await runConcurrently(3, [randomUUID(), randomUUID(), randomUUID()], refuse)));
    expect((await send(service, { path: '/healthz' })).status).toBe(200);
    const until = acknowledged.length + 50;
    await server.restart();
    await eventually(ready, 200);
    await atLeast(until);
    posting = false;
    await sending;
    expect(unexpected.map(({ status, body }) => [status, body])).toEqual([]);
    expect((await metrics(service)).get('cc_inbound_requests_total{outcome="unavailable"}')).toBe(refusals);

    const again = await runConcurrently(10, refused, (orderId) => post(service, site, purchase({ orderId })));
    expect(again.every(({ status }) => status === 200)).toBe(true);
    const events = await operator.conversions(site.host);
    const ids = new Set(events.map(({ data }) => data['conversionId']));
    expect(acknowledged.filter(({ id }) => !ids.has(id))).toEqual([]);
    const received = events.filter(({ type }) => type === 'conversion.received.v1').map(({ data }) => data['orderId']);
    expect(received.sort()).toEqual([...acknowledged.map(({ orderId }) => orderId), ...refused].sort());
  });

  it('answers POSTs and receipts with 503 within their timeout when the server is suspended', async () => {
    const body = purchase();
    const first = await post(service, site, body);
    server.freeze();
    try {
      const answers = await Promise.all([
        post(service, site, purchase()),
        post(service, site, body),
        getReceipt(service, site, `/${conversionId(first)}`),
        getReceipt(service, site, `?orderId=${body.orderId}`),
        eventually(ready, 503).then(() => post(service, site, purchase())),
      ]);
      for (const answer of answers) expect(answer).toMatchObject(UNAVAILABLE);
    } finally {
      server.thaw();
    }
    await eventually(ready, 200);
    await eventually(() => post(service, site, purchase()), { status: 200 });
    expect((await getReceipt(service, site, `/${conversionId(first)}`)).body).toBe(first.body);
  });

  it('answers authentic deliveries of sources with 503, and stores each once when it is repeated', async () => {
    const { host } = site;
    const before = (await operator.conversions(host)).length;
    const sources = [];
    for (const [name, fixture] of FIRST) sources.push({ to: await connectSource(operator, site, name), fixture });
    await service.refreshSites();
    server.freeze();
    try {
      const replies = await Promise.all(sources.map(({ to, fixture }) => play(service, to, fixture)));
      for (const reply of replies)
        expect(reply).toMatchObject({
          ...UNAVAILABLE,
          headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
        });
    } finally {
      server.thaw();
    }
    await eventually(ready, 200);
    for (const { to, fixture } of sources) {
      const reply = await eventually(() => play(service, to, fixture), { status: 200 });
      // The commit may have been without an answer.
      expect(['received', 'repeated']).toContain(bodyOf(reply)['outcome']);
      expect(bodyOf(await play(service, to, fixture))).toMatchObject({ outcome: 'repeated' });
    }
    expect((await operator.conversions(host)).length - before).toBe(FIRST.length);
    expect(await operator.log.read({ categories: ['inbound'], site: host })).toEqual([]);
  });
});
