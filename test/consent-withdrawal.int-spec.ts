import { randomUUID } from 'node:crypto';
import { allProjections } from '../src/app/projections.js';
import { ReplayDeliveries, type ReplayRequest } from '../src/delivery/replay-deliveries.command.js';
import { ReplayDeliveriesHandler } from '../src/delivery/replay-deliveries.handler.js';
import { CONVERSION } from '../src/events/conversion.events.js';
import { subjectOf } from '../src/kernel/email.js';
import { Sealer } from '../src/kernel/sealing.js';
import { PauseConnection, ResumeConnection } from '../src/sites/connections/connection.commands.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { StateConsent } from '../src/visitors/change-consent.command.js';
import { StateConsentHandler } from '../src/visitors/change-consent.handler.js';
import { Erasure } from '../src/visitors/erasure/erasure.js';
import { findOptOuts } from '../src/visitors/find-opt-outs.js';
import { loosely } from './support/loose-event.js';
import { SECRET_KEY } from './support/secret-key.js';
import { conversionId, post, send, type TestSite, useService } from './support/service.js';
import { eventually } from './support/waiting.js';
import { type Answer, startReceiver } from './support/webhook-receiver.js';

const IP = '203.0.113.77';
const CLICK = 'click-of-jane';

const { operator, service, openSite } = await useService({ DELIVERY_RETRY_SCHEDULE: '2s' });
const receiver = await startReceiver();
const secrets = new SiteSecrets(operator.postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
const erasure = new Erasure(operator.postgres, allProjections(secrets), async () => {});
let site: TestSite;
let people = 0;
let email: string;

afterAll(() => receiver.stop());
beforeEach(async () => {
  people += 1;
  email = `jane-${people}@example.com`;
  receiver.calls.length = 0;
  receiver.answer = accepting;
  site = await openSite();
  await operator.connect(site.host, 'meta', { pixel_id: '1', access_token: 'token' }, receiver.url);
  await service.refreshSites();
});

const accepting: Answer = (call, response) => {
  call.status = 200;
  response.writeHead(200, { 'content-type': 'application/json' }).end(`{"events_received":${itemsOf(call).length}}`);
};
const answering =
  (status: number, body: string): Answer =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
const itemsOf = ({ body }: { body: string }) => JSON.parse(body).data as unknown[];
const sent = () => receiver.calls.map(({ body }) => body);
const identified = (body: string) => body.includes(IP) || body.includes(CLICK);

async function convert(orderId: string): Promise<string> {
  const body = { email, event: 'purchase', value: 5, currency: 'EUR', orderId };
  return conversionId(await post(service, site, { ...body, ipAddress: IP, clickIds: { fbclid: CLICK } }));
}
const optOut = () =>
  new StateConsentHandler(operator.log).execute(new StateConsent('cli', site.host, subjectOf(email), 'denied'));

const outcomes = async (id: string) =>
  loosely(await operator.log.readStream(CONVERSION, id)).flatMap(({ type, data }) =>
    type === 'conversion.received.v1' || type === 'conversion.send_requested.v1'
      ? []
      : [`${type.split('.')[1]}${data['reason'] === undefined ? '' : ` ${data['reason']}`}`],
  );
const lastOutcome = (id: string, isExpected: (outcome: string) => boolean) =>
  eventually(
    async () => (await outcomes(id)).at(-1) ?? '',
    (outcome) => isExpected(outcome),
  );
const isFinal = (outcome: string) => /^(delivered|skipped|failed)/.test(outcome);

async function replay(options: Partial<ReplayRequest>): Promise<number> {
  const request = {
    ...{ site: site.host, platform: 'meta' as const, siteVersion: 1 },
    ...{ statuses: ['failed', 'skipped', 'queued'] as const, force: false, dryRun: false, nowMs: Date.now() },
    ...{ range: { after: 0, until: await operator.log.head() } },
    ...options,
  };
  const counts = await new ReplayDeliveriesHandler(operator.log).execute(new ReplayDeliveries('cli', request));
  return counts.requested;
}

describe.each([
  ['identifiers', 'delivered'],
  ['personal', 'skipped consent_denied'],
  ['everything', 'skipped consent_denied'],
])('a withdrawal of consent on a site that withholds %s', (withhold, end) => {
  beforeEach(async () => {
    await operator.set(site.host, 'withhold', withhold);
    await service.refreshSites();
  });

  it('stops identifiers of a delivery that is queued because its connection is paused', async () => {
    await operator.execute(new PauseConnection('cli', site.host, 'meta'));
    await service.refreshSites();
    const id = await convert('A');
    await optOut();
    await operator.execute(new ResumeConnection('cli', site.host, 'meta'));
    expect(await lastOutcome(id, isFinal)).toBe(end);
    expect(sent().filter(identified)).toEqual([]);
  });

  it('stops identifiers of a retry', async () => {
    receiver.answer = answering(429, '{}');
    const id = await convert('A');
    expect(await outcomes(id)).toEqual(['deferred throttled']);
    expect(sent().filter(identified)).toHaveLength(1);
    await optOut();
    receiver.answer = accepting;
    expect(await lastOutcome(id, isFinal)).toBe(end);
    expect(sent().slice(1).filter(identified)).toEqual([]);
  });

  it('stops identifiers of a bulk replay, and of a forced one', async () => {
    receiver.answer = answering(400, '{"error":{"message":"bad","code":100}}');
    const ids = [await convert('A'), await convert('B')];
    for (const id of ids) expect(await lastOutcome(id, isFinal)).toMatch(/^failed/);
    receiver.calls.length = 0;
    receiver.answer = accepting;
    await optOut();
    expect(await replay({})).toBe(2);
    for (const id of ids) expect(await lastOutcome(id, (last) => !last.startsWith('failed'))).toBe(end);
    expect(await replay({ force: true, range: { conversion: ids[0] as string } })).toBe(1);
    const ended = async () => (await outcomes(ids[0] as string)).length;
    await eventually(ended, 3);
    expect(await outcomes(ids[0] as string)).toEqual([expect.stringMatching(/^failed/), end, end]);
    expect(sent().filter(identified)).toEqual([]);
  });
});

it('a withdrawal of consent ends a retry that cannot be repeated with less, as it may have been accepted', async () => {
  receiver.answer = answering(500, '');
  const id = await convert('A');
  await optOut();
  receiver.answer = accepting;
  expect(await lastOutcome(id, isFinal)).toBe('skipped consent_denied');
  expect(sent()).toHaveLength(1);
});

it('a delivery waits while the newest consent cannot be read, and then sends what it allows', async () => {
  receiver.answer = answering(429, '{}');
  const id = await convert('A');
  await optOut();
  receiver.answer = accepting;
  const client = await operator.postgres.connect('slow');
  const lookups = async () =>
    (await operator.postgres.pool.query(`SELECT FROM pg_locks WHERE NOT granted AND relation = 'cc.consent'::regclass`))
      .rowCount;
  try {
    await client.query('BEGIN');
    await client.query('LOCK TABLE cc.consent');
    // The lookup of the retry ends without an answer.
    for (const waiting of [1, 0]) await eventually(lookups, waiting);
  } finally {
    await client.end();
  }
  expect(await lastOutcome(id, isFinal)).toBe('delivered');
  expect(await outcomes(id)).toEqual(['deferred throttled', 'delivered']);
  expect(sent()).toHaveLength(2);
  expect(sent().slice(1).filter(identified)).toEqual([]);
});

describe('a delivery that waits in memory for other requests', () => {
  /** Stores a conversion that waits until what happens meanwhile is done, and returns its last outcome. */
  async function endAfter(meanwhile: () => Promise<unknown>): Promise<string> {
    const held: (() => void)[] = [];
    receiver.answer = (call, response) => void held.push(() => accepting(call, response));
    const others = Array.from({ length: 8 }, async (_, index) => {
      const body = { email: `other-${index}@example.com`, event: 'purchase', value: 5, orderId: `O-${index}` };
      // One after the other, so that each has a request of its own.
      await eventually(
        async () => held.length,
        (length) => length >= index,
      );
      return post(service, site, body);
    });
    await eventually(() => held.length, 8);
    const waiting = convert('A');
    const stored = await eventually(
      async () => (await operator.conversions(site.host)).filter(({ data }) => data['orderId'] === 'A'),
      (events) => events.length > 0,
    );
    await meanwhile();
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    receiver.answer = accepting;
    for (const answer of held) answer();
    await Promise.all([...others, waiting]);
    return lastOutcome(stored[0]?.data['conversionId'] as string, isFinal);
  }

  it('is sent without identifiers after a withdrawal of consent', async () => {
    expect(await endAfter(optOut)).toBe('delivered');
    expect(sent()).toHaveLength(9);
    expect(sent().filter(identified)).toEqual([]);
  });

  it.each(['granted', 'denied'])('is not sent after an erasure of the person, whose consent is %s', async (consent) => {
    if (consent === 'denied') await optOut();
    const erase = () => erasure.erase('cli', site.host, subjectOf(email));
    expect(await endAfter(erase)).toBe('failed erased');
    expect(sent()).toHaveLength(8);
  });
});

it('a withdrawal of consent is found among any number of statements, and taken back by an operator only', async () => {
  const find = async () => [...(await findOptOuts(operator.postgres)(site.host, [subjectOf(email), 'f'.repeat(64)]))];
  const headers = { Host: site.host, Origin: `https://${site.host}`, 'Content-Type': 'text/plain' };
  const state = async (consent: object) => {
    const body = JSON.stringify({ v: 1, visitor: randomUUID(), hash: subjectOf(email), consent });
    expect((await send(service, { method: 'POST', path: '/__cc/consent', headers, body })).status).toBe(204);
  };
  expect(await find()).toEqual([]);
  await state({ ad_storage: 'denied' });
  expect(await find()).toEqual([subjectOf(email)]);
  for (let call = 0; call < 3; call += 1) await state({ ad_storage: 'granted', ad_user_data: 'granted' });
  expect(await find()).toEqual([subjectOf(email)]);
  const granted = new StateConsent('cli', site.host, subjectOf(email), 'granted');
  await new StateConsentHandler(operator.log).execute(granted);
  expect(await find()).toEqual([]);
  await state({ gpc: true });
  expect(await find()).toEqual([subjectOf(email)]);
});
