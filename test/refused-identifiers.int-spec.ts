import { CONVERSION } from '../src/events/conversion.events.js';
import { shadowReplay } from '../src/history/shadow/shadow-replay.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { createDatabase } from './support/databases.js';
import { loosely } from './support/loose-event.js';
import {
  conversionId,
  type Operator,
  openOperator,
  post,
  startTestService,
  type TestService,
} from './support/service.js';
import { eventually } from './support/waiting.js';

const GOOGLE = {
  customer_id: '1234567890',
  client_id: 'c',
  client_secret: 's',
  refresh_token: 'r',
  'event.purchase': '111',
};
/** Google refuses the code of the address, and needs none beside the email. */
const PERSON = { email: 'jane@example.com', firstName: 'Jane', lastName: 'Doe', country: 'US', postalCode: 'nowhere' };

let sandbox: RunningSandbox;
let operator: Operator;
let service: TestService;

beforeAll(async () => {
  sandbox = await new Sandbox().start();
  const databaseUrl = await createDatabase();
  operator = await openOperator(databaseUrl);
  service = await startTestService(
    databaseUrl,
    {
      DELIVERY_RETRY_SCHEDULE: '1h',
      INBOUND_DEADLINE: '30s',
    },
    {},
    { confirmationPollMs: 1_000 },
  );
});
afterAll(async () => {
  await service?.stop();
  await operator?.close();
  await sandbox?.stop();
});

it('a conversion whose postal code Google refuses is delivered without it, under the same id', async () => {
  const site = await operator.openSite();
  await operator.connect(site.host, 'google_ads', GOOGLE, `${sandbox.url}/google_ads@${site.host}`);
  await service.refreshSites();
  const reply = await post(service, site, { event: 'purchase', value: 5, currency: 'EUR', orderId: 'A1', ...PERSON });
  expect(JSON.parse(reply.body).results.google_ads).toEqual({
    ok: false,
    status: 'queued',
    reason: 'identifier_refused',
  });

  const read = async () => loosely(await operator.log.readStream(CONVERSION, conversionId(reply)));
  const events = await eventually(read, (found) => found.some(({ type }) => type === 'conversion.accepted.v1'));
  const [refused, accepted] = ['deferred', 'accepted'].map(
    (status) => events.find(({ type }) => type === `conversion.${status}.v1`)?.data,
  );
  expect(refused).toMatchObject({ attempt: 1, status: 'deferred', without: ['address'], httpStatus: 400 });
  expect(accepted).toMatchObject({ attempt: 2, without: ['address'], bodySha256: refused?.['bodySha256'] });

  const answer = await fetch(`${sandbox.url}/ledger?platform=google_ads&tenant=${site.host}`);
  const { recent } = (await answer.json()) as { recent: { received: { eventId: string; accepted: boolean }[] }[] };
  const received = recent.flatMap(({ received }) => received).map(({ eventId, accepted }) => `${eventId} ${accepted}`);
  expect(received.toSorted()).toEqual(['A1 false', 'A1 true']);

  // A shadow replay of unchanged rules leaves it out, too.
  const client = await operator.postgres.connect('test');
  const range = { after: 0, until: await operator.log.head() };
  const stored = await new SiteRepository(operator.log).get(site.host);
  const request = { ...range, site: stored, rules: { settings: {} }, dedupSecret: 's' };
  const ages = { defaultWindowMs: 0, giveUpMs: 86_400_000 };
  const { platforms } = await shadowReplay(operator.log, client, { ...request, ...ages }).finally(() => client.end());
  const sent = { sent: 1 };
  expect(platforms['google_ads']).toEqual({ was: sent, would: sent, changes: [], payloadsChanged: 0 });
});

it('a conversion whose click id Google refuses later is sent again without it, once, under the same id', async () => {
  const site = await operator.openSite();
  await operator.connect(site.host, 'google_ads', GOOGLE, `${sandbox.url}/google_ads@${site.host}`);
  await service.refreshSites();
  const behaviour = {
    platform: 'google_ads',
    tenant: site.host,
    mode: 'status',
    status: 'FAILED',
    reason: 'INVALID_GCLID',
  };
  await fetch(`${sandbox.url}/behave`, { method: 'POST', body: JSON.stringify({ ...behaviour, times: 1 }) });
  const conversion = { event: 'purchase', orderId: 'A2', email: 'jane@example.com', clickIds: { gclid: 'Cj0KCQiA' } };
  const reply = await post(service, site, conversion);

  const read = async () => loosely(await operator.log.readStream(CONVERSION, conversionId(reply)));
  const events = await eventually(read, (found) => found.at(-1)?.type === 'conversion.confirmed.v1');
  const outcomes = events.slice(1).map(({ type, data }) => [type.split('.')[1], data['reason'], data['without']]);
  expect(outcomes).toEqual([
    ['accepted', undefined, undefined],
    ['deferred', 'identifier_refused', ['click']],
    ['accepted', undefined, ['click']],
    ['confirmed', undefined, ['click']],
  ]);
  const digests = events.slice(1).map(({ data }) => data['bodySha256']);
  expect(digests.map((digest) => digests.indexOf(digest))).toEqual([0, 1, 1, 1]);
  const answer = await fetch(`${sandbox.url}/ledger?platform=google_ads&tenant=${site.host}`);
  const { google_ads: tenants } = (await answer.json()) as { google_ads: Record<string, { events: object }> };
  expect(tenants[site.host]?.events).toMatchObject({ A2: { times: 2 } });
});

it('a click id that Google cannot decode in an upload is left out', async () => {
  const site = await operator.openSite();
  const upload = { ...GOOGLE, mode: 'upload' };
  await operator.connect(site.host, 'google_ads', upload, `${sandbox.url}/google_ads@${site.host}`);
  await service.refreshSites();
  // Hashed, as some connectors do with everything.
  const clickIds = { gclid: 'a'.repeat(64) };
  const reply = await post(service, site, { event: 'purchase', orderId: 'A3', email: 'jane@example.com', clickIds });
  const read = async () => loosely(await operator.log.readStream(CONVERSION, conversionId(reply)));
  const events = await eventually(read, (found) => found.at(-1)?.type === 'conversion.delivered.v1');
  expect(events.slice(1).map(({ type, data }) => [type.split('.')[1], data['without'], data['attempt']])).toEqual([
    ['deferred', ['click'], 1],
    ['delivered', ['click'], 2],
  ]);
});
