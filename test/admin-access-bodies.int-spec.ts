import { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { type AdminClient, startTestAdmin, type TestAdmin } from './support/admin.js';
import { createDatabase } from './support/databases.js';
import { signInAt } from './support/platform-consent.js';
import { storeConversion } from './support/stored-conversion.js';
import { eventually } from './support/waiting.js';

/** The site that the callers may not see, and what its answers could be recognised by. */
const OTHER = 'secret-shop.example';
const ALIAS = 'hidden-alias.example';
const ORDER = 'ORD-SECRET';
const MARKERS = [OTHER, ALIAS, ORDER, 'Hidden key', '987654321098765', 'hidden-path', 'meta:hidden'];
const META = { pixel_id: '987654321098765', access_token: 'hidden-token', test_event_code: 'TEST1' };
const CONNECTIONS = ['meta', 'meta:hidden', 'meta:new'];
const FAILED = { status: 'failed', reason: 'bad event', httpStatus: 400 } as const;
/** A stream, which has a spec of its own, and what ends the caller's own sessions. */
const LEFT_OUT = [
  ...['GET /events', 'DELETE /session', 'DELETE /sessions', 'DELETE /sessions/others'],
  ...['POST /session', 'POST /session/password', 'PUT /session/password'],
];
/** What follows a deletion would find less of the caller's site, and nothing without the site. */
const orderOf = (route: string) => (route === 'DELETE /sites/{site}' ? 2 : route.startsWith('DELETE ') ? 1 : 0);

interface Ids {
  readonly key: string;
  readonly conversion: string;
  readonly export: string;
  readonly dryRun: string;
  readonly signIn: string;
  readonly user: string;
  readonly token: string;
}

/** Valid bodies. `foreign` ones name something of the other site: refused for a site of the caller, and accepted for the other. */
interface Bodies {
  readonly own?: readonly object[];
  readonly foreign?: readonly object[];
}

const bodiesOf = (ids: Ids): Record<string, Bodies> => ({
  'POST /users': { foreign: [{ email: 'new@team.example', role: 'admin', sites: [OTHER] }] },
  'PATCH /users/{id}': { foreign: [{ role: 'admin', sites: [OTHER] }, { disabled: true }] },
  'POST /users/{id}/reset': { foreign: [{ revokeTokens: true }] },
  'POST /tokens': { foreign: [{ name: 'theirs', scopes: ['read'], sites: [OTHER] }] },
  'POST /sites': { foreign: [{ host: 'new.example' }] },
  'PUT /sites/{site}/inbound': { own: [{ enabled: true }] },
  'PUT /sites/{site}/pause': { own: [{ paused: false }] },
  'PATCH /sites/{site}/aliases': { own: [{ remove: [ALIAS] }], foreign: [{ add: [ALIAS] }] },
  'PATCH /sites/{site}/settings': { own: [{ botThreshold: 40, blocked: { add: ['@spam.example'] } }] },
  'POST /sites/{site}/settings/preview': { own: [{ botThreshold: 40 }] },
  'POST /sites/{site}/keys': { own: [{ name: 'Shop' }] },
  'POST /sites/{site}/keys/{id}/rotate': { foreign: [{ overlap: '0s' }] },
  'PUT /oauth-apps/{platform}': { foreign: [{ clientId: 'theirs', clientSecret: 'theirs' }] },
  'POST /sites/{site}/connections/{connection}/sign-in/{id}/options': { foreign: [{ settings: {} }] },
  'PUT /sites/{site}/connections/{connection}': {
    own: [{ settings: { 'event.purchase': 'Purchase' } }],
    foreign: [{ signIn: ids.signIn, settings: { pixel_id: '111' } }],
  },
  'POST /sites/{site}/connections/{connection}/preview': {
    own: [{ sample: true }],
    foreign: [{ conversion: ids.conversion }, { order: ORDER }],
  },
  'PUT /sites/{site}/webhook': { own: [{ url: 'http://127.0.0.1:9/own' }] },
  'PUT /sites/{site}/webhook/enabled': { own: [{ enabled: false }, { enabled: true }] },
  'POST /sites/{site}/deliveries/retry': {
    own: [
      { order: ORDER },
      { conversion: ids.conversion },
      { conversion: ids.conversion, connection: 'meta', dryRun: true },
      { conversion: ids.conversion, connection: 'meta', status: ['failed'] },
      { conversion: ids.conversion, connection: 'meta', force: true, dryRun: true },
      { platform: 'meta', outcome: 'failed' },
    ],
  },
  'POST /sites/{site}/erasures': { own: [{ email: 'jane@example.com' }, { email: 'jane@example.com', dryRun: true }] },
  'POST /sites/{site}/jobs': {
    own: [
      { kind: 'export', format: 'ndjson' },
      { kind: 'shadow', from: '0', to: '1000' },
    ],
    foreign: [
      { kind: 'replay', dryRun: ids.dryRun },
      { kind: 'replay', platform: 'meta', conversion: ids.conversion },
    ],
  },
});

let sandbox: RunningSandbox;
let admin: TestAdmin;
let log: EventLog;
let boss: AdminClient;
let routes: { readonly route: string; readonly hasBody: boolean }[];
let ids: Ids;
let bodies: Record<string, Bodies>;

beforeAll(async () => {
  sandbox = await new Sandbox().start();
  // Webhooks may only go to this machine here.
  admin = await startTestAdmin(await createDatabase(), { OUTBOUND_ALLOW_PRIVATE: 'true' });
  log = new PostgresEventLog(admin.postgres);
  boss = await admin.signedIn('admin');
  const { body: document } = await admin.anonymous('/openapi.json');
  routes = Object.entries(document.paths as Record<string, Record<string, { requestBody?: object }>>)
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { requestBody }]) => ({
        route: `${method.toUpperCase()} ${path.replace('/api/v1', '')}`,
        // Steps of a move need a site that is in another cell: moves.full-spec.ts makes them.
        hasBody: requestBody !== undefined && !path.includes('/arrival'),
      })),
    )
    .filter(({ route }) => !LEFT_OUT.includes(route))
    .sort((one, other) => orderOf(one.route) - orderOf(other.route));
  await required('PUT', '/oauth-apps/meta', {
    clientId: 'app',
    clientSecret: 'secret',
    endpoint: `${sandbox.url}/meta`,
  });
  ids = await setUpOther();
  bodies = bodiesOf(ids);
});
afterAll(async () => {
  await log?.close();
  await admin?.stop();
  await sandbox?.stop();
});

/** A request of the administrator that must succeed. */
async function required(method: string, path: string, body?: object) {
  const reply = await boss(path, { method, ...(body && { body }) });
  if (reply.status >= 400) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body;
}

async function connect(site: string, connection: string, pixel = '111'): Promise<void> {
  const settings = { ...META, pixel_id: pixel };
  await required('PUT', `/sites/${site}/connections/${connection}`, { settings, endpoint: `${sandbox.url}/meta` });
}

async function setUpOther(): Promise<Ids> {
  const other = `/sites/${OTHER}`;
  await required('POST', '/sites', { host: OTHER, aliases: [ALIAS] });
  for (const connection of ['meta', 'meta:hidden']) await connect(OTHER, connection, META.pixel_id);
  await required('PUT', `${other}/webhook`, { url: 'http://127.0.0.1:9/hidden-path' });
  const key = await required('POST', `${other}/keys`, { name: 'Hidden key' });
  const conversion = await storeConversion(log, { site: OTHER, orderId: ORDER, settings: META, outcomes: [FAILED] });
  const job = async (body: object) => {
    const { id } = await required('POST', `${other}/jobs`, body);
    await eventually(
      () => required('GET', `/jobs/${id}`),
      ({ state }) => state === 'succeeded',
    );
    return id as string;
  };
  const signIn = await signInAt(admin, boss, OTHER, 'meta:new');
  expect(signIn.status).toBe('granted');
  const { id: user } = await admin.addUser('operator', [OTHER]);
  const { id: token } = await required('POST', '/tokens', { name: 'theirs', scopes: ['read'], sites: [OTHER] });
  return {
    ...{ key: key.id, conversion, signIn: signIn.id, user, token },
    export: await job({ kind: 'export' }),
    dryRun: await job({ kind: 'replay', platform: 'meta', conversion }),
  };
}

/** A caller with a site of its own, which has the same as the other one. */
async function callerOf(name: string, sign: (site: string) => Promise<AdminClient>) {
  const site = `${name}.example`;
  await required('POST', '/sites', { host: site });
  await connect(site, 'meta');
  await required('PUT', `/sites/${site}/webhook`, { url: 'http://127.0.0.1:9/own' });
  return { name, site, call: await sign(site) };
}

async function tokenOf(owner: AdminClient, sites: string[] | null): Promise<AdminClient> {
  const scopes = ['read', 'write', 'erase'];
  const { status, body } = await owner('/tokens', { method: 'POST', body: { name: 'all scopes', scopes, sites } });
  expect(status).toBe(201);
  return admin.withHeaders({ authorization: `Bearer ${body.token}` });
}

const callers = () =>
  Promise.all([
    callerOf('operator', (site) => admin.signedIn('operator', [site])),
    callerOf('analyst', (site) => admin.signedIn('analyst', [site])),
    callerOf('token-of-operator', async (site) => tokenOf(await admin.signedIn('operator', [site]), null)),
    // Its owner sees all sites, and has signed in at the platform for the other one.
    callerOf('token-of-admin', (site) => tokenOf(boss, [site])),
  ]);

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: object | undefined;
  readonly isForeign: boolean;
}

/** A route with every id of the other site in its path, and with each of its bodies. */
function requestsOf(route: string, site: string): Sent[] {
  const [method, path] = route.split(' ') as [string, string];
  const { own = [], foreign = [] } = bodies[route] ?? { own: [undefined] };
  const targets = CONNECTIONS.flatMap((connection) =>
    Object.values(ids).map((id) =>
      path
        .replace('{site}', site)
        .replace('{connection}', connection)
        .replace('{platform}', 'meta')
        .replace('{id}', id),
    ),
  );
  return [...new Set(targets)].flatMap((target) => [
    ...own.map((body) => ({ method, path: target, body, isForeign: path.includes('{id}') })),
    ...foreign.map((body) => ({ method, path: target, body, isForeign: true })),
  ]);
}

const send = (call: AdminClient, { method, path, body }: Sent) => call(path, { method, ...(body && { body }) });

/** What belongs to the other site in every table, and what belongs to no site. */
async function stateOfOther() {
  const { rows: tables } = await admin.postgres.pool.query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = 'cc'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attname = 'site'
      ORDER BY 1`,
  );
  const stored: Record<string, unknown[]> = {};
  for (const { name } of tables) {
    const { rows } = await admin.postgres.pool.query(
      `SELECT t::text AS row FROM ${name} t WHERE t.site::text = $1 ORDER BY 1`,
      [OTHER],
    );
    stored[name] = rows.map(({ row }) => row);
  }
  const tokens = (await required('GET', '/tokens')).items as { id: string }[];
  return {
    stored,
    site: await required('GET', `/sites/${OTHER}`),
    users: await required('GET', '/users'),
    apps: await required('GET', '/oauth-apps'),
    token: tokens.find(({ id }) => id === ids.token),
  };
}

describe('requests with ids of a site of others', () => {
  it('have a valid body for every route that takes one', () => {
    expect(Object.keys(bodies).sort()).toEqual(
      routes
        .filter(({ hasBody }) => hasBody)
        .map(({ route }) => route)
        .sort(),
    );
  });

  it('learn and change nothing, by any role and by tokens with all scopes', async () => {
    const all = await callers();
    const before = await stateOfOther();
    expect(Object.values(before.stored).filter((rows) => rows.length > 0).length).toBeGreaterThan(3);
    for (const { name, site, call } of all)
      for (const { route } of routes) {
        if (route.includes('{site}'))
          for (const request of requestsOf(route, OTHER))
            expect([name, request, (await send(call, request)).status]).toEqual([name, request, 404]);
        for (const request of requestsOf(route, site)) {
          const { status, body } = await send(call, request);
          const [sent, answer] = [JSON.stringify(request), JSON.stringify(body ?? null)];
          const learned = [...MARKERS, ...Object.values(ids)].filter(
            (marker) => answer.includes(marker) && !sent.includes(marker),
          );
          expect([name, request, learned]).toEqual([name, request, []]);
          // The site of the caller has no deliveries.
          if (route.endsWith('/retry') && status < 400)
            expect([name, request, body.requested]).toEqual([name, request, 0]);
          if (request.isForeign) expect([name, request, status >= 400]).toEqual([name, request, true]);
        }
      }
    expect(await stateOfOther()).toEqual(before);
  });

  it('are accepted with the same bodies by those who may see the site', async () => {
    for (const { route } of routes.filter(({ hasBody }) => hasBody)) {
      const id = route.includes('/keys/') ? ids.key : route.includes('/users/') ? ids.user : ids.signIn;
      const requests = requestsOf(route, OTHER).filter(({ path, body }) => {
        const isOfSignIn = path.includes('/sign-in/') || JSON.stringify(body).includes(ids.signIn);
        const connection = `/connections/${isOfSignIn ? 'meta:new' : 'meta'}/`;
        const isConnection = !route.includes('{connection}') || `${path}/`.includes(connection);
        return isConnection && (!route.includes('{id}') || path.includes(id));
      });
      for (const request of requests) {
        const { status, body } = await send(boss, request);
        expect([request, status < 400 || body]).toEqual([request, true]);
      }
    }
  });
});
