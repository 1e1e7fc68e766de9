import { Sandbox } from '../src/sandbox/sandbox.js';
import { type Permission, type Role, SCOPES, type Scope } from '../src/users/access.js';
import { type AdminClient, type AdminReply, startTestAdmin, useAdmin } from './support/admin.js';
import {
  ALIAS,
  CONNECTIONS,
  type ForeignIds,
  NAMING_PARAMETERS,
  NAVIGATED,
  OPERATIONS,
  type Operation,
  ORDER,
  OTHER,
  PIXEL,
  PLAIN_NAMES,
} from './support/admin-operations.js';
import { routesOfControllers } from './support/admin-routes.js';
import { signInAt } from './support/platform-consent.js';
import { storeConversion } from './support/stored-conversion.js';
import { eventually } from './support/waiting.js';

const MARKERS = [OTHER, ALIAS, ORDER, 'Hidden key', PIXEL, 'hidden-path', 'meta:hidden'];
const META = { pixel_id: PIXEL, access_token: 'hidden-token', test_event_code: 'TEST1' };
const FAILED = { status: 'failed', reason: 'bad event', httpStatus: 400 } as const;
/** Does not end; it has a spec of its own. An invalid parameter shows whether a caller may open it. */
const STREAM = 'GET /events';
/** One needs the password, the other the running service: admin-test-conversion.int-spec.ts. */
const ACCEPTED_ELSEWHERE = ['PUT /session/password', 'POST /sites/{site}/test-conversion'];
const SIGN_IN_FIRST = 'Sign in, or send an API token';
/** What the other site's are compared with: ids of nothing, in the same form. */
const UNKNOWN: Readonly<Record<string, string>> = {
  [OTHER]: 'no-such-shop.example',
  [ALIAS]: 'no-such-alias.example',
  [ORDER]: 'ORD-UNSEEN',
  [PIXEL]: '123456789012345',
  'meta:hidden': 'meta:unseen',
  'meta:new': 'meta:fresh',
};
/** What follows a deletion would find less of the caller's site, and nothing without the site. */
const orderOf = (route: string) => (route === 'DELETE /sites/{site}' ? 2 : route.startsWith('DELETE ') ? 1 : 0);
const ROUTES = Object.keys(OPERATIONS).sort((one, other) => orderOf(one) - orderOf(other));
const operationOf = (route: string) => OPERATIONS[route] as Operation;

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
}

interface Documented {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

// Webhooks may only go to this machine here.
const admin = await useAdmin({ OUTBOUND_ALLOW_PRIVATE: 'true' });
/** The same installation, whose roles a sign-in provider decides. */
const withProvider = await startTestAdmin(admin.databaseUrl, {
  ...{ OIDC_ISSUER: 'http://127.0.0.1:9', OIDC_CLIENT_ID: 'cc', OIDC_CLIENT_SECRET: 'secret' },
  ...{ OIDC_ROLE_CLAIM: 'roles', OUTBOUND_ALLOW_PRIVATE: 'true' },
});
const sandbox = await new Sandbox().start();
const { log } = admin;
const boss = await sessionOf(await admin.addUser('admin'));
let documented: ReadonlyMap<string, Documented>;
let schemas: Readonly<Record<string, Schema>>;
let ids: ForeignIds;
let unknownIds: ForeignIds;

beforeAll(async () => {
  const { body: document } = await admin.anonymous('/openapi.json');
  schemas = document.components.schemas;
  documented = new Map(
    Object.entries(document.paths as Record<string, Record<string, Documented>>).flatMap(([path, operations]) =>
      Object.entries(operations).map(
        ([method, operation]) => [`${method.toUpperCase()} ${path.replace('/api/v1', '')}`, operation] as const,
      ),
    ),
  );
  await required('PUT', '/oauth-apps/meta', {
    ...{ clientId: 'app', clientSecret: 'secret', endpoint: `${sandbox.url}/meta` },
  });
  ids = await setUpOther();
  unknownIds = Object.fromEntries(Object.keys(ids).map((name, index) => [name, unknownId(index)])) as never;
});
afterAll(async () => {
  await withProvider.stop();
  await sandbox.stop();
});

const unknownId = (index: number) => `01980000-0000-7000-8000-${String(index).padStart(12, '0')}`;

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

async function setUpOther(): Promise<ForeignIds> {
  const other = `/sites/${OTHER}`;
  await required('POST', '/sites', { host: OTHER, aliases: [ALIAS] });
  for (const connection of ['meta', 'meta:hidden']) await connect(OTHER, connection, PIXEL);
  await required('PUT', `${other}/webhook`, { url: 'http://127.0.0.1:9/hidden-path' });
  const key = await required('POST', `${other}/keys`, { name: 'Hidden key' });
  const conversion = await storeConversion(log, { site: OTHER, orderId: ORDER, settings: META, outcomes: [FAILED] });
  const [event] = await log.readStream('conversion', conversion);
  const job = async (body: object) => {
    const { id } = await required('POST', `${other}/jobs`, body);
    await eventually(() => required('GET', `/jobs/${id}`), { state: 'succeeded' });
    return id as string;
  };
  const signIn = await signInAt(admin, boss, OTHER, 'meta:new');
  expect(signIn.status).toBe('granted');
  const { id: user } = await admin.addUser('operator', [OTHER]);
  const { id: token } = await required('POST', '/tokens', { name: 'theirs', scopes: ['read'], sites: [OTHER] });
  const webhook = { kind: 'webhook', to: 'https://127.0.0.1:9/hidden-path', sites: [OTHER] };
  const { id: channel } = await required('POST', '/alerts/channels', webhook);
  return {
    ...{ key: key.id, conversion, event: event?.id as string, signIn: signIn.id, user, token, channel },
    export: await job({ kind: 'export' }),
    dryRun: await job({ kind: 'replay', platform: 'meta', conversion }),
  };
}

/** A new session of a user, without a password: checking those takes long. */
async function sessionOf({ id }: { readonly id: string }, api = admin): Promise<AdminClient> {
  const { session } = await api.openSession(id);
  const cookie = `__Host-cc_session_${new URL(api.url).port}=${session}`;
  return api.withHeaders({ cookie, 'x-cc-csrf': '1' });
}

interface Caller {
  readonly name: string;
  /** Site of the caller's own. */
  readonly site: string;
  /** None: it is not let in. */
  readonly permissions: readonly Permission[];
  readonly isToken: boolean;
  readonly seesAll: boolean;
  /** With credentials that no request has ended. */
  readonly open: () => Promise<AdminClient>;
}

const PERMISSIONS: Readonly<Record<Role, readonly Permission[]>> = {
  admin: ['read', 'write', 'erase', 'move', 'administer'],
  operator: ['read', 'write', 'erase'],
  analyst: ['read'],
};

const ROWS = {
  disabled: 'UPDATE users SET disabled_at = now() WHERE id = $1',
  external: `UPDATE users SET identity = sha256($1::uuid::text::bytea), confirmed_at = now() WHERE id = $1`,
  unconfirmed: `UPDATE users SET identity = sha256($1::uuid::text::bytea), confirmed_at = now() - interval '16 minutes'
                 WHERE id = $1`,
  analyst: `UPDATE users SET role = 'analyst' WHERE id = $1`,
  expired: `UPDATE api_tokens SET expires_at = now() WHERE id = $1`,
  revoked: `UPDATE api_tokens SET revoked_at = now() WHERE id = $1`,
  ended: `DELETE FROM user_sessions WHERE user_id = $1`,
} as const;
const change = (row: keyof typeof ROWS, id: string) => admin.postgres.pool.query(ROWS[row], [id]);

let sites = 0;

async function ownSite(name: string): Promise<string> {
  sites += 1;
  const site = `${name.replaceAll(/[^a-z]+/g, '-')}-${sites}.example`;
  await required('POST', '/sites', { host: site });
  return site;
}

/** A signed-in user, with all sites or its own only. */
async function sessionCaller(name: string, role: Role, { sees = 'own' as 'own' | 'all', external = false } = {}) {
  const site = await ownSite(name);
  const user = await admin.addUser(role, sees === 'all' ? null : [site]);
  if (external) await change('external', user.id);
  const open = () => sessionOf(user, external ? withProvider : admin);
  const seesAll = sees === 'all' || role === 'admin';
  return { name, site, permissions: PERMISSIONS[role], isToken: false, seesAll, open } satisfies Caller;
}

/** A token that a user has created, restricted to its own site or not. */
async function tokenCaller(name: string, role: Role, scopes: readonly Scope[], sees: 'own' | 'all' = 'own') {
  const owner = await sessionCaller(`owner of ${name}`, role, { sees: role === 'admin' ? 'all' : sees });
  const { site } = owner;
  // That of an operator has no sites of its own: it has those of its owner.
  const sites = role === 'admin' && sees === 'own' ? [site] : null;
  const call = await admin.withToken(await owner.open(), scopes, sites);
  const open = async () => call;
  return { name, site, permissions: scopes, isToken: true, seesAll: sees === 'all', open } satisfies Caller;
}

/** A caller that is refused everywhere. */
async function refusedCaller(name: string, open: (site: string) => Promise<AdminClient>): Promise<Caller> {
  const site = await ownSite(name);
  const call = await open(site);
  return { name, site, permissions: [], isToken: false, seesAll: false, open: async () => call };
}

/** A session and a token of an operator, one of which is returned after the change. */
function afterChange(row: keyof typeof ROWS, kind: 'session' | 'token', api = admin) {
  return async (site: string) => {
    const user = await admin.addUser('operator', [site]);
    const session = await sessionOf(user, api);
    const token = await api.withToken(session, ['read', 'write', 'erase']);
    await change(row, row === 'expired' || row === 'revoked' ? token.id : user.id);
    return kind === 'session' ? session : token;
  };
}

/** Those who are not let in, whatever they ask for. */
const refusedCallers = () =>
  Promise.all([
    refusedCaller('no credentials', async () => admin.anonymous),
    refusedCaller('unknown token', async () => admin.withHeaders({ authorization: `Bearer cct_${'x'.repeat(43)}` })),
    refusedCaller('basic authentication', async () => admin.withHeaders({ authorization: 'Basic YTpi' })),
    refusedCaller('unknown session', async () => {
      const cookie = `__Host-cc_session_${new URL(admin.url).port}=${'x'.repeat(43)}`;
      return admin.withHeaders({ cookie, 'x-cc-csrf': '1' });
    }),
    refusedCaller('ended session', afterChange('ended', 'session')),
    refusedCaller('session of a disabled user', afterChange('disabled', 'session')),
    refusedCaller('token of a disabled user', afterChange('disabled', 'token')),
    refusedCaller('expired token', afterChange('expired', 'token')),
    refusedCaller('revoked token', afterChange('revoked', 'token')),
    refusedCaller('session that the provider did not confirm', async (site) =>
      afterChange('unconfirmed', 'session', withProvider)(site),
    ),
    refusedCaller('token that the provider did not confirm', async (site) =>
      afterChange('unconfirmed', 'token', withProvider)(site),
    ),
  ]);

/** Those who see their own site only. */
const RESTRICTED: Readonly<Record<string, () => Promise<Caller>>> = {
  operator: () => sessionCaller('operator', 'operator'),
  analyst: () => sessionCaller('analyst', 'analyst'),
  'operator of the provider': () => sessionCaller('operator of the provider', 'operator', { external: true }),
  'token of an operator': () => tokenCaller('token of an operator', 'operator', ['read', 'write', 'erase']),
  // Its owner sees all sites, and has signed in at the platform for the other one.
  'token of an administrator': () => tokenCaller('token of an administrator', 'admin', SCOPES),
  ...Object.fromEntries(
    SCOPES.map((scope) => {
      const name = `token to ${scope} only`;
      return [name, () => tokenCaller(name, 'admin', [scope])];
    }),
  ),
};

const restrictedCallers = () => Promise.all(Object.values(RESTRICTED).map((make) => make()));

/** Those who see all sites. */
const otherCallers = () =>
  Promise.all([
    sessionCaller('administrator', 'admin', { sees: 'all' }),
    // It could give itself the others.
    sessionCaller('administrator with one site', 'admin'),
    sessionCaller('operator of all sites', 'operator', { sees: 'all' }),
    sessionCaller('analyst of all sites', 'analyst', { sees: 'all' }),
    sessionCaller('administrator of the provider', 'admin', { sees: 'all', external: true }),
    tokenCaller('token for all sites', 'admin', SCOPES, 'all'),
    ...SCOPES.map((scope) => tokenCaller(`token to ${scope} all sites`, 'admin', [scope], 'all')),
    demotedOwner(),
  ]);

/** A token has no more than its owner has now. */
async function demotedOwner(): Promise<Caller> {
  const site = await ownSite('token of a former operator');
  const user = await admin.addUser('operator', null);
  const token = await admin.withToken(await sessionOf(user), ['read', 'write', 'erase']);
  await change('analyst', user.id);
  const access = { permissions: PERMISSIONS.analyst, isToken: true, seesAll: true };
  return { name: 'token of a former operator', site, ...access, open: async () => token };
}

type Outcome = 'unauthenticated' | 'forbidden' | 'let in';

function expectedOf({ permissions, isToken, seesAll }: Caller, { needs, by, allSites }: Operation): Outcome {
  if (needs === 'anyone') return 'let in';
  if (permissions.length === 0) return 'unauthenticated';
  const isAllowed = permissions.includes(needs) && !(by === 'user' && isToken) && (seesAll || !allSites);
  return isAllowed ? 'let in' : 'forbidden';
}

function outcomeOf({ status, body }: AdminReply): Outcome {
  if (status === 401 && body.detail.startsWith(SIGN_IN_FIRST)) return 'unauthenticated';
  return status === 403 ? 'forbidden' : 'let in';
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: object | undefined;
  readonly isForeign: boolean;
}

/** A route with the ids of the other site in its path and its query, and with each of its bodies. */
function requestsOf(route: string, site: string): Sent[] {
  const [method, path] = route.split(' ') as [string, string];
  const declared = operationOf(route).bodies?.(ids);
  const { own = [], foreign = [] } = declared ?? { own: [undefined] };
  const paths = CONNECTIONS.flatMap((connection) =>
    Object.values(ids).map((id) =>
      path
        .replace('{site}', site)
        .replace('{connection}', connection)
        .replace('{platform}', 'meta')
        .replace('{source}', 'shopify')
        .replace('{name}', 'no-such-projection')
        .replace('{id}', id),
    ),
  );
  const names = (documented.get(route)?.parameters ?? []).filter((parameter) => parameter.in === 'query');
  const queries = names.flatMap(({ name }) => {
    const value = NAMING_PARAMETERS[name]?.(ids);
    return value === undefined ? [] : [`?${name}=${encodeURIComponent(value)}`];
  });
  return [...new Set(paths)].flatMap((target) => [
    // The stream does not end.
    ...(route === STREAM ? [] : own.map((body) => ({ method, path: target, body, isForeign: path.includes('{id}') }))),
    ...foreign.map((body) => ({ method, path: target, body, isForeign: true })),
    ...queries.map((query) => ({ method, path: target + query, body: undefined, isForeign: false })),
  ]);
}

const send = (call: AdminClient, { method, path, body }: Sent) => call(path, { method, ...(body && { body }) });

/** The text with ids of nothing in place of those of the other site. */
function withUnknown(text: string): string {
  let replaced = text;
  const names = Object.keys(ids) as (keyof ForeignIds)[];
  for (const [known, unknown] of [
    ...Object.entries(UNKNOWN),
    ...names.map((name) => [ids[name], unknownIds[name]] as const),
  ])
    replaced = replaced.replaceAll(known, unknown).replaceAll(encodeURIComponent(known), encodeURIComponent(unknown));
  return replaced;
}

/** What a caller can tell of an answer. Times, positions and what was created by it differ in any case. */
function toldBy({ status, body, headers }: AdminReply): string {
  const retryAfter = headers['retry-after'];
  return withUnknown(JSON.stringify([status, body ?? null, retryAfter ?? null]))
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-(?!0000000000)[0-9a-f]{12}/g, '<id>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/"(position|asOf|durationMs|next)":\d+/g, '"$1":0')
    .replaceAll(/[\w-]{30,}/g, '<text>');
}

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

/** Names of the fields at any depth. */
function fieldsOf(schema: Schema | undefined): string[] {
  if (!schema) return [];
  const { $ref, properties = {}, anyOf = [], oneOf = [], allOf = [], items } = schema;
  const inner = [...Object.values(properties), ...anyOf, ...oneOf, ...allOf, ...(items ? [items] : [])];
  const referred = $ref === undefined ? [] : fieldsOf(schemas[$ref.split('/').at(-1) as string]);
  return [...Object.keys(properties), ...inner.flatMap(fieldsOf), ...referred];
}

function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const names = Array.isArray(value) ? [] : Object.keys(value);
  return [...names, ...Object.values(value).flatMap(namesIn)];
}

describe('the declared operations of the management API', () => {
  it('are those of its document', () => {
    expect(documented.size).toBeGreaterThan(80);
    expect([...ROUTES].sort()).toEqual([...documented.keys()].sort());
  });

  it('are those of its controllers, apart from addresses that browsers navigate to', () => {
    const leftOut = routesOfControllers(admin).filter((route) => !ROUTES.includes(route));
    expect(leftOut.sort()).toEqual(NAVIGATED.map(([route]) => route).sort());
  });

  it('declare a body if they take one, and everything that may name what belongs to a site', () => {
    for (const [route, { parameters = [], requestBody }] of documented) {
      const { bodies, ofMove } = operationOf(route);
      if (ofMove) continue;
      expect([route, bodies !== undefined]).toEqual([route, requestBody !== undefined]);
      for (const parameter of parameters) {
        const { in: place, name } = parameter;
        const inPath = ['site', 'connection', 'platform', 'source', 'id', 'name'];
        const known = place === 'path' ? inPath : [...Object.keys(NAMING_PARAMETERS), ...PLAIN_NAMES];
        if (place !== 'header') expect([route, place, known]).toEqual([route, place, expect.arrayContaining([name])]);
      }
      const declared = new Set([...namesIn(bodies?.(ids)), ...PLAIN_NAMES]);
      const fields = fieldsOf(requestBody?.content['application/json']?.schema);
      expect([route, fields.filter((field) => !declared.has(field))]).toEqual([route, []]);
    }
  });
});

describe('addresses that browsers navigate to', () => {
  it('give and change nothing without a sign-in that was started in this browser', async () => {
    const head = await log.head();
    for (const caller of [admin.anonymous, admin.withHeaders({ cookie: 'cc_platform=stolen; cc_sign_in=stolen' })])
      for (const [route, expected] of NAVIGATED) {
        const { status, headers } = await caller(
          `${route.replace('GET ', '')}?state=unknown&code=stolen&site=${OTHER}`,
        );
        expect([route, status, headers['set-cookie']]).toEqual([route, expected, undefined]);
        expect([undefined, '/?sign-in=expired']).toContain(headers['location']);
      }
    expect(await log.read({ after: head })).toEqual([]);
  });
});

describe('requests with ids of a site of others', () => {
  it.each(Object.entries(RESTRICTED))(
    'are answered as those with ids of nothing, and change nothing: %s',
    async (_, open) => {
      const caller = await open();
      await connect(caller.site, 'meta');
      await required('PUT', `/sites/${caller.site}/webhook`, { url: 'http://127.0.0.1:9/own' });
      const before = await stateOfOther();
      expect(Object.values(before.stored).filter((rows) => rows.length > 0).length).toBeGreaterThan(3);
      expect(await differencesFor(caller)).toEqual([]);
      const after = await stateOfOther();
      // Added by this test.
      const known = new Set(before.users.items.map(({ id }: { id: string }) => id));
      expect({
        ...after,
        users: { items: after.users.items.filter(({ id }: { id: string }) => known.has(id)) },
      }).toEqual(before);
    },
  );

  /** What is wrong about the answers to a caller. */
  async function differencesFor(caller: Caller): Promise<unknown[]> {
    const { name, site, open } = caller;
    const call = await open();
    const wrong: unknown[] = [];
    const compare = async (route: string, request: Sent) => {
      const text = JSON.stringify(request);
      const twin = JSON.parse(withUnknown(text)) as Sent;
      const [answer, expected] = [await send(call, request), await send(call, twin)];
      const learned = [...MARKERS, ...Object.values(ids)].filter(
        (marker) => JSON.stringify(answer.body ?? null).includes(marker) && !text.includes(marker),
      );
      if (learned.length > 0) wrong.push([name, request, { learned }]);
      const isSame = toldBy(answer) === toldBy(expected);
      if (text !== JSON.stringify(twin) && !isSame && !operationOf(route).told)
        wrong.push([name, request, { answer: toldBy(answer), ofUnknown: toldBy(expected) }]);
      return answer;
    };
    for (const route of ROUTES.filter((each) => !operationOf(each).endsSession)) {
      // The guard refuses by the permission alone, before it knows ids and bodies: one request shows it.
      const isForbidden = expectedOf(caller, operationOf(route)) === 'forbidden';
      const requestsTo = (host: string) => requestsOf(route, host).slice(0, isForbidden ? 1 : undefined);
      if (route.includes('{site}'))
        for (const request of requestsTo(OTHER)) {
          const { status } = await compare(route, request);
          if (status !== 404) wrong.push([name, request, { status }]);
        }
      // A wrong password counts as an attempt of everyone here.
      if (operationOf(route).needs === 'anyone') continue;
      for (const request of requestsTo(site)) {
        const { status, body } = await compare(route, request);
        // The site of the caller has no deliveries.
        if (route.endsWith('/retry') && status < 400 && body.requested !== 0) wrong.push([name, request, body]);
        if (request.isForeign && status < 400) wrong.push([name, request, { status }]);
      }
    }
    return wrong;
  }

  it('are accepted with the same bodies by those who may see the site', async () => {
    for (const route of ROUTES) {
      const { bodies, needs } = operationOf(route);
      if (!bodies || needs === 'anyone' || ACCEPTED_ELSEWHERE.includes(route)) continue;
      const id = route.includes('/keys/')
        ? ids.key
        : route.includes('/users/')
          ? ids.user
          : route.includes('/channels/')
            ? ids.channel
            : ids.signIn;
      const requests = requestsOf(route, OTHER).filter(({ path, body }) => {
        const isOfSignIn = path.includes('/sign-in/') || JSON.stringify(body ?? null).includes(ids.signIn);
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

describe('each operation, about the own site of each kind of caller', () => {
  it.each([
    ['is closed to who is not let in', refusedCallers],
    ['is open to who sees one site as declared', restrictedCallers],
    ['is open to who sees all sites as declared', otherCallers],
  ] as const)('%s', async (_, callers) => {
    const differing = await Promise.all(
      (await callers()).map(async (caller) => {
        const wrong: unknown[] = [];
        let call = await caller.open();
        for (const route of ROUTES) {
          const operation = operationOf(route);
          const [method, path] = route.split(' ') as [string, string];
          const target = path
            .replace('{site}', caller.site)
            .replace('{connection}', 'meta')
            .replace('{platform}', 'meta')
            .replace('{source}', 'shopify');
          const { own = [], foreign = [] } = operation.bodies?.(unknownIds) ?? {};
          const body = [...own, ...foreign][0];
          const reply = await call(
            target.replaceAll(/\{\w+\}/g, unknownId(0)) + (route === STREAM ? '?after=none' : ''),
            { method, ...(body && { body }) },
          );
          const [found, expected] = [outcomeOf(reply), expectedOf(caller, operation)];
          if (found !== expected)
            wrong.push([caller.name, route, { expected, status: reply.status, body: reply.body }]);
          if (operation.endsSession && !caller.isToken) call = await caller.open();
        }
        return wrong;
      }),
    );
    expect(differing.flat()).toEqual([]);
  });
});
