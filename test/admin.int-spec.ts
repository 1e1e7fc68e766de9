import { PassThrough } from 'node:stream';
import { runCli } from '../src/cli/run-cli.js';
import { Sealer } from '../src/kernel/sealing.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { bySession, SignInThrottle } from '../src/users/sign-in-throttle.js';
import { cookieOf, PASSWORD, startTestAdmin, useAdmin } from './support/admin.js';
import { SECRET_KEY } from './support/secret-key.js';
import { startReceiver } from './support/webhook-receiver.js';

const admin = await useAdmin();
const { log } = admin;

describe('management API', () => {
  it('signs a user in with a link, once, and then with the password', async () => {
    const { id, email } = await admin.addUser('admin');
    const { secret: link } = await admin.users.reset(id);
    const first = await admin.anonymous.post('/session/password', { link, password: PASSWORD });
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({ id, email, role: 'admin' });
    const again = await admin.anonymous.post('/session/password', { link, password: PASSWORD });
    expect(again.status).toBe(401);
    const signedIn = await admin.anonymous.post('/session', { email, password: PASSWORD });
    expect(signedIn.status).toBe(200);
    expect(signedIn.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^__Host-cc_session_\d+=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=604800$/,
      ),
      expect.stringMatching(
        /^__Host-cc_browser_\d+=[\w-]+; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=15552000$/,
      ),
    ]);
    const caller = admin.withHeaders({ cookie: cookieOf(signedIn) });
    expect((await caller('/session')).body.email).toBe(email);
  });

  it('replaces a key, and both are listed with the end of the overlap', async () => {
    const boss = await admin.signedIn('admin');
    await boss.post('/sites', { host: 'rotate.example' });
    const keys = '/sites/rotate.example/keys';
    const { status, body: old } = await boss.post(keys, { name: 'Shop' });
    expect([status, old]).toMatchObject([201, { name: 'Shop', key: expect.stringMatching(/^cc_/) }]);
    expect(old).not.toHaveProperty('hash');
    const rotated = await boss.post(`${keys}/${old.id}/rotate`);
    expect(rotated).toMatchObject({ status: 201, body: { name: 'Shop', key: expect.stringMatching(/^cc_/) } });
    const { id } = rotated.body;
    const replaced = { id: old.id, status: 'active', newKeyId: id, expiresAt: expect.any(String), lastUsedAt: null };
    expect((await boss(keys)).body.items).toEqual([
      expect.objectContaining(replaced),
      expect.not.objectContaining({ expiresAt: expect.anything() }),
    ]);
    const again = await boss.post(`${keys}/${old.id}/rotate`);
    expect(again).toMatchObject({ status: 422, body: { detail: expect.stringContaining(id) } });
    await boss.post(`${keys}/${id}/rotate`, { overlap: '0s' });
    const statuses = (await boss(keys)).body.items.map(({ status }: { status: string }) => status);
    expect(statuses).toEqual(['active', 'expired', 'active']);
    const bad = await boss.post(`${keys}/${id}/rotate`, { overlap: '1 day' });
    expect(bad.status).toBe(422);
  });

  it('refuses a change with the session cookie from a page of another origin', async () => {
    const operator = await admin.signedIn('operator');
    const body = { host: 'csrf.example' };
    const withoutHeader = await operator.post('/sites', body, { 'x-cc-csrf': undefined });
    expect(withoutHeader.status).toBe(403);
    const fromElsewhere = await operator.post('/sites', body, { origin: 'https://evil.example' });
    expect(fromElsewhere.status).toBe(421);
    const rebound = await operator('/sites', { headers: { host: 'evil.example:8081' } });
    expect(rebound).toMatchObject({ status: 421, body: { detail: expect.stringContaining('Use localhost') } });
    const own = await operator.post('/sites', body, { origin: admin.url, host: new URL(admin.url).host });
    expect(own.status).toBe(201);
  });

  it('opens a new session at each sign-in and ends all of them on request', async () => {
    const chosen = `__Host-cc_session_${new URL(admin.url).port}=${'A'.repeat(43)}`;
    const { email, reply: first } = await admin.signUp('analyst', null, { cookie: chosen });
    expect(cookieOf(first)).not.toBe(chosen);
    expect((await admin.withHeaders({ cookie: chosen })('/session')).status).toBe(401);
    const second = await admin.anonymous.post('/session', { email, password: PASSWORD });
    const [one, other] = [admin.withSession(first), admin.withSession(second)];
    expect((await one('/session')).status).toBe(200);
    expect((await one.delete('/session')).status).toBe(204);
    expect((await one('/session')).status).toBe(401);
    expect((await other('/session')).status).toBe(200);
    expect((await other.delete('/sessions')).status).toBe(204);
    expect((await other('/session')).status).toBe(401);
  });

  it('lists the own sessions, and ends the others', async () => {
    const { email, reply: first } = await admin.signUp('analyst');
    const second = await admin.anonymous.post('/session', { email, password: PASSWORD });
    const [one, other] = [admin.withSession(first), admin.withSession(second)];
    const { body } = await other('/sessions');
    expect(body.items).toMatchObject([{ current: true }, { current: false }]);
    expect(Object.keys(body.items[0]).sort()).toEqual(['createdAt', 'current', 'expiresAt', 'lastUsedAt']);
    expect((await other.delete('/sessions/others')).status).toBe(204);
    expect((await one('/session')).status).toBe(401);
    expect((await other('/sessions')).body.items).toMatchObject([{ current: true }]);
  });

  it('changes the own password with the current one, which ends the other sessions and links', async () => {
    const { email, reply: first } = await admin.signUp('analyst');
    const second = await admin.anonymous.post('/session', { email, password: PASSWORD });
    const [one, other] = [admin.withSession(first), admin.withSession(second)];
    const change = (current: string, next: string) => one.put('/session/password', { current, password: next });
    const another = 'another horse battery staple';
    expect(await change('a wrong password', another)).toMatchObject({
      status: 422,
      body: { detail: 'The current password is wrong.' },
    });
    expect(await change(PASSWORD, 'short')).toMatchObject({ status: 422 });
    expect((await other('/session')).status).toBe(200);
    expect((await change(PASSWORD, another)).status).toBe(204);
    expect((await one('/session')).status).toBe(200);
    expect((await other('/session')).status).toBe(401);
    const signIn = (password: string) => admin.anonymous.post('/session', { email, password });
    expect((await signIn(PASSWORD)).status).toBe(401);
    expect((await signIn(another)).status).toBe(200);
  });

  it('limits guesses of the current password, and says so to a user without one', async () => {
    const { id } = await admin.addUser('analyst');
    const { session } = await admin.openSession(id);
    const cookie = `__Host-cc_session_${new URL(admin.url).port}=${session}`;
    const user = admin.withHeaders({ cookie, 'x-cc-csrf': '1' });
    const guess = () => user.put('/session/password', { current: 'guess', password: 'another horse battery staple' });
    expect(await guess()).toMatchObject({ status: 422, body: { detail: expect.stringContaining('administrator') } });
    const throttle = new SignInThrottle(admin.postgres);
    for (let count = 0; count < 10; count += 1) await throttle.admit(bySession(session));
    expect(await guess()).toMatchObject({ status: 429, headers: { 'retry-after': expect.stringMatching(/^\d+$/) } });
  });

  it('ends the sessions and tokens of a disabled user, and keeps the last administrator', async () => {
    const boss = await admin.signedIn('admin');
    const operator = await admin.signedIn('operator');
    const { body: user } = await operator('/session');
    const token = await admin.withToken(operator, ['read']);
    expect((await token('/sites')).status).toBe(200);
    expect((await boss.patch(`/users/${user.id}`, { disabled: true })).body.disabled).toBe(true);
    expect((await operator('/session')).status).toBe(401);
    expect((await token('/sites')).status).toBe(401);
    for (const { id, role } of (await boss('/users')).body.items) {
      if (role === 'admin') await boss.patch(`/users/${id}`, { role: 'analyst' });
    }
    const { rows } = await admin.postgres.pool.query(
      `SELECT FROM cc.users WHERE role = 'admin' AND disabled_at IS NULL`,
    );
    expect(rows).toHaveLength(1);
  });

  it('lists only the sites that a caller may see, and says that they are not all', async () => {
    const boss = await admin.signedIn('admin');
    for (const host of ['one.example', 'two.example']) await boss.post('/sites', { host });
    const operator = await admin.signedIn('operator', ['one.example']);
    expect((await boss('/sites')).body.restricted).toBeUndefined();
    expect((await operator('/sites')).body).toMatchObject({ restricted: true, items: [{ host: 'one.example' }] });
    expect((await operator('/sites')).body.items).toHaveLength(1);
    const limited = await admin.withToken(boss, ['read'], ['one.example']);
    expect((await limited('/session')).body).toMatchObject({ role: 'admin', sites: ['one.example'] });
  });

  it('ends a token and a session on another instance at once', async () => {
    const operator = await admin.signedIn('operator');
    const created = await admin.withToken(operator, ['read']);
    const other = await startTestAdmin(admin.databaseUrl);
    try {
      const token = other.withHeaders({ authorization: `Bearer ${created.token}` });
      expect((await token('/sites')).status).toBe(200);
      expect((await operator.delete(`/tokens/${created.id}`)).status).toBe(204);
      expect((await token('/sites')).status).toBe(401);
      const { email } = (await operator('/session')).body;
      const opened = await admin.anonymous.post('/session', { email, password: PASSWORD });
      // Without ADMIN_URL each port has a cookie of its own; the session is the same.
      const cookie = cookieOf(opened).replace(/_\d+=/, `_${new URL(other.url).port}=`);
      const signedIn = other.withHeaders({ cookie });
      expect((await signedIn('/session')).status).toBe(200);
      expect((await operator.delete('/sessions')).status).toBe(204);
      expect((await signedIn('/session')).status).toBe(401);
    } finally {
      await other.stop();
    }
  });

  it('knows who asks although slow reads hold all connections', async () => {
    const operator = await admin.signedIn('operator');
    const { pool } = admin.postgres;
    const held = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
    try {
      expect((await operator('/session')).status).toBe(200);
    } finally {
      for (const client of held) client.release();
    }
  });

  it('carries out a write with an Idempotency-Key once', async () => {
    const operator = await admin.signedIn('operator');
    await operator.post('/sites', { host: 'once.example' });
    const call = { method: 'POST', body: { name: 'Shop' }, headers: { 'idempotency-key': 'abc' } };
    const first = await operator('/sites/once.example/keys', call);
    const second = await operator('/sites/once.example/keys', call);
    expect(second).toMatchObject({ status: 201, body: first.body, headers: { 'idempotency-replayed': 'true' } });
    expect((await operator('/sites/once.example/keys')).body.items).toHaveLength(1);
    const other = await operator('/sites/once.example/keys', { ...call, body: { name: 'Other' } });
    expect(other.status).toBe(422);
    const { rows } = await admin.postgres.pool.query<{ answer: Buffer }>('SELECT answer FROM cc.idempotency_keys');
    expect(rows.some(({ answer }) => answer.includes(first.body.key))).toBe(false);
    const refused = { method: 'POST', body: { host: 'not a host' }, headers: { 'idempotency-key': 'def' } };
    expect((await operator('/sites', refused)).status).toBe(422);
    const corrected = { ...refused, body: { host: 'corrected.example' } };
    expect((await operator('/sites', corrected)).status).toBe(201);
  });

  it('repeats an answer that an earlier version stored, which was its body alone', async () => {
    const operator = await admin.signedIn('operator');
    const { id } = (await operator('/session')).body;
    const call = { method: 'POST', body: { host: 'earlier.example' }, headers: { 'idempotency-key': 'earlier' } };
    const first = await operator('/sites', call);
    const sealed = new Sealer(Buffer.from(SECRET_KEY, 'hex')).seal(
      Buffer.from(JSON.stringify(first.body)),
      `idempotency user:${id} earlier`,
    );
    await admin.postgres.pool.query(`UPDATE cc.idempotency_keys SET answer = $1 WHERE key = 'earlier'`, [sealed]);
    const second = await operator('/sites', call);
    expect(second).toMatchObject({ status: 201, body: first.body, headers: { 'idempotency-replayed': 'true' } });
    expect(second.body).toMatchObject({ host: 'earlier.example' });
  });

  it('names each invalid field', async () => {
    const operator = await admin.signedIn('operator');
    const reply = await operator.post('/tokens', { name: '', scopes: ['all'], more: 1 });
    expect(reply.status).toBe(400);
    expect(reply.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(reply.body.errors.map(({ field }: { field: string }) => field)).toEqual(['name', 'scopes.0', '']);
    const broken = await operator.post('/tokens', '{');
    expect(broken).toMatchObject({ status: 400, body: { status: 400 } });
    expect((await operator('/nothing')).body).toMatchObject({ status: 404 });
  });

  it('changes the settings of a site, also lists of hashed addresses', async () => {
    const operator = await admin.signedIn('operator');
    await operator.post('/sites', { host: 'settings.example' });
    const path = '/sites/settings.example/settings';
    expect((await operator(path)).body).toMatchObject({ dedupWindow: '24h', blocked: [], botFilter: 'leads' });
    const body = {
      dedupWindow: '48h',
      consentRequired: true,
      blocked: { add: ['spam@mail.example', '@spam.example'] },
    };
    const changed = await operator.patch(path, body);
    expect(changed.body).toMatchObject({ dedupWindow: '2d', consentRequired: true });
    const [hash] = changed.body.blocked as string[];
    expect(changed.body.blocked).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), '@spam.example']);
    const removed = await operator.patch(path, { dedupWindow: null, blocked: { remove: [hash] } });
    expect(removed.body).toMatchObject({ dedupWindow: '24h', blocked: ['@spam.example'] });
    const wrong = await operator.patch(path, { dedupWindow: 'soon' });
    expect(wrong).toMatchObject({ status: 422, body: { detail: expect.stringMatching(/^dedup window: /) } });
    const aliases = { method: 'PATCH', body: { add: ['www.settings.example'] } };
    expect((await operator('/sites/settings.example/aliases', aliases)).body.aliases).toEqual(['www.settings.example']);
  });

  it('lists events, the sync log and the audit trail page by page, without personal data and secrets', async () => {
    const operator = await admin.signedIn('operator');
    const { body: user } = await operator('/session');
    await operator.post('/sites', { host: 'pages.example' });
    for (const enabled of [true, false, true, false]) await operator.put('/sites/pages.example/inbound', { enabled });
    await operator.post('/sites/pages.example/keys', { name: 'Shop' });
    const outcome = { conversionId: '01980000-0000-7000-8000-000000000001', platform: 'meta', attempt: 1 } as const;
    const events = [
      { type: 'conversion.failed.v1', data: { ...outcome, status: 'failed', reason: 'bad event', durationMs: 12 } },
      { type: 'conversion.delivered.v1', data: { ...outcome, attempt: 2, status: 'delivered', durationMs: 8 } },
    ] as never;
    const stream = { category: 'conversion', stream: outcome.conversionId, expected: 'any' } as const;
    await log.append({ ...stream, site: 'pages.example', actor: 'system', events });

    const types: string[] = [];
    for (let cursor: number | undefined, pages = 0; pages === 0 || cursor !== undefined; pages += 1) {
      const query = cursor === undefined ? '' : `&cursor=${cursor}`;
      const { body: page } = await operator(`/sites/pages.example/audit?limit=2${query}`);
      types.push(...page.items.map(({ type, actor }: { type: string; actor: string }) => `${type} ${actor}`));
      expect(JSON.stringify(page)).not.toContain('"hash"');
      cursor = page.next;
    }
    expect(types).toEqual(
      [
        'site.key_issued.v1',
        'site.inbound_disabled.v1',
        'site.inbound_enabled.v1',
        'site.inbound_disabled.v1',
        'site.inbound_enabled.v1',
        'site.registered.v1',
      ].map((type) => `${type} user:${user.id}`),
    );
    const failed = await operator('/sites/pages.example/sync-log?platform=meta&status=failed');
    expect(failed.body.items).toMatchObject([{ kind: 'delivery', platform: 'meta', reason: 'bad event', attempt: 1 }]);
    const delivered = await operator('/sites/pages.example/events?type=conversion.delivered.v1');
    expect(delivered.body.items).toMatchObject([{ type: 'conversion.delivered.v1', data: { attempt: 2 } }]);
    expect(delivered.body.items[0].personal).toBeUndefined();
    const either = await operator(
      '/sites/pages.example/events?type=conversion.delivered.v1&type=conversion.failed.v1&limit=2',
    );
    expect(either.body.items).toMatchObject([{ type: 'conversion.delivered.v1' }, { type: 'conversion.failed.v1' }]);
    for (const query of ['limit=0', 'limit=1000', 'cursor=x', 'other=1'])
      expect((await operator(`/sites/pages.example/events?${query}`)).status).toBe(400);
  });

  it('sets, tests and pushes a webhook', async () => {
    const receiver = await startReceiver();
    const local = await startTestAdmin(admin.databaseUrl, { OUTBOUND_ALLOW_PRIVATE: 'true' });
    try {
      const operator = await local.signedIn('operator');
      const { body: user } = await operator('/session');
      await operator.post('/sites', { host: 'hook.example' });
      expect((await operator('/sites/hook.example/webhook')).status).toBe(404);
      const set = await operator.put('/sites/hook.example/webhook', { url: receiver.url });
      expect(set.body).toMatchObject({ url: receiver.url, enabled: true, secret: expect.stringMatching(/^whsec_/) });
      expect((await operator('/sites/hook.example/webhook')).body.secret).toBeUndefined();
      const tested = await operator.post('/sites/hook.example/webhook/test');
      expect(tested.body).toMatchObject({ ok: true, httpStatus: 200 });
      const pushed = await operator.post('/sites/hook.example/webhook/push');
      expect(pushed.body.lastPush).toMatchObject({ status: 'delivered', conversions: 0 });
      const events = await log.read({ categories: ['outbound'], site: 'hook.example' });
      expect(new Set(events.map(({ actor }) => actor))).toEqual(new Set([`user:${user.id}`]));
      const move = async (url: string) => (await operator.put('/sites/hook.example/webhook', { url })).body.secret;
      expect(await move(`${receiver.url}/other-path`)).toBeUndefined();
      // Another receiver must not get the secret of this one.
      expect(await move('https://elsewhere.example/')).toMatch(/^whsec_/);
      const off = { method: 'PUT', body: { enabled: false } };
      expect((await operator('/sites/hook.example/webhook/enabled', off)).body.enabled).toBe(false);
      expect((await operator.post('/sites/hook.example/webhook/push')).status).toBe(422);
    } finally {
      await local.stop();
      await receiver.stop();
    }
  });

  it('connects platforms, several times under names, and never shows their secrets', async () => {
    const operator = await admin.signedIn('operator');
    const { body: user } = await operator('/session');
    await operator.post('/sites', { host: 'ads.example' });
    const connect = (name: string, body: object) => operator.put(`/sites/ads.example/connections/${name}`, body);
    const settings = { pixel_id: '123456789012345', access_token: 'a-very-secret-token' };
    const connected = await connect('meta', { settings });
    expect(connected.body).toMatchObject({ platform: 'meta', connected: true, settings: { access_token: true } });
    const second = await connect('meta:second', { settings });
    expect(second.body).toMatchObject({ platform: 'meta:second', sameAccountAs: 'meta' });
    const list = await operator('/sites/ads.example/connections');
    const shown = list.body.items.filter((item: { connected: boolean }) => item.connected);
    expect(shown).toMatchObject([
      { platform: 'meta', state: 'active', secrets: ['access_token'] },
      { platform: 'meta:second', state: 'active' },
    ]);
    expect(JSON.stringify(list.body)).not.toContain('a-very-secret-token');
    const change = (path: string, method = 'POST') => operator(`/sites/ads.example/connections/${path}`, { method });
    expect((await change('meta:second/pause')).body.state).toBe('paused');
    expect((await change('meta:second/resume')).body.state).toBe('active');
    expect((await change('meta:second', 'DELETE')).body.connected).toBe(false);
    expect((await change('meta:second/pause')).status).toBe(404);
    expect((await change('tiktok/test')).status).toBe(404);
    expect((await connect('meta', { settings: { pixel_id: 'x' } })).status).toBe(422);
    expect((await connect('nothing', { settings })).status).toBe(400);
    expect((await connect('meta:__proto__', { settings })).status).toBe(400);
    const events = await log.read({ categories: ['site'], site: 'ads.example' });
    expect(events.every(({ actor }) => actor === `user:${user.id}`)).toBe(true);
    expect(JSON.stringify(events)).not.toContain('a-very-secret-token');
  });

  it('lets only administrators choose the address that a platform is called at', async () => {
    const [operator, boss] = [await admin.signedIn('operator'), await admin.signedIn('admin')];
    await operator.post('/sites', { host: 'endpoint.example' });
    // With a test event code, the test sends a conversion.
    const settings = { pixel_id: '123456789012345', access_token: 'a-very-secret-token', test_event_code: 'TEST1' };
    const call = { method: 'PUT', body: { settings, endpoint: 'http://127.0.0.1:9/' } };
    expect((await operator('/sites/endpoint.example/connections/meta', call)).status).toBe(403);
    const program = await admin.withToken(boss, ['write']);
    expect((await program('/sites/endpoint.example/connections/meta', call)).status).toBe(403);
    const connected = await boss('/sites/endpoint.example/connections/meta', call);
    expect(connected).toMatchObject({ status: 200, body: { endpoint: 'http://127.0.0.1:9' } });
    const tested = await operator.post('/sites/endpoint.example/connections/meta/test');
    expect(tested.body).toMatchObject({ ok: false, reason: expect.stringContaining('ECONNREFUSED') });
  });

  it('lists what the account of a connection has, with its stored credentials', async () => {
    const [boss, operator, analyst] = [
      await admin.signedIn('admin'),
      await admin.signedIn('operator'),
      await admin.signedIn('analyst'),
    ];
    const sandbox = await new Sandbox().start();
    try {
      await boss.post('/sites', { host: 'options.example' });
      const connect = (platform: string, settings: object) =>
        boss.put(`/sites/options.example/connections/${platform}`, {
          settings,
          endpoint: `${sandbox.url}/${platform}`,
        });
      const options = (platform: string, caller = operator, query = '') =>
        caller(`/sites/options.example/connections/${platform}/options${query}`);
      const credentials = { client_id: 'app', client_secret: 'a-client-secret', refresh_token: 'a-refresh-token' };
      expect((await connect('google_ads', { customer_id: '1234567890', ...credentials })).status).toBe(200);
      const listed = await options('google_ads');
      expect(listed.status).toBe(200);
      expect(listed.body.truncated).toBe(false);
      expect(listed.body.options).toContainEqual({
        setting: 'event',
        value: '700000001',
        label: 'Order',
        parent: '1000000002',
        suits: 'purchase',
      });
      const one = await options('google_ads', operator, '?account=1000000003');
      const isEvent = ({ setting }: { setting?: string }) => setting === 'event';
      expect(one.body.options.filter(isEvent)).toMatchObject([{ value: '700000005', parent: '1000000003' }]);
      const printed = new PassThrough();
      const env = { DATABASE_URL: admin.databaseUrl, SECRET_KEY, LOG_LEVEL: 'silent' };
      const command = ['platforms', 'options', 'google_ads', '--site', 'options.example'];
      expect(await runCli(command, { env, stdout: printed, stderr: printed })).toBe(0);
      expect(String(printed.read())).toMatch(/^SETTING .*\n(.*\n)*event\.purchase +700000001 +Order +1000000002/);
      expect((await options('google_ads', operator, '?account=../../x')).status).toBe(422);
      expect((await options('google_ads', operator, '?limit=1')).status).toBe(400);

      expect((await options('google_ads', analyst)).status).toBe(403);
      expect((await options('meta')).status).toBe(404);
      await connect('meta', { pixel_id: '900000000000101', access_token: 'a-bad-token' });
      const refused = await options('meta');
      expect(refused).toMatchObject({ status: 422, body: { detail: expect.stringContaining('Sign in again') } });
      expect(JSON.stringify(refused.body)).not.toContain('a-bad-token');
      await connect('segment', { write_key: 'key' });
      expect((await options('segment')).body.detail).toContain('cannot list');
    } finally {
      await sandbox.stop();
    }
  });
});
