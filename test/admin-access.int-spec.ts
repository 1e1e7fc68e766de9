import { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { type AdminClient, startTestAdmin, type TestAdmin } from './support/admin.js';
import { routesOfControllers } from './support/admin-routes.js';
import { createDatabase } from './support/databases.js';
import { storeConversion } from './support/stored-conversion.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
/** Routes for signing in and out, which need no session. */
const ANONYMOUS = ['GET /session/options', 'POST /session', 'POST /session/password', 'DELETE /session'];
/** Addresses that browsers navigate to, which the document leaves out. Without a provider, and without a sign-in that was started: */
const NAVIGATED = [
  ['GET /session/provider', 404],
  ['GET /session/provider/callback', 404],
  ['GET /session/provider/sign-out', 404],
  ['GET /oauth/callback', 303],
] as const;
/** Changes that every user may make, because they concern only the user's own sessions and tokens. */
const OWN = [
  ...['PUT /session/password', 'DELETE /sessions', 'DELETE /sessions/others'],
  ...['POST /tokens', 'DELETE /tokens/{id}'],
];
const ID = '01980000-0000-7000-8000-000000000000';

let admin: TestAdmin;
let log: EventLog;
let routes: string[];
/** Those that take a site in the query. */
let bySite: string[];

beforeAll(async () => {
  admin = await startTestAdmin(await createDatabase());
  log = new PostgresEventLog(admin.postgres);
  const { body: document } = await admin.anonymous('/openapi.json');
  routes = Object.entries(document.paths as Record<string, object>).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter((method) => METHODS.includes(method))
      .map((method) => `${method.toUpperCase()} ${path.replace('/api/v1', '')}`),
  );
  bySite = routes.filter((route) => {
    const [method, path] = route.split(' ') as [string, string];
    const { parameters = [] } = document.paths[`/api/v1${path}`][method.toLowerCase()];
    return parameters.some(
      (parameter: { in: string; name: string }) => parameter.in === 'query' && parameter.name === 'site',
    );
  });
  const boss = await admin.signedIn('admin');
  await boss('/sites', { method: 'POST', body: { host: 'own.example' } });
  await boss('/sites', { method: 'POST', body: { host: 'other.example' } });
});
afterAll(async () => {
  await log?.close();
  await admin?.stop();
});

/** The status of each route for a caller, with this site in the path. */
async function statuses(caller: AdminClient, site: string, list: readonly string[]): Promise<[string, number][]> {
  const found: [string, number][] = [];
  for (const route of list) {
    const [method, path] = route.split(' ') as [string, string];
    const target = path.replace('{site}', site).replaceAll(/\{\w+\}/g, ID);
    found.push([route, (await caller(target, { method })).status]);
  }
  return found;
}

const all = (list: readonly string[], status: number) => list.map((route) => [route, status]);
const isChange = (route: string) => !route.startsWith('GET ');

describe('access to the management API', () => {
  it('covers every route of the document', () => {
    expect(routes.length).toBeGreaterThan(10);
    expect(routes).toEqual(expect.arrayContaining([...ANONYMOUS, ...OWN]));
  });

  it('covers every route of the controllers: those that the document leaves out are for anyone', async () => {
    const leftOut = routesOfControllers(admin).filter((route) => !routes.includes(route));
    expect(leftOut.sort()).toEqual(NAVIGATED.map(([route]) => route).sort());
    const head = await log.head();
    for (const caller of [admin.anonymous, admin.withHeaders({ cookie: 'cc_platform=stolen; cc_sign_in=stolen' })])
      for (const [route, expected] of NAVIGATED) {
        const { status, headers } = await caller(
          `${route.replace('GET ', '')}?state=unknown&code=stolen&site=other.example`,
        );
        expect([route, status, headers['set-cookie']]).toEqual([route, expected, undefined]);
        expect([undefined, '/?sign-in=expired']).toContain(headers['location']);
      }
    expect(await log.read({ after: head })).toEqual([]);
  });

  it('answers 404 about a site of others in the query, as about one that does not exist', async () => {
    expect(bySite).toEqual(['GET /events', 'GET /jobs']);
    const boss = await admin.signedIn('admin');
    await boss('/sites/other.example/jobs', { method: 'POST', body: { kind: 'export', format: 'csv' } });
    for (const role of ['operator', 'analyst'] as const) {
      const user = await admin.signedIn(role, ['own.example']);
      const { body } = await user('/tokens', { method: 'POST', body: { name: 'all', scopes: ['read'] } });
      const token = admin.withHeaders({ authorization: `Bearer ${body.token}` });
      for (const caller of [user, token])
        for (const route of bySite) {
          const answers = [];
          for (const site of ['other.example', 'unknown.example']) {
            const answer = await caller(`${route.replace('GET ', '')}?site=${site}`);
            answers.push(JSON.stringify([answer.status, answer.body]).replaceAll(site, '<site>'));
          }
          expect([route, answers[0]]).toEqual([route, expect.stringMatching(/^\[404,/)]);
          expect([route, answers[1]]).toEqual([route, answers[0]]);
        }
      expect((await user('/jobs')).body.items).toEqual([]);
      expect((await token('/jobs?site=own.example')).body.items).toEqual([]);
    }
  });

  it('answers 401 without a session or a token', async () => {
    const closed = routes.filter((route) => !ANONYMOUS.includes(route));
    expect(await statuses(admin.anonymous, 'own.example', closed)).toEqual(all(closed, 401));
    for (const headers of [{ authorization: 'Bearer cct_wrong-wrong-wrong-wrong' }, { authorization: 'Basic YTpi' }])
      expect(await statuses(admin.withHeaders(headers), 'own.example', closed)).toEqual(all(closed, 401));
  });

  it('answers 404 about a site of others to every role, and changes nothing', async () => {
    const aboutSites = routes.filter((route) => route.includes('{site}'));
    const head = await log.head();
    for (const role of ['operator', 'analyst'] as const) {
      const caller = await admin.signedIn(role, ['own.example']);
      expect(await statuses(caller, 'other.example', aboutSites)).toEqual(all(aboutSites, 404));
      const { body } = await caller('/tokens', { method: 'POST', body: { name: 'all', scopes: ['read'] } });
      const token = admin.withHeaders({ authorization: `Bearer ${body.token}` });
      expect(await statuses(token, 'other.example', aboutSites)).toEqual(all(aboutSites, 404));
    }
    // Apart from the users and tokens of this test.
    const types = (await log.read({ after: head })).map(({ type }) => type);
    expect(types.filter((type) => !type.startsWith('user.'))).toEqual([]);
  });

  it('does not find what belongs to a site of others, in any role', async () => {
    const settings = { pixel_id: '1', access_token: 'token' };
    const id = await storeConversion(log, { site: 'other.example', orderId: 'ORD-1', settings, outcomes: [] });
    for (const role of ['operator', 'analyst'] as const) {
      const user = await admin.signedIn(role, ['own.example']);
      const { body } = await user('/tokens', { method: 'POST', body: { name: 'all', scopes: ['read'] } });
      for (const caller of [user, admin.withHeaders({ authorization: `Bearer ${body.token}` })]) {
        expect((await caller(`/sites/own.example/conversions/${id}`)).status).toBe(404);
        expect((await caller('/sites/own.example/conversions?order=ORD-1')).body.items).toEqual([]);
        expect((await caller('/events?site=other.example')).status).toBe(404);
      }
    }
  });

  it('finds and changes nothing of a site of others by the ids of what it has', async () => {
    const boss = await admin.signedIn('admin');
    const other = '/sites/other.example';
    const { body: key } = await boss(`${other}/keys`, { method: 'POST', body: { name: 'Secret shop' } });
    const settings = { pixel_id: '1', access_token: 'token' };
    await boss(`${other}/connections/meta`, { method: 'PUT', body: { settings } });
    await boss(`${other}/webhook`, { method: 'PUT', body: { url: 'https://hooks.other.example/totals' } });
    const { body: job } = await boss(`${other}/jobs`, { method: 'POST', body: { kind: 'export', format: 'csv' } });
    const conversion = await storeConversion(log, {
      ...{ site: 'other.example', orderId: 'ORD-SECRET', settings },
      outcomes: [{ status: 'failed', reason: 'gave_up' }],
    });
    const ids = [key.key?.id ?? key.id, job.id, conversion];
    expect(ids).toEqual(ids.map(() => expect.stringMatching(/^[0-9a-f-]{36}$/)));
    const head = await log.head();
    // The stream of events does not end; it has a spec of its own.
    const tried = routes.filter((route) => ![...ANONYMOUS, ...OWN, 'GET /events'].includes(route));
    for (const role of ['operator', 'analyst'] as const) {
      const user = await admin.signedIn(role, ['own.example']);
      const { body } = await user('/tokens', { method: 'POST', body: { name: 'all', scopes: ['read'] } });
      for (const caller of [user, admin.withHeaders({ authorization: `Bearer ${body.token}` })])
        for (const route of tried)
          for (const id of ids) {
            const [method, path] = route.split(' ') as [string, string];
            // No body: what is created or set in the own site is of no interest.
            const target = path.replace('{site}', 'own.example').replace('{connection}', 'meta');
            const answer = await caller(target.replaceAll(/\{\w+\}/g, id), { method });
            const text = JSON.stringify(answer.body ?? null);
            expect([route, /other\.example|ORD-SECRET|Secret shop/.exec(text)?.[0]]).toEqual([route, undefined]);
            if (path.includes('{id}')) expect([route, answer.status >= 400]).toEqual([route, true]);
          }
    }
    expect(await log.read({ after: head, site: 'other.example' })).toEqual([]);
    expect((await boss(`/jobs/${job.id}`)).body.state).not.toBe('cancelled');
  });

  it('answers 403 to every change by an analyst', async () => {
    const changes = routes.filter((route) => isChange(route) && ![...ANONYMOUS, ...OWN].includes(route));
    const analyst = await admin.signedIn('analyst');
    expect(await statuses(analyst, 'own.example', changes)).toEqual(all(changes, 403));
    const boss = await admin.signedIn('admin');
    const { body } = await boss('/tokens', { method: 'POST', body: { name: 'reads', scopes: ['read'] } });
    const token = admin.withHeaders({ authorization: `Bearer ${body.token}` });
    expect(await statuses(token, 'own.example', changes)).toEqual(all(changes, 403));
  });

  it('lets only administrators manage users, and no token manage users or tokens', async () => {
    const ofUsers = routes.filter((route) => / \/(users|audit|oauth-apps)/.test(route));
    const operator = await admin.signedIn('operator');
    expect(await statuses(operator, 'own.example', ofUsers)).toEqual(all(ofUsers, 403));
    const boss = await admin.signedIn('admin');
    const { body } = await boss('/tokens', {
      method: 'POST',
      body: { name: 'full', scopes: ['read', 'write', 'erase'] },
    });
    const token = admin.withHeaders({ authorization: `Bearer ${body.token}` });
    const forUsers = routes.filter((route) => route.includes(' /users') || route.includes(' /tokens'));
    expect(await statuses(token, 'own.example', forUsers)).toEqual(all(forUsers, 403));
  });
});
