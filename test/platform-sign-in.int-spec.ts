import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { PlatformSignIns } from '../src/authorizations/platform-sign-ins.js';
import { checkData } from '../src/events/check-data.js';
import { Sealer } from '../src/kernel/sealing.js';
import { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { PLATFORMS } from '../src/platforms/index.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { type AdminClient, startTestAdmin, type TestAdmin } from './support/admin.js';
import { createDatabase } from './support/databases.js';
import { comeBack, followConsent, signInAt, startSignIn } from './support/platform-consent.js';
import {
  conversionId,
  getReceipt,
  type Operator,
  openOperator,
  post,
  startTestService,
  type TestService,
  type TestSite,
} from './support/service.js';
import { eventually } from './support/waiting.js';

/** What a person chooses after the sign-in. */
const CHOSEN: Readonly<Record<string, Record<string, string>>> = {
  google_ads: { customer_id: '1234567890', 'event.purchase': '111111111' },
  meta: { pixel_id: '111', test_event_code: 'TEST1' },
  tiktok: { pixel_code: 'PIXEL', test_event_code: 'TEST1' },
  microsoft_ads: {
    customer_id: '250000001',
    account_id: '180000001',
    developer_token: 'developer',
    'event.purchase': 'Signed contract',
  },
  linkedin: { 'event.purchase': '1001' },
  pinterest: { ad_account_id: '1' },
  snapchat: { pixel_id: '7e5a1b2c-0000-4000-8000-000000000001' },
  reddit: { pixel_id: 't2_demo1', test_id: 'test' },
};
const NAMES = Object.keys(CHOSEN);
const APP = { clientId: 'own-app', clientSecret: 'own-app-secret' };

let databaseUrl: string;
let sandbox: RunningSandbox;
let admin: TestAdmin;
let operator: Operator;
let log: EventLog;
let service: TestService;
let boss: AdminClient;
let site: TestSite;

beforeAll(async () => {
  sandbox = await new Sandbox().start();
  databaseUrl = await createDatabase();
  admin = await startTestAdmin(databaseUrl);
  operator = await openOperator(databaseUrl);
  log = new PostgresEventLog(admin.postgres);
  service = await startTestService(databaseUrl, { ADMIN_PORT: 'off', DELIVERY_RETRY_SCHEDULE: '1s' });
  boss = await admin.signedIn('admin');
  for (const name of NAMES) {
    const endpoint = `${sandbox.url}/${name}`;
    const set = await boss(`/oauth-apps/${name}`, { method: 'PUT', body: { ...APP, endpoint } });
    expect(set.status).toBe(200);
  }
});
afterAll(async () => {
  await service?.stop();
  await log?.close();
  await operator?.close();
  await admin?.stop();
  await sandbox?.stop();
});

beforeEach(async () => {
  site = await operator.openSite();
});

const connectionPath = (name: string) => `/sites/${site.host}/connections/${name}`;
const connect = (name: string, signIn: string, settings = CHOSEN[name]) =>
  boss(connectionPath(name), { method: 'PUT', body: { signIn, settings } });

async function behave(platform: string, mode: string, more: object = {}): Promise<void> {
  const body = JSON.stringify({ platform, mode, call: 'token', times: 1, ...more });
  expect((await fetch(`${sandbox.url}/behave`, { method: 'POST', body })).status).toBe(200);
}

async function connectionsBy(state: string): Promise<string[]> {
  const { body } = await boss(`/sites/${site.host}/connections`);
  return body.items.flatMap((item: { platform: string; state?: string }) =>
    item.state === state ? [item.platform] : [],
  );
}

describe('sign-in at a platform', () => {
  it('is offered by every platform with an OAuth app', async () => {
    expect(PLATFORMS.flatMap(({ name, authorization }) => (authorization ? [name] : [])).sort()).toEqual(
      NAMES.toSorted(),
    );
    const { body } = await boss('/platforms');
    expect(body.items.filter(({ signIn }: { signIn: boolean }) => signIn)).toHaveLength(NAMES.length);
    const none = await boss(`${connectionPath('x')}/sign-in`, { method: 'POST' });
    expect(none).toMatchObject({ status: 422, body: { detail: 'x has no sign-in: set its token or key.' } });
  });

  it('sets its cookie again when its start is repeated with the same Idempotency-Key', async () => {
    const start = () =>
      boss(`${connectionPath('meta')}/sign-in`, {
        method: 'POST',
        headers: { 'idempotency-key': `start-${site.host}` },
      });
    const [first, second] = [await start(), await start()];
    expect(second).toMatchObject({ status: 201, body: first.body, headers: { 'idempotency-replayed': 'true' } });
    expect(String(first.headers['set-cookie'])).toContain('cc_platform');
    expect(second.headers['set-cookie']).toEqual(first.headers['set-cookie']);
  });

  it.each(NAMES)('connects %s with tokens in place of secrets, and the connection works', async (name) => {
    const signedIn = await signInAt(admin, boss, site.host, name);
    expect([signedIn.status, signedIn.reason]).toEqual(['granted', undefined]);
    expect(signedIn.reply.status).toBe(303);
    expect(signedIn.reply.headers['location']).toBe(
      `/sites/${site.host}/integrations?connection=${name}&sign-in=${signedIn.id}`,
    );
    const listed = await boss(`${signedIn.path}/options`, {
      method: 'POST',
      body: { settings: name === 'microsoft_ads' ? { developer_token: 'developer' } : {} },
    });
    expect([listed.status, listed.body.detail]).toEqual([200, undefined]);
    expect(listed.body.options.length).toBeGreaterThan(0);
    const connected = await connect(name, signedIn.id);
    expect(connected).toMatchObject({ status: 200, body: { platform: name, connected: true, state: 'active' } });
    const tested = await boss(`${connectionPath(name)}/test`, { method: 'POST' });
    expect(tested.body).toMatchObject({ ok: true });
    expect((await boss(signedIn.path)).body.status).toBe('connected');
    // The tokens may have been replaced at the platform since.
    expect((await connect(name, signedIn.id)).status).toBe(409);
    const ofConnection = await boss(`${connectionPath(name)}/options`);
    expect([ofConnection.status, ofConnection.body.detail]).toEqual([200, undefined]);
  });

  it('says when a token ends that cannot be renewed', async () => {
    const { id } = await signInAt(admin, boss, site.host, 'meta');
    const { body } = await connect('meta', id);
    const inDays = (Date.parse(body.settings.access_token_expires) - Date.now()) / 86_400_000;
    expect(Math.round(inDays)).toBeGreaterThanOrEqual(58);
    const changed = await boss(connectionPath('meta'), {
      method: 'PUT',
      body: { settings: { access_token: 'of-a-system-user' } },
    });
    expect(changed.body.settings.access_token_expires).toBeUndefined();
  });

  it('brings revoked connections of every platform back with one sign-in each, and queued conversions are sent', async () => {
    for (const name of NAMES) {
      const { id } = await signInAt(admin, boss, site.host, name, 'Allow, and revoke the access afterwards');
      expect((await connect(name, id)).status).toBe(200);
    }
    await service.refreshSites();
    const reply = await post(service, site, {
      ...{ event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR', orderId: `of-${site.host}` },
      ...{ ipAddress: '203.0.113.7', userAgent: 'Mozilla/5.0' },
    });
    await eventually(
      () => connectionsBy('parked'),
      (parked) => parked.length === NAMES.length,
    );
    const { body: listed } = await boss(`/sites/${site.host}/connections`);
    const refused = listed.items.filter(({ needsReconnection }: { needsReconnection?: true }) => needsReconnection);
    expect(refused.map(({ platform }: { platform: string }) => platform).sort()).toEqual(NAMES.toSorted());
    for (const name of NAMES) expect((await signInAt(admin, boss, site.host, name)).status).toBe('connected');
    expect(await connectionsBy('parked')).toEqual([]);
    const sent = async () => {
      const { results } = JSON.parse((await getReceipt(service, site, `/${conversionId(reply)}`)).body);
      return NAMES.filter((name) => ['delivered', 'accepted'].includes(results[name]?.status));
    };
    await eventually(sent, (names) => names.length === NAMES.length);
    const { body: user } = await boss('/session');
    const events = await log.read({ categories: ['site'], site: site.host });
    const reconnections = events.filter(({ type }) => type === 'site.platform_connected.v1').slice(NAMES.length);
    expect(reconnections.map(({ actor }) => actor)).toEqual(NAMES.map(() => `user:${user.id}`));
  });

  it('fails when the person cancels, the platform refuses, or the code has expired, and can be started again', async () => {
    const links = ['Cancel', 'Refuse with an error', 'Allow with a code that has expired'] as const;
    for (const name of NAMES) {
      const reasons = [];
      for (const link of links) {
        const { status, reason } = await signInAt(admin, boss, site.host, name, link);
        expect(status).toBe('failed');
        reasons.push(reason);
      }
      expect(reasons).toEqual([
        'Access was not given at the platform.',
        'The platform refused: server_error',
        expect.stringMatching(/^The platform gave no token: HTTP \d+, .*expired/),
      ]);
      expect((await signInAt(admin, boss, site.host, name)).status).toBe('granted');
    }
  });

  it.each([
    [
      'answers 400',
      'refuse',
      'The platform gave no token: HTTP 400, invalid_grant: Token has been expired or revoked.',
    ],
    ['answers 500', 'server_error', expect.stringContaining('The platform gave no token: HTTP 503')],
    ['answers with a page', 'html', 'The platform gave no token: HTTP 200'],
    ['does not answer', 'hang', expect.stringContaining('The platform did not answer')],
    ['cuts the answer', 'half', expect.stringContaining('The platform did not answer')],
    ['redirects', 'redirect', 'The platform gave no token: HTTP 302'],
  ])('fails when the token endpoint %s', async (_, mode, expected) => {
    await behave('google_ads', mode);
    const { status, reason } = await signInAt(admin, boss, site.host, 'google_ads');
    expect([status, reason]).toEqual(['failed', expected]);
  });

  it.each(NAMES)(
    'accepts an answer of %s once, with its state, in the browser and the session that started it',
    async (name) => {
      const started = await startSignIn(boss, site.host, name);
      const expired = { status: 303, headers: expect.objectContaining({ location: '/?sign-in=expired' }) };
      const other = await admin.signedIn('operator');
      const others = await startSignIn(other, site.host, name);
      const answer = await followConsent(started.url, 'Allow');
      const wrong = await followConsent(started.url, 'Allow, and come back with another state');
      expect(await comeBack(admin, wrong, started.cookie)).toMatchObject(expired);
      expect(await comeBack(admin, answer, undefined)).toMatchObject(expired);
      expect(await comeBack(admin, answer, others.cookie)).toMatchObject(expired);
      // Another user's answer in this browser: the tokens of a stranger's account must not be connected.
      expect(await comeBack(admin, await followConsent(others.url, 'Allow'), started.cookie)).toMatchObject(expired);
      expect((await boss(started.path)).body.status).toBe('started');
      await comeBack(admin, answer, started.cookie);
      expect((await boss(started.path)).body.status).toBe('granted');
      expect(await comeBack(admin, answer, started.cookie)).toMatchObject(expired);
      // Neither another user nor another connection can use the tokens.
      expect((await other(started.path)).status).toBe(404);
      const body = { signIn: started.id, settings: CHOSEN[name] };
      expect((await other(connectionPath(name), { method: 'PUT', body })).status).toBe(409);
      expect((await boss(connectionPath(`${name}:second`), { method: 'PUT', body })).status).toBe(409);
    },
  );

  it('of two simultaneous answers with one state takes one', async () => {
    const started = await startSignIn(boss, site.host, 'google_ads');
    const answer = await followConsent(started.url, 'Allow');
    const replies = await Promise.all([1, 2, 3].map(() => comeBack(admin, answer, started.cookie)));
    const pages = replies.map(({ headers }) => String(headers['location']));
    expect(pages.filter((page) => page === '/?sign-in=expired')).toHaveLength(2);
    expect((await boss(started.path)).body.status).toBe('granted');
  });

  it.each(NAMES)('of %s ends after ten minutes, and can be started again', async (name) => {
    const late = await startSignIn(boss, site.host, name);
    await admin.postgres.pool.query(`UPDATE platform_sign_ins SET expires_at = now() - interval '1 ms' WHERE id = $1`, [
      late.id,
    ]);
    const answer = await followConsent(late.url, 'Allow');
    expect((await comeBack(admin, answer, late.cookie)).headers['location']).toBe('/?sign-in=expired');
    expect((await boss(late.path)).body.status).toBe('expired');
    expect((await connect(name, late.id)).status).toBe(409);
    expect((await signInAt(admin, boss, site.host, name)).status).toBe('granted');
  });

  it('ends with the session, and when the person may no longer change the site', async () => {
    const leaving = await admin.signedIn('operator');
    const left = await startSignIn(leaving, site.host, 'google_ads');
    await leaving('/session', { method: 'DELETE' });
    const reply = await comeBack(admin, await followConsent(left.url, 'Allow'), left.cookie);
    expect(reply.headers['location']).toBe('/?sign-in=expired');

    const demoted = await admin.signedIn('operator');
    const { body: user } = await demoted('/session');
    const begun = await startSignIn(demoted, site.host, 'google_ads');
    await boss(`/users/${user.id}`, { method: 'PATCH', body: { role: 'analyst' } });
    await comeBack(admin, await followConsent(begun.url, 'Allow'), begun.cookie);
    expect((await demoted(begun.path)).body).toMatchObject({
      status: 'failed',
      reason: 'You are signed out, or may not change this site any more.',
    });
  });

  it.each(NAMES)(
    'reports that the process ended between the code and the tokens of %s, and can be started again',
    async (name) => {
      const started = await startSignIn(boss, site.host, name);
      await admin.postgres.pool.query(
        `UPDATE platform_sign_ins SET status = 'exchanging', changed_at = now() - interval '2 minutes' WHERE id = $1`,
        [started.id],
      );
      expect((await boss(started.path)).body.status).toBe('interrupted');
      const { id, status } = await signInAt(admin, boss, site.host, name);
      expect(status).toBe('granted');
      expect((await connect(name, id)).status).toBe(200);
    },
  );

  it('is not shown as connected before it is, and reports that the process ended meanwhile', async () => {
    const { id, path } = await signInAt(admin, boss, site.host, 'google_ads');
    const { pool } = admin.postgres;
    const locking = await pool.connect();
    try {
      // The connection waits because it stores secrets.
      await locking.query('BEGIN');
      await locking.query('LOCK TABLE cc.secrets IN SHARE MODE');
      const connecting = connect('google_ads', id);
      await eventually(
        () => pool.query('SELECT status FROM platform_sign_ins WHERE id = $1', [id]),
        ({ rows }) => rows[0].status === 'connecting',
      );
      expect((await boss(path)).body.status).toBe('connecting');
      await pool.query(`UPDATE platform_sign_ins SET changed_at = now() - interval '2 minutes' WHERE id = $1`, [id]);
      expect((await boss(path)).body.status).toBe('interrupted');
      await locking.query('ROLLBACK');
      expect((await connecting).status).toBe(200);
    } finally {
      locking.release(true);
    }
    expect((await boss(path)).body.status).toBe('connected');
  });

  it('keeps the tokens when the settings of the new connection are refused', async () => {
    const { id } = await signInAt(admin, boss, site.host, 'google_ads');
    const refused = await connect('google_ads', id, {});
    expect(refused).toMatchObject({ status: 422, body: { detail: expect.stringContaining('customer_id') } });
    expect((await connect('google_ads', id)).status).toBe(200);
  });

  it('does not give the tokens of one endpoint to another', async () => {
    const { id } = await signInAt(admin, boss, site.host, 'google_ads');
    const settings = { ...CHOSEN['google_ads'], client_id: 'c', client_secret: 's', refresh_token: 'r' };
    await boss(connectionPath('google_ads'), { method: 'PUT', body: { settings } });
    expect(await connect('google_ads', id)).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('The endpoint of the connection was changed') },
    });
    const body = { signIn: id, settings, endpoint: 'http://127.0.0.1:1' };
    expect((await boss(connectionPath('google_ads'), { method: 'PUT', body })).status).toBe(400);
  });

  it('checks the endpoint of the connection as it is after the exchange', async () => {
    const change = (endpoint: string, settings = {}) =>
      boss(connectionPath('google_ads'), { method: 'PUT', body: { endpoint, settings } });
    const tokens = { access_token: 'a-token', refresh_token: 'a-refresh-token', expires_in: 3_600 };
    // The endpoint is changed while the platform answers.
    const platform = createServer(async (_, reply) => {
      await change('http://127.0.0.1:1');
      reply.setHeader('content-type', 'application/json').end(JSON.stringify(tokens));
    });
    await once(platform.listen(0, '127.0.0.1'), 'listening');
    try {
      const { port } = platform.address() as AddressInfo;
      const settings = { ...CHOSEN['google_ads'], client_id: 'c', client_secret: 's', refresh_token: 'r' };
      expect((await change(`http://127.0.0.1:${port}`, settings)).status).toBe(200);
      const { url, cookie, path } = await startSignIn(boss, site.host, 'google_ads');
      const state = new URL(url).searchParams.get('state');
      await comeBack(admin, `${admin.url}/api/v1/oauth/callback?code=a-code&state=${state}`, cookie);
      expect((await boss(path)).body).toMatchObject({
        status: 'failed',
        reason: expect.stringContaining('The endpoint of the connection was changed'),
      });
    } finally {
      platform.close();
    }
  });

  it('deletes tokens once they are used or have expired, and gives up the oldest of many sign-ins', async () => {
    const { pool } = admin.postgres;
    const sealedBytes = async (id: string) =>
      (await pool.query('SELECT length(sealed) AS bytes FROM platform_sign_ins WHERE id = $1', [id])).rows[0]?.bytes;
    const used = await signInAt(admin, boss, site.host, 'google_ads');
    expect(await sealedBytes(used.id)).toBeGreaterThan(0);
    expect((await connect('google_ads', used.id)).status).toBe(200);
    const failed = await signInAt(admin, boss, site.host, 'google_ads', 'Cancel');
    const late = await signInAt(admin, boss, site.host, 'tiktok');
    const signIns = new PlatformSignIns(admin.postgres, new Sealer(Buffer.alloc(32)));
    await signIns.clean();
    expect(await sealedBytes(late.id)).toBeGreaterThan(0);
    // The column rounds to milliseconds.
    await pool.query(`UPDATE platform_sign_ins SET expires_at = now() - interval '1 ms' WHERE id = $1`, [late.id]);
    await signIns.clean();
    for (const { id } of [used, failed, late]) expect(await sealedBytes(id)).toBe(0);
    expect((await boss(late.path)).body.status).toBe('expired');
    await pool.query(`UPDATE platform_sign_ins SET expires_at = now() - interval '2 hours' WHERE id = $1`, [late.id]);
    await signIns.clean();
    expect((await boss(late.path)).status).toBe(404);

    const other = await admin.signedIn('operator');
    const started = [];
    for (let count = 0; count < 21; count += 1) started.push(await startSignIn(other, site.host, 'google_ads'));
    const statuses = await Promise.all(started.map(async ({ path }) => (await other(path)).status));
    expect(statuses).toEqual([404, ...Array.from({ length: 20 }, () => 200)]);
  });

  it('refuses a connection that no sign-in helps', async () => {
    const settings = { tag_id: '1', access_token: 'of-the-tag', 'event.purchase': 'purchase' };
    await boss(connectionPath('microsoft_ads'), { method: 'PUT', body: { settings } });
    const reply = await boss(`${connectionPath('microsoft_ads')}/sign-in`, { method: 'POST' });
    expect(reply).toMatchObject({ status: 422, body: { detail: expect.stringContaining('mode=capi uses the token') } });
  });

  it('leaves no secret in the database, in events or in addresses', async () => {
    const { id, url, reply } = await signInAt(admin, boss, site.host, 'pinterest');
    await connect('pinterest', id);
    expect(url).not.toContain(APP.clientSecret);
    expect(String(reply.headers['location'])).not.toMatch(/sandbox-code|sandbox-token/);
    const { rows } = await admin.postgres.pool.query<{ name: string }>(
      `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables
        WHERE schemaname = 'cc' AND has_table_privilege(schemaname || '.' || tablename, 'SELECT')`,
    );
    expect(rows.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['cc.events', 'cc.secrets', 'cc.platform_sign_ins']),
    );
    // Binary columns are shown as hexadecimal digits.
    const secrets = ['own-app-secret', 'sandbox-code-', 'sandbox-token-', 'sandbox-refresh-'];
    const pattern = secrets.flatMap((text) => [text, Buffer.from(text).toString('hex')]).join('|');
    for (const { name } of rows) {
      const found = await admin.postgres.pool.query(`SELECT FROM ${name} AS t WHERE t::text ~ $1`, [pattern]);
      expect([name, found.rowCount]).toEqual([name, 0]);
    }
  });
});

describe('OAuth apps', () => {
  it('are set by administrators, and their secrets are not shown again', async () => {
    const set = await boss('/oauth-apps/reddit', {
      method: 'PUT',
      body: { ...APP, endpoint: `${sandbox.url}/reddit` },
    });
    expect(set.body).toEqual({
      ...{ platform: 'reddit', clientId: APP.clientId, endpoint: `${sandbox.url}/reddit`, fromSettings: false },
      redirectUri: `${admin.url}/api/v1/oauth/callback`,
    });
    const { body } = await boss('/oauth-apps');
    expect(body.items.map(({ platform }: { platform: string }) => platform).sort()).toEqual(NAMES.toSorted());
    expect(JSON.stringify(body)).not.toContain(APP.clientSecret);
    expect((await boss('/oauth-apps/x', { method: 'PUT', body: APP })).status).toBe(404);
    const invalid = { ...APP, endpoint: 'https://user:password@evil.example' };
    expect((await boss('/oauth-apps/reddit', { method: 'PUT', body: invalid })).status).toBe(422);
    const operatorUser = await admin.signedIn('operator');
    expect((await operatorUser('/oauth-apps')).status).toBe(403);
  });

  it('are recorded with who changed them, without their secrets', async () => {
    const { body: user } = await boss('/session');
    const head = await log.head();
    const app = { clientId: 'another-app', clientSecret: 'another-app-secret' };
    await boss('/oauth-apps/linkedin', { method: 'PUT', body: app });
    for (const _ of [1, 2]) await boss('/oauth-apps/linkedin', { method: 'DELETE' });
    const recorded = { stream: `user-${user.id}`, actor: `user:${user.id}`, site: '' };
    const events = await log.read({ after: head });
    expect(events).toMatchObject([
      { ...recorded, type: 'user.oauth_app_set.v1', data: { platform: 'linkedin', clientId: 'another-app' } },
      { ...recorded, type: 'user.oauth_app_removed.v1', data: { platform: 'linkedin' } },
    ]);
    for (const { type, data } of events) expect(checkData(type, data)).toBeUndefined();
    expect(JSON.stringify(events)).not.toContain(app.clientSecret);
    await boss('/oauth-apps/linkedin', { method: 'PUT', body: { ...APP, endpoint: `${sandbox.url}/linkedin` } });
  });

  it('are not stored if that cannot be recorded', async () => {
    jest.spyOn(admin.postgres.clock, 'refusal').mockReturnValue('the clock jumped');
    try {
      const body = { clientId: 'unrecorded', clientSecret: 'unrecorded-secret' };
      expect((await boss('/oauth-apps/reddit', { method: 'PUT', body })).status).toBeGreaterThanOrEqual(400);
      expect((await boss('/oauth-apps/reddit', { method: 'DELETE' })).status).toBeGreaterThanOrEqual(400);
    } finally {
      jest.restoreAllMocks();
    }
    expect((await boss('/oauth-apps/reddit')).body.clientId).toBe(APP.clientId);
  });

  it('may be settings of the service, which cannot be changed here', async () => {
    const environment = { GOOGLE_ADS_OAUTH_CLIENT_ID: 'of-settings', GOOGLE_ADS_OAUTH_CLIENT_SECRET: 'set-secret' };
    const other = await startTestAdmin(databaseUrl, environment);
    try {
      const administrator = await other.signedIn('admin');
      const shown = await administrator('/oauth-apps/google_ads');
      expect(shown.body).toMatchObject({ clientId: 'of-settings', fromSettings: true });
      expect(JSON.stringify(shown)).not.toContain('set-secret');
      const started = await startSignIn(administrator, site.host, 'google_ads');
      expect(new URL(started.url).searchParams.get('client_id')).toBe('of-settings');
      for (const change of [{ method: 'PUT', body: APP }, { method: 'DELETE' }])
        expect(await administrator('/oauth-apps/google_ads', change)).toMatchObject({
          status: 422,
          body: { detail: expect.stringContaining('GOOGLE_ADS_OAUTH_CLIENT_ID') },
        });
    } finally {
      await other.stop();
    }
  });

  it('are needed to sign in, except at a sandbox, which never gets the credentials of a real app', async () => {
    expect((await boss('/oauth-apps/snapchat', { method: 'DELETE' })).status).toBe(204);
    const refused = await boss(`${connectionPath('snapchat')}/sign-in`, { method: 'POST' });
    expect(refused).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('no OAuth app for snapchat') },
    });
    await boss('/oauth-apps/snapchat', { method: 'PUT', body: { clientId: 'real', clientSecret: 'real-secret' } });
    const atPlatform = await startSignIn(boss, site.host, 'snapchat');
    expect(atPlatform.url).toMatch(/^https:\/\/accounts\.snapchat\.com\/login\/oauth2\/authorize\?/);
    const endpoint = `${sandbox.url}/snapchat`;
    const settings = { ...CHOSEN['snapchat'], access_token: 'static' };
    await boss(connectionPath('snapchat'), { method: 'PUT', body: { settings, endpoint } });
    const { status, url } = await signInAt(admin, boss, site.host, 'snapchat');
    expect(new URL(url).searchParams.get('client_id')).toBe('sandbox-client');
    expect(status).toBe('connected');
    await boss('/oauth-apps/snapchat', { method: 'PUT', body: { ...APP, endpoint } });
  });
});
