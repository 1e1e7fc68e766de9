import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkData } from '../src/events/check-data.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { type AdminClient, PASSWORD, useAdmin } from './support/admin.js';
import { temporaryFolder } from './support/folders.js';
import { storeConversion } from './support/stored-conversion.js';
import { startReceiver } from './support/webhook-receiver.js';

/** Writes without an event, and why. */
const UNRECORDED: Readonly<Record<string, string>> = {
  'POST /alerts/channels/{id}/test': 'Sends a test, which changes nothing here.',
  'POST /sites/{site}/arrival': 'Recorded when the site is open; until then the other cell acts for it.',
  'POST /sites/{site}/arrival/erased': 'Erasures that it leads to name the token: moves.full-spec.ts.',
  'POST /sites/{site}/arrival/events': 'The events name who caused them.',
  'POST /sites/{site}/arrival/leases': 'Part of a copy.',
  'POST /sites/{site}/arrival/open': 'Names the token: moves.full-spec.ts.',
  'POST /sites/{site}/arrival/secrets': 'Part of a copy.',
  'POST /session': 'Signing in changes nothing that others depend on.',
  'DELETE /session': 'Ends the session of this browser only.',
  'POST /sites/{site}/connections/{connection}/sign-in': 'The connection is recorded when the sign-in is used.',
  'POST /sites/{site}/connections/{connection}/sign-in/{id}/options': 'Reads what an account has.',
  'POST /sites/{site}/connections/{connection}/preview': 'Neither sends nor stores anything.',
  'POST /sites/{site}/connections/{connection}/test': 'Sends a test, which changes nothing here.',
  'POST /sites/{site}/inbound-sources/{source}/try': 'Neither sends nor stores anything.',
  'POST /sites/{site}/conversions/find': 'Only reads: what is looked for must not be in an address.',
  'POST /sites/{site}/test-conversion': 'A conversion names the key: admin-test-conversion.int-spec.ts.',
  'POST /sites/{site}/inbound-sources/{source}/trial': 'Stores a trial conversion, which names the source.',
  'POST /sites/{site}/settings/preview': 'Only counts.',
  'POST /projections/{name}/rebuild': 'Computes the same rows from the log again.',
  'POST /sites/{site}/webhook/test': 'Sends a test, which changes nothing here.',
};

interface Write {
  readonly path: string;
  readonly body?: object;
  /** Instead of the given caller: a user of its own, who makes the request. */
  readonly as?: { readonly call: AdminClient; readonly actor: string };
}

const sandbox = await new Sandbox().start();
const receiver = await startReceiver();
// As of an installation with the embedded database, which has a sandbox.
const folder = temporaryFolder('cc-actors-');
writeFileSync(join(folder, 'demo-sandbox-port'), new URL(sandbox.url).port);
const embedded = { DATABASE_URL: '', DATA_DIR: folder, DEMO_PLATFORMS: 'true', OUTBOUND_ALLOW_PRIVATE: 'true' };
const admin = await useAdmin(embedded);
const { log } = admin;
const boss = await admin.signedIn('admin');
const { body: document } = await admin.anonymous('/openapi.json');
const routes = Object.entries(document.paths as Record<string, Record<string, { security?: object[] }>>).flatMap(
  ([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => method !== 'get')
      .map(([method, { security = [] }]) => ({
        route: `${method.toUpperCase()} ${path.replace('/api/v1', '')}`,
        takesTokens: security.some((scheme) => 'token' in scheme),
      })),
);
afterAll(async () => {
  await receiver.stop();
  await sandbox.stop();
});

/** A request of the administrator that must succeed. */
async function required(method: string, path: string, body?: object) {
  const reply = await boss(path, { method, ...(body && { body }) });
  if (reply.status >= 400) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body;
}

let sites = 0;
async function newSite(): Promise<string> {
  sites += 1;
  await required('POST', '/sites', { host: `shop-${sites}.example` });
  return `/sites/shop-${sites}.example`;
}

const META = { pixel_id: '987654321098765', access_token: 'a-token', test_event_code: 'TEST1' };
async function newConnection(): Promise<string> {
  const path = `${await newSite()}/connections/meta`;
  await required('PUT', path, { settings: META });
  return path;
}

async function newWebhook(): Promise<string> {
  const site = await newSite();
  await required('PUT', `${site}/webhook`, { url: `${receiver.url}${site}` });
  return `${site}/webhook`;
}

async function newKey(): Promise<string> {
  const site = await newSite();
  return `${site}/keys/${(await required('POST', `${site}/keys`, { name: 'Shop' })).id}`;
}

async function newSource(): Promise<string> {
  const path = `${await newSite()}/inbound-sources/shopify`;
  await required('PUT', path, { secret: 'a-signing-secret' });
  return path;
}

const newUser = async () => `/users/${(await admin.addUser('analyst', [])).id}`;

/** A user who acts on their own behalf. */
async function newCaller() {
  const { id, reply } = await admin.signUp('operator');
  return { call: admin.withSession(reply), actor: `user:${id}` };
}

const APP = { clientId: 'app', clientSecret: 'secret' };

type Prepare = () => Promise<Write>;

/** A request about what is made for it. */
const on =
  (make: () => Promise<string> | string, suffix = '', body?: object): Prepare =>
  async () => ({ path: `${await make()}${suffix}`, ...(body && { body }) });

/** A request that changes what another one has set before. */
const changing =
  (make: () => Promise<string>, suffix: string, before: object, body: object): Prepare =>
  async () => {
    const path = `${await make()}${suffix}`;
    await required('PUT', path, before);
    return { path, body };
  };

const ALERTS = { kind: 'webhook', to: 'https://127.0.0.1:1/alerts' };
const newChannel = async () => `/alerts/channels/${(await required('POST', '/alerts/channels', ALERTS)).id}`;
const createToken = async () => (await required('POST', '/tokens', { name: 'CI', scopes: ['read'] })).id;
const ANOTHER_PASSWORD = { current: PASSWORD, password: `another ${PASSWORD}` };

/** Requests that must succeed, with what has to exist before. A route has several where a change of each field counts. */
const WRITES: Readonly<Record<string, readonly Prepare[]>> = {
  'POST /session/password': [
    async () => {
      const { id } = await admin.addUser('analyst', []);
      const body = { link: (await admin.users.reset(id)).secret, password: PASSWORD };
      return { path: '/session/password', body, as: { call: admin.anonymous, actor: `user:${id}` } };
    },
  ],
  'PUT /session/password': [async () => ({ path: '/session/password', body: ANOTHER_PASSWORD, as: await newCaller() })],
  'DELETE /sessions/others': [async () => ({ path: '/sessions/others', as: await newCaller() })],
  'DELETE /sessions': [async () => ({ path: '/sessions', as: await newCaller() })],
  'POST /users': [
    async () => ({ path: '/users', body: { email: `new-${sites}@team.example`, role: 'analyst', sites: [] } }),
  ],
  'PATCH /users/{id}': [{ name: 'Another name' }, { role: 'operator' }, { sites: null }, { disabled: true }].map(
    (body) => on(newUser, '', body),
  ),
  'POST /users/{id}/reset': [on(newUser, '/reset'), on(newUser, '/reset', { revokeTokens: true })],
  'POST /tokens': [on(() => '/tokens', '', { name: 'CI', scopes: ['read'] })],
  'DELETE /tokens/{id}': [on(async () => `/tokens/${await createToken()}`)],
  'PUT /oauth-apps/{platform}': [on(() => '/oauth-apps/meta', '', APP)],
  'DELETE /oauth-apps/{platform}': [
    async () => {
      await required('PUT', '/oauth-apps/reddit', APP);
      return { path: '/oauth-apps/reddit' };
    },
  ],
  'PUT /definitions': [
    on(() => '/definitions', '', {
      definition: 'name: crm\nurl: https://api.crm.example/events\nbody: { id: /event_id }\n',
    }),
  ],
  'POST /alerts/channels': [on(() => '/alerts/channels', '', ALERTS)],
  'PATCH /alerts/channels/{id}': [
    on(newChannel, '', { paused: true }),
    async () => {
      const path = await newChannel();
      await required('PATCH', path, { paused: true });
      return { path, body: { paused: false } };
    },
  ],
  'DELETE /alerts/channels/{id}': [on(newChannel)],
  'PATCH /alerts/rules': [
    'refusedPercent',
    'silentGaps',
    'matchRateDropPercent',
    'connectionExpiryDays',
    'tokenExpiryDays',
  ].map((rule) => async () => {
    // Each request changes it.
    const rules = await required('GET', '/alerts/rules');
    return { path: '/alerts/rules', body: { [rule]: rules[rule] + 1 } };
  }),
  'POST /sites': [
    async () => {
      sites += 1;
      return { path: '/sites', body: { host: `shop-${sites}.example` } };
    },
  ],
  'DELETE /sites/{site}': [on(newSite)],
  'PUT /sites/{site}/pause': [
    on(newSite, '/pause', { paused: true }),
    changing(newSite, '/pause', { paused: true }, { paused: false }),
  ],
  'PUT /sites/{site}/inbound': [
    on(newSite, '/inbound', { enabled: true }),
    changing(newSite, '/inbound', { enabled: true }, { enabled: false }),
  ],
  'PATCH /sites/{site}/aliases': [
    async () => {
      const path = `${await newSite()}/aliases`;
      return { path, body: { add: [`alias-${sites}.example`] } };
    },
  ],
  'PATCH /sites/{site}/settings': [on(newSite, '/settings', { botThreshold: 40 })],
  'POST /sites/{site}/keys': [on(newSite, '/keys', { name: 'Shop' })],
  'POST /sites/{site}/keys/{id}/rotate': [on(newKey, '/rotate', { overlap: '0s' })],
  'DELETE /sites/{site}/keys/{id}': [on(newKey)],
  'PUT /sites/{site}/connections/{connection}': [
    on(newSite, '/connections/meta', { settings: META }),
    on(newConnection, '', { settings: { 'event.purchase': 'Order' } }),
    on(newConnection, '', { settings: { access_token: 'another-token' } }),
  ],
  'POST /sites/{site}/connections/{connection}/sandbox': [on(newSite, '/connections/tiktok/sandbox')],
  'DELETE /sites/{site}/connections/{connection}': [on(newConnection)],
  'POST /sites/{site}/connections/{connection}/pause': [on(newConnection, '/pause')],
  'POST /sites/{site}/connections/{connection}/resume': [
    async () => {
      const path = await newConnection();
      await required('POST', `${path}/pause`);
      return { path: `${path}/resume` };
    },
  ],
  'PUT /sites/{site}/inbound-sources/{source}': [
    on(newSite, '/inbound-sources/shopify', { secret: 'a-signing-secret' }),
    on(newSource, '', { secret: 'another-signing-secret' }),
  ],
  'POST /sites/{site}/inbound-sources/{source}/rotate': [
    on(newSource, '/rotate', { secret: 'another-signing-secret' }),
  ],
  'PUT /sites/{site}/inbound-sources/{source}/mapping': [
    on(newSource, '/mapping', { mapping: { 'orders/paid': { event: "'order'" } } }),
  ],
  'DELETE /sites/{site}/inbound-sources/{source}': [on(newSource)],
  'PUT /sites/{site}/webhook': [on(newSite, '/webhook', { url: `${receiver.url}/totals` })],
  'POST /sites/{site}/webhook/secret': [on(newWebhook, '/secret')],
  'PUT /sites/{site}/webhook/enabled': [
    on(newWebhook, '/enabled', { enabled: false }),
    changing(newWebhook, '/enabled', { enabled: false }, { enabled: true }),
  ],
  'POST /sites/{site}/webhook/push': [on(newWebhook, '/push')],
  'POST /sites/{site}/deliveries/retry': [
    async () => {
      const connection = await newConnection();
      const site = `shop-${sites}.example`;
      const outcomes = [{ status: 'failed', reason: 'bad event', httpStatus: 400 }] as const;
      const conversion = await storeConversion(log, { site, orderId: 'ORD-1', settings: META, outcomes });
      return { path: connection.replace('connections/meta', 'deliveries/retry'), body: { conversion } };
    },
  ],
  'POST /sites/{site}/erasures': [on(newSite, '/erasures', { email: 'jane@example.com' })],
  'POST /sites/{site}/jobs': [
    on(newSite, '/jobs', { kind: 'export', format: 'csv' }),
    on(newSite, '/jobs', { kind: 'shadow', from: '0', to: '10' }),
    on(async () => (await newConnection()).replace('connections/meta', 'jobs'), '', {
      ...{ kind: 'replay', platform: 'meta', from: '0' },
    }),
  ],
  'DELETE /jobs/{id}': [
    async () => {
      // It runs, or has a file already.
      const { id } = await required('POST', `${await newSite()}/jobs`, { kind: 'export', format: 'csv' });
      return { path: `/jobs/${id}` };
    },
  ],
};

async function writeAndRead(route: string, write: Write, call: AdminClient, actor: string) {
  const [method] = route.split(' ') as [string, string];
  const head = await log.head();
  const { path, body, as } = write;
  const reply = await (as?.call ?? call)(path, { method, ...(body && { body }) });
  const events = await log.read({ after: head });
  const by = events.filter((event) => event.actor === (as?.actor ?? actor));
  return { status: reply.status, error: reply.body?.detail, events: by };
}

describe('writes of the management API', () => {
  it('are all covered: by a request that is recorded, or by the reason why it is not', () => {
    const covered = [...Object.keys(WRITES), ...Object.keys(UNRECORDED)];
    expect(covered.sort()).toEqual(routes.map(({ route }) => route).sort());
  });

  it.each(Object.keys(WRITES))('are recorded with the user or the token that made them: %s', async (route) => {
    const { body: user } = await boss('/session');
    const scopes = ['read', 'write', 'erase'] as const;
    const token = await admin.withToken(boss, scopes);
    const { takesTokens } = routes.find((candidate) => candidate.route === route) as (typeof routes)[0];
    const callers: [AdminClient, string][] = [[boss, `user:${user.id}`]];
    if (takesTokens) callers.push([token, `token:${token.id}`]);
    for (const prepare of WRITES[route] ?? [])
      for (const [call, actor] of callers) {
        const write = await prepare();
        const { status, error, events } = await writeAndRead(route, write, call, actor);
        expect([write.path, status < 300 || error]).toEqual([write.path, true]);
        expect([write.path, write.body, events.length > 0]).toEqual([write.path, write.body, true]);
        for (const { type, data } of events) expect(checkData(type, data)).toBeUndefined();
        expect(JSON.stringify(events)).not.toMatch(/team\.example|Another name|jane|a-token|another-token/);
      }
  });
});
