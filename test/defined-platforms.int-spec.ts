import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine } from './support/command-line.js';
import { createDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { SECRET_KEY } from './support/secret-key.js';
import {
  conversionId,
  type Operator,
  openOperator,
  post,
  type Reply,
  startTestService,
  type TestService,
  type TestSite,
} from './support/service.js';
import { eventually } from './support/waiting.js';
import { answerWith, startReceiver, type WebhookReceiver } from './support/webhook-receiver.js';

const KEY = 'crm-key-that-must-stay-secret';
const DEFINITION = `name: crm
label: Own CRM
settings:
  account: { required: true, help: Your account. }
  key: { required: true, secret: true, help: Your key. }
url: https://api.crm.example/v1/{account}/events
authentication: { type: bearer, secret: key }
body:
  id: /event_id
  email: /hashes/email
`;
const SECOND = DEFINITION.replace('/v1/', '/v2/').replace('  id: /event_id', '  number: /order_id');

const folder = temporaryFolder('cc-defined-');
let receiver: WebhookReceiver;
let operator: Operator;
let databaseUrl: string;
let services: TestService[];
let service: TestService;
let site: TestSite;
let cc: ReturnType<typeof commandLine>;
let orders = 0;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  receiver = await startReceiver();
});
afterAll(() => receiver?.stop());

beforeEach(async () => {
  databaseUrl = await createDatabase();
  operator = await openOperator(databaseUrl);
  const start = () => startTestService(databaseUrl, { DELIVERY_RETRY_SCHEDULE: '1s', INBOUND_DEADLINE: '2s' });
  services = [await start()];
  service = services[0] as TestService;
  site = await operator.openSite();
  cc = commandLine({ PATH: process.env['PATH'] ?? '', DATABASE_URL: databaseUrl, SECRET_KEY, DATA_DIR: folder });
  receiver.answer = answerWith(200);
  receiver.calls.length = 0;
  await service.refreshSites();
});
afterEach(async () => {
  for (const running of services) await running.stop();
  await operator.close();
});

function file(text: string, name = 'crm.yaml'): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function connected(text = DEFINITION, ...more: string[]): Promise<void> {
  await cc.json(`platforms define ${file(text)}`);
  const set = ['--set', 'account=shop-7', '--set', `key=${KEY}`, ...more];
  await cc.json(`platforms connect crm --site ${site.host} --endpoint ${receiver.url}`, ...set);
  await service.refreshSites();
}

function convert(to = service): Promise<Reply> {
  orders += 1;
  const body = { event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR', orderId: `ORD-${orders}` };
  return post(to, site, body);
}

const resultsOf = ({ body }: Reply) => JSON.parse(body).results as Record<string, { status: string; reason?: string }>;
const sent = () => receiver.calls.map(({ path, body }) => [path, Object.keys(JSON.parse(body))[0]]);

it('is connected, previewed, tested and delivered to as any platform', async () => {
  await connected();
  const { results, ...preview } = await cc.json(`platforms preview crm --site ${site.host} --sample`);
  expect(results).toBeUndefined();
  expect(preview).toMatchObject({ platform: 'crm', status: 'sent', payload: { id: expect.any(String) } });
  expect(await cc.json(`platforms test crm --site ${site.host}`)).toMatchObject({
    platform: 'crm',
    ok: true,
    sent: false,
  });
  expect(receiver.calls).toEqual([]);

  expect(resultsOf(await convert())).toEqual({ crm: { ok: true, status: 'delivered' } });
  const [call] = receiver.calls;
  expect(call).toMatchObject({ path: '/v1/shop-7/events', headers: { authorization: `Bearer ${KEY}` } });
  expect(JSON.parse(call?.body ?? '')).toEqual({ id: `ORD-${orders}`, email: expect.stringMatching(/^[0-9a-f]{64}$/) });
  const [attempt] = await cc.lines<object>(`sync log --site ${site.host} --platform crm`);
  expect(attempt).toMatchObject({ platform: 'crm', status: 'delivered' });

  const [shown] = (await cc.json(`platforms list --site ${site.host}`)).slice(-1);
  expect(shown).toMatchObject({
    ...{ platform: 'crm', connected: true, state: 'active', secrets: ['key'] },
    settings: { account: 'shop-7', definition: expect.stringMatching(/^[0-9a-f]{12}$/) },
  });
  const events = await operator.log.read({ categories: ['site', 'log'], limit: 1_000 });
  expect(JSON.stringify(events)).not.toContain(KEY);
});

it('is a further connection under a name, paused, resumed and disconnected', async () => {
  await connected();
  const second = await cc.json(
    `platforms connect crm --name second --site ${site.host} --endpoint ${receiver.url}`,
    '--set',
    'account=other',
    '--set',
    `key=${KEY}`,
  );
  expect(second).toMatchObject({ platform: 'crm:second', connected: true });
  expect(await cc.json(`platforms pause crm:second --site ${site.host}`)).toMatchObject({ state: 'paused' });
  await service.refreshSites();
  expect(resultsOf(await convert())).toMatchObject({
    crm: { status: 'delivered' },
    'crm:second': { reason: 'paused' },
  });
  expect(await cc.json(`platforms resume crm --name second --site ${site.host}`)).toMatchObject({ state: 'active' });
  expect(await cc.json(`platforms disconnect crm --site ${site.host} --yes`)).toMatchObject({ connected: false });
});

it('is refused with a line for each problem, and nothing is stored', async () => {
  const path = file(DEFINITION.replace('/event_id', '/eventId').replace('secret: key', 'secret: account'));
  const { code, stderr } = await cc.run(`platforms define ${path}`);
  expect(code).toBe(1);
  expect(stderr).toContain(`${path}:9: body.id: /eventId is no value of a conversion`);
  expect(stderr).toContain(`${path}:7: authentication.secret: account must be a secret setting`);
  expect(await cc.json('platforms definitions')).toEqual([]);
  const unknown = await cc.run(`platforms connect crm --site ${site.host}`);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no platform "crm"') });
  await cc.json(`platforms define ${file(DEFINITION)}`);
  const incomplete = await cc.run(`platforms connect crm --site ${site.host} --set account=1`);
  expect(incomplete).toMatchObject({ code: 1, stderr: expect.stringContaining('crm requires key (Your key)') });
  const forged = await cc.run(`platforms connect crm --site ${site.host} --set definition={}`);
  expect(forged).toMatchObject({ code: 1, stderr: expect.stringContaining('crm has no setting "definition"') });
});

it('is written to a file that defines the same', async () => {
  const checked = await cc.json(`platforms define ${file(DEFINITION)} --dry-run`);
  expect(await cc.json('platforms definitions')).toEqual([]);
  const first = await cc.json(`platforms define ${file(DEFINITION)}`);
  expect(first).toEqual({ name: 'crm', version: 1, digest: checked.digest, connections: 0, kept: [] });
  const out = join(folder, 'crm.json');
  await cc.json(`platforms definitions crm --out ${out}`);
  expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({ name: 'crm', label: 'Own CRM' });
  expect(await cc.json(`platforms define ${out}`)).toEqual(first);
  expect(await cc.json(`platforms define ${file(SECOND)}`)).toMatchObject({ version: 2 });
});

it('repeats a delivery with the version that it began with, and sends the next with the new one', async () => {
  await connected();
  // The first attempt may have been accepted.
  receiver.answer = (_, response) => response.socket?.destroy();
  await convert();
  expect(sent()).toEqual([['/v1/shop-7/events', 'id']]);
  // The second one was not, and has no outcome that binds it.
  receiver.answer = answerWith(429);
  expect(resultsOf(await convert())).toMatchObject({ crm: { status: 'queued', reason: 'throttled' } });
  await cc.json(`platforms pause crm --site ${site.host}`);
  await service.refreshSites();
  expect(await cc.json(`platforms define ${file(SECOND)}`)).toMatchObject({ version: 2, connections: 1, kept: [] });
  receiver.answer = answerWith(200);
  receiver.calls.length = 0;
  await cc.json(`platforms resume crm --site ${site.host}`);
  await service.refreshSites();
  await eventually(
    async () => receiver.calls.length,
    (calls) => calls >= 2,
  );
  expect(sent()).toEqual([
    ['/v1/shop-7/events', 'id'],
    ['/v1/shop-7/events', 'id'],
  ]);
  expect(resultsOf(await convert())).toMatchObject({ crm: { status: 'delivered' } });
  expect(sent().at(-1)).toEqual(['/v2/shop-7/events', 'number']);
});

it('repeats each in a request of its own where only the new version puts several in one, with the settings of its own', async () => {
  await connected();
  receiver.answer = (_, response) => response.socket?.destroy();
  for (let count = 0; count < 3; count += 1) await convert();
  const began = receiver.calls.map(({ path, body }) => `${path} ${body}`);
  await cc.json(`platforms pause crm --site ${site.host}`);
  await service.refreshSites();
  const other = DEFINITION.replace('/v1/{account}/', '/v2/').replace(/ {2}account: .*\n/, '');
  await cc.json(`platforms define ${file(`${other}batch: { max: 10 }\n`)}`);
  receiver.answer = answerWith(200);
  receiver.calls.length = 0;
  await cc.json(`platforms resume crm --site ${site.host}`);
  await service.refreshSites();
  const repeated = async () => receiver.calls.map(({ path, body }) => `${path} ${body}`).sort();
  await eventually(repeated, (calls) => calls.length >= 3);
  expect(await repeated()).toEqual(began.sort());
  expect(resultsOf(await convert())).toMatchObject({ crm: { status: 'delivered' } });
  expect(receiver.calls.at(-1)).toMatchObject({ path: '/v2/events', body: expect.stringMatching(/^\[/) });
});

it('is sent no more requests than its rate limit, and the others wait', async () => {
  await connected(`${DEFINITION}rate_limit: { requests: 2, per: 1h }\n`);
  const replies: Reply[] = [];
  for (let count = 0; count < 4; count += 1) replies.push(await convert());
  expect(replies.map((reply) => resultsOf(reply)['crm'])).toEqual([
    { ok: true, status: 'delivered' },
    { ok: true, status: 'delivered' },
    { ok: false, status: 'queued', reason: 'pending' },
    { ok: false, status: 'queued', reason: 'pending' },
  ]);
  expect(receiver.calls).toHaveLength(2);
});

it('leaves a connection with the version that it has where a setting is missing for the new one', async () => {
  await connected();
  const more = SECOND.replace('settings:', 'settings:\n  list: { required: true, help: Your list. }');
  const { code, stdout } = await cc.run(`platforms define ${file(more)} --json`);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    version: 2,
    connections: 0,
    kept: [{ site: site.host, connection: 'crm', reason: expect.stringContaining('list') }],
  });
  await service.refreshSites();
  expect(resultsOf(await convert())).toMatchObject({ crm: { status: 'delivered' } });
  expect(sent()).toEqual([['/v1/shop-7/events', 'id']]);
  await cc.json(`platforms connect crm --site ${site.host} --set list=7`);
  await service.refreshSites();
  await convert();
  expect(sent().at(-1)).toEqual(['/v2/shop-7/events', 'number']);
});

it('is in force on every instance', async () => {
  const other = await startTestService(databaseUrl, { DELIVERY_RETRY_SCHEDULE: '1s' });
  services.push(other);
  await connected();
  const delivered = async () => resultsOf(await convert(other))['crm']?.status;
  await eventually(delivered, (status) => status === 'delivered');
  await cc.json(`platforms define ${file(SECOND)}`);
  await eventually(
    async () => {
      await convert(other);
      return sent().at(-1)?.[0];
    },
    (path) => path === '/v2/shop-7/events',
  );
});

it('is not sent to an address of a private network', async () => {
  await cc.json(`platforms define ${file(DEFINITION.replace('api.crm.example', '127.0.0.1'))}`);
  const set = ['--set', 'account=shop-7', '--set', `key=${KEY}`];
  await cc.json(`platforms connect crm --site ${site.host}`, ...set);
  await service.refreshSites();
  expect(resultsOf(await convert())).toEqual({ crm: { ok: false, status: 'failed', reason: 'address_refused' } });
});

it('is sent an access token that client credentials obtain, once', async () => {
  receiver.answer = (call, response) => {
    const token = call.path === '/token' ? JSON.stringify({ access_token: 'granted', expires_in: 3_600 }) : '';
    response.writeHead(200, { 'content-type': 'application/json' }).end(token);
  };
  const oauth = `{ type: oauth_client_credentials, token_url: "https://login.crm.example/token", client_id: account, client_secret: key }`;
  await connected(DEFINITION.replace('{ type: bearer, secret: key }', oauth));
  expect(resultsOf(await convert())).toMatchObject({ crm: { status: 'delivered' } });
  expect(resultsOf(await convert())).toMatchObject({ crm: { status: 'delivered' } });
  const [token, ...events] = receiver.calls;
  expect(token).toMatchObject({ path: '/token', body: expect.stringContaining('grant_type=client_credentials') });
  expect(events.map(({ headers }) => headers.authorization)).toEqual(['Bearer granted', 'Bearer granted']);
});

it('parks the connection when the credentials are refused', async () => {
  await connected();
  receiver.answer = answerWith(401);
  expect(resultsOf(await convert())).toMatchObject({ crm: { status: 'queued', reason: 'authorization' } });
  await service.refreshSites();
  const [shown] = (await cc.json(`platforms list --site ${site.host}`)).slice(-1);
  expect(shown).toMatchObject({ platform: 'crm', state: 'parked', next: expect.stringContaining('key') });
});

it('waits as long as it is told', async () => {
  await connected();
  receiver.answer = answerWith(429, { 'retry-after': '600' });
  const throttled = await convert();
  expect(resultsOf(throttled)).toMatchObject({ crm: { status: 'queued', reason: 'throttled' } });
  const { deliveries } = await cc.json(`events show --site ${site.host} --conversion ${conversionId(throttled)}`);
  const [{ time, nextTry }] = deliveries[0].attempts;
  expect(Date.parse(nextTry) - Date.parse(time)).toBeGreaterThan(590_000);
});
