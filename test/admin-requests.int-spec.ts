import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { TokensService } from '../src/users/tokens.service.js';
import { startTestAdmin, type TestAdmin, useAdmin } from './support/admin.js';
import { eventually } from './support/waiting.js';

const admin = await useAdmin();
const boss = await admin.signedIn('admin');

const JSON_TYPE = { 'content-type': 'application/json' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const TWICE = '{"email":"a@shop.example","email":"b@shop.example","password":"x"}';
const NUL = JSON.stringify({ email: 'ada\u0000@shop.example', password: 'x' });

function open({ url }: TestAdmin): Socket {
  return connect(Number(new URL(url).port), '127.0.0.1');
}

/** What the server sends before it closes the connection, which it may do before it has read everything. */
async function untilClosed(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => {});
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks).toString();
}

describe('the management API', () => {
  it.each([
    ['a path that cannot be decoded', '/api/v1/%zz', {}, 400],
    ['a part of the path that is too long', `/api/v1/sites/${'a'.repeat(1_000)}`, {}, 404],
    ['another type of body', '/api/v1/session', { method: 'POST', body: 'a=1', headers: FORM }, 415],
    ['a text that cannot be stored', '/api/v1/session', { method: 'POST', body: NUL, headers: JSON_TYPE }, 400],
    ['the same field twice', '/api/v1/session', { method: 'POST', body: TWICE, headers: JSON_TYPE }, 400],
    ['a method that the path does not have', '/api/v1/totals', { method: 'PUT', body: 'a=1', headers: FORM }, 405],
    ['a GET of a path that has none', '/api/v1/projections/deliveries/rebuild', {}, 405],
    ['an address that does not exist', '/api/v1/nothing', {}, 404],
    ['no body', '/api/v1/session', { method: 'POST', headers: JSON_TYPE }, 400],
  ])('answers %s with a problem', async (_, path, call, status) => {
    const reply = await fetch(`${admin.url}${path}`, call);
    expect(reply.status).toBe(status);
    expect(reply.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(await reply.json()).toMatchObject({ status, detail: expect.any(String) });
  });

  it('tells browsers to use https from then on, if ADMIN_URL is an https address', async () => {
    const https = { ADMIN_URL: 'https://admin.example', TRUSTED_PROXIES: '127.0.0.1' };
    const proxied = await startTestAdmin(admin.databaseUrl, https);
    try {
      const { port } = (proxied.app.getHttpServer() as Server).address() as AddressInfo;
      const headers = { 'x-forwarded-host': 'admin.example', 'x-forwarded-proto': 'https' };
      for (const path of ['/', '/api/v1/session/options', '/api/v1/%zz']) {
        const reply = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
        expect([path, reply.headers.get('strict-transport-security')]).toEqual([path, 'max-age=31536000']);
      }
      const plain = await fetch(`${admin.url}/api/v1/session/options`);
      expect(plain.headers.has('strict-transport-security')).toBe(false);
    } finally {
      await proxied.stop();
    }
  });

  it('names the methods that a path has', async () => {
    const reply = await fetch(`${admin.url}/api/v1/users/1`, { method: 'DELETE' });
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'GET, PATCH, HEAD']);
  });

  it.each([
    ['text that is not HTTP', 'hello\r\n\r\n', 400],
    ['headers that are too large', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
    ['more than 100 headers', `GET / HTTP/1.1\r\nHost: localhost\r\n${'x:\r\n'.repeat(1_100)}\r\n`, 431],
    ['two Host headers', 'GET / HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n\r\n', 400],
    ['headers that do not end', 'GET / HTTP/1.1\r\nHost: localhost\r\n', 408],
  ])('answers %s with a problem as well', async (_, text, status) => {
    const socket = open(admin);
    socket.write(text);
    const [head = '', body = ''] = (await untilClosed(socket)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*\\bcontent-type: application/problem\\+json`, 'i'));
    expect(head.match(/\bx-content-type-options: nosniff\b/gi)).toHaveLength(1);
    expect(JSON.parse(body)).toMatchObject({ status, detail: expect.any(String) });
  });

  it('finds a site with a long name', async () => {
    const host = `${'a'.repeat(60)}.${'b'.repeat(60)}.example`;
    await boss.post('/sites', { host });
    expect((await boss(`/sites/${host}`)).body).toMatchObject({ host });
  });

  it('does not say which site of others has a host', async () => {
    await boss.post('/sites', { host: 'own.example' });
    await boss.post('/sites', { host: 'other.example', aliases: ['shared.example'] });
    const operator = await admin.signedIn('operator', ['own.example']);
    const call = { method: 'PATCH', body: { add: ['shared.example'] } };
    const refused = await operator('/sites/own.example/aliases', call);
    expect(refused).toMatchObject({ status: 422, body: { detail: 'shared.example is in use.' } });
    const named = await boss('/sites/own.example/aliases', call);
    expect(named).toMatchObject({ status: 422, body: { detail: expect.stringContaining('other.example') } });
  });

  it('lets an operator add hosts of the domain of its site only, and an administrator any that are free', async () => {
    await boss.post('/sites', { host: 'www.mine.co.uk' });
    await boss.post('/sites', { host: 'shop.mine.co.uk', aliases: ['old.mine.co.uk'] });
    const operator = await admin.signedIn('operator', ['www.mine.co.uk']);
    const add = async (caller: typeof boss, host: string) => {
      const { status, body } = await caller.patch('/sites/www.mine.co.uk/aliases', { add: [host] });
      return [host, status, body.detail ?? body.aliases.includes(host)];
    };
    const refusals = [
      [
        'theirs.co.uk',
        'theirs.co.uk is not a host of mine.co.uk, as www.mine.co.uk is: only callers with access to all sites can add it.',
      ],
      [
        'co.uk',
        'co.uk is not a host of mine.co.uk, as www.mine.co.uk is: only callers with access to all sites can add it.',
      ],
      ['shop.mine.co.uk', 'shop.mine.co.uk is in use.'],
      ['a.shop.mine.co.uk', 'a.shop.mine.co.uk is in use, or lies above or below a host that is.'],
      ['a.old.mine.co.uk', 'a.old.mine.co.uk is in use, or lies above or below a host that is.'],
      ['mine.co.uk', 'mine.co.uk is in use, or lies above or below a host that is.'],
    ] as const;
    for (const [host, detail] of refusals) expect(await add(operator, host)).toEqual([host, 422, detail]);
    expect(await add(operator, 'track.mine.co.uk')).toEqual(['track.mine.co.uk', 200, true]);
    for (const host of ['theirs.co.uk', 'mine.co.uk']) expect(await add(boss, host)).toEqual([host, 200, true]);
    const body = { host: 'new.mine.co.uk' };
    expect((await operator.post('/sites', body)).status).toBe(403);
  });

  it('does not revive the tokens of a user who is enabled again', async () => {
    const { id } = await admin.addUser('operator');
    const tokens = new TokensService(admin.postgres);
    const created = await tokens.create(await admin.openSession(id), { name: 'CI', scopes: ['read'], sites: null });
    const holder = admin.withHeaders({ authorization: `Bearer ${created?.token}` });
    expect((await holder('/sites')).status).toBe(200);
    for (const disabled of [true, false]) await boss.patch(`/users/${id}`, { disabled });
    expect((await holder('/sites')).status).toBe(401);
    const { rows } = await admin.postgres.pool.query(
      'SELECT FROM cc.api_tokens WHERE owner_id = $1 AND revoked_at IS NULL',
      [id],
    );
    expect(rows).toEqual([]);
  });

  it('ends a list at its end, whatever the cursor is', async () => {
    await boss.post('/sites', { host: 'list.example' });
    for (const list of ['conversions', 'events', 'sync-log']) {
      for (const cursor of ['0', '-1', '1.5', '9'.repeat(400), '1;DROP'])
        expect((await boss(`/sites/list.example/${list}?cursor=${cursor}`)).status).toBe(400);
      const { status } = await boss(`/sites/list.example/${list}?cursor=${Number.MAX_SAFE_INTEGER}`);
      expect(status).toBe(200);
    }
    const { body } = await boss(`/sites/list.example/audit?cursor=${Number.MAX_SAFE_INTEGER}`);
    expect(body).toMatchObject({ items: [{ type: 'site.registered.v1' }] });
    expect(body.next).toBeUndefined();
  });

  it('answers requests when it stops, and cuts off one that does not end', async () => {
    const other = await startTestAdmin(admin.databaseUrl, { SHUTDOWN_GRACE: '20s' });
    const { email } = await other.addUser('analyst');
    const slow = open(other);
    slow.write('POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n');
    slow.write('Content-Type: application/json\r\n\r\n{');
    const cut = once(slow, 'close');
    slow.on('error', () => {}).resume();
    const answer = other.anonymous.post('/session', { email, password: 'wrong' });
    // Counted before the password is hashed, which takes a moment.
    const attempts = async () => (await admin.postgres.pool.query('SELECT FROM cc.sign_in_attempts')).rowCount;
    await eventually(attempts, (count) => Number(count) > 0);
    await Promise.all([other.stop(), cut]);
    expect((await answer).status).toBe(401);
  });
});
