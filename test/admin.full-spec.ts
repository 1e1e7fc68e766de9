import { existsSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { PLATFORMS } from '../src/platforms/index.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { startTestAdmin } from './support/admin.js';
import { createDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { followConsent, signInAt, startSignIn } from './support/platform-consent.js';
import { SECRET_KEY } from './support/secret-key.js';
import { type ServiceProcess, spawnService } from './support/service-process.js';
import { eventually } from './support/waiting.js';

const SIGN_IN_PLATFORMS = PLATFORMS.flatMap(({ name, authorization }) => (authorization ? [name] : []));

describe('the management API beside the service', () => {
  let dataDir: string;
  let databaseUrl: string;
  let service: ServiceProcess | undefined;
  let other: Server | undefined;

  beforeAll(async () => {
    dataDir = temporaryFolder('cc-admin-');
    databaseUrl = await createDatabase();
  });
  afterEach(async () => {
    await service?.end('SIGKILL').catch(() => {});
    await new Promise((resolve) => (other ? other.close(resolve) : resolve(undefined)));
    service = undefined;
    other = undefined;
  });
  afterAll(async () => {
    rmSync(dataDir, { recursive: true, force: true });
  });

  const start = (ADMIN_PORT: string) =>
    spawnService(dataDir, { DATABASE_URL: databaseUrl, SECRET_KEY, ADMIN_PORT, LOG_LEVEL: 'info' });
  const output = async () => service?.output() ?? '';
  /** What the service logged about each process of the management API that listens, as soon as there are so many. */
  const listening = async (count: number) => {
    const lines = (text: string) => text.split('\n').filter((line) => line.includes('The management API listens'));
    const text = await eventually(output, (text) => lines(text).length >= count);
    return lines(text).map((line) => JSON.parse(line) as { url: string; process: number });
  };
  const adminUrl = async () => (await listening(1))[0]?.url as string;

  it('has a port of its own and stops with the service', async () => {
    service = await start('0');
    const url = await adminUrl();
    expect((await fetch(`${url}/api/v1/sites`)).status).toBe(401);
    expect((await fetch(`${url}/__cc/inbound`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${service.url}/api/v1/sites`)).status).toBe(404);
    expect(await service.end('SIGTERM')).toBe(0);
    await expect(fetch(`${url}/api/v1/sites`)).rejects.toThrow();
  });

  it('answers a change of a site when the change is in force in the service', async () => {
    const password = 'correct horse battery staple';
    service = await spawnService(dataDir, {
      ...{ DATABASE_URL: databaseUrl, SECRET_KEY, ADMIN_PORT: '0', LOG_LEVEL: 'info', ADMIN_PASSWORD: password },
    });
    const { url } = service;
    const api = `${await adminUrl()}/api/v1`;
    const json = { 'content-type': 'application/json' };
    const credentials = JSON.stringify({ email: 'admin@localhost', password });
    const session = await fetch(`${api}/session`, { method: 'POST', headers: json, body: credentials });
    const cookie = String(session.headers.get('set-cookie')).split(';')[0] as string;
    const call = async (method: string, path: string, body?: object) => {
      const headers = { cookie, 'x-cc-csrf': '1', ...(body && json) };
      const reply = await fetch(`${api}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      expect([path, reply.ok]).toEqual([path, true]);
      return (await reply.json()) as { id: string; key: string };
    };
    let orders = 0;
    /** The host is the service's own, so that no proxy is needed. */
    const convert = async (key: string) => {
      orders += 1;
      const headers = { ...json, 'x-cc-api-key': key };
      const body = JSON.stringify({ email: 'jane@example.com', event: 'purchase', orderId: `O-${orders}` });
      const reply = await fetch(`${url}/__cc/inbound`, { method: 'POST', headers, body });
      const { results } = (await reply.json()) as { results?: Record<string, { reason?: string; status: string }> };
      return [reply.status, results?.['segment']?.status, results?.['segment']?.reason];
    };
    await call('POST', '/sites', { host: '127.0.0.1' });
    await call('PUT', '/sites/127.0.0.1/inbound', { enabled: true });
    for (let round = 0; round < 5; round += 1) {
      const { id, key } = await call('POST', '/sites/127.0.0.1/keys', { name: 'shop' });
      expect(await convert(key)).toEqual([200, undefined, undefined]);
      const connection = { settings: { write_key: 'key' }, endpoint: 'http://127.0.0.1:9/segment' };
      await call('PUT', '/sites/127.0.0.1/connections/segment', connection);
      expect((await convert(key)).slice(0, 2)).toEqual([200, 'queued']);
      await call('POST', '/sites/127.0.0.1/connections/segment/pause');
      expect(await convert(key)).toEqual([200, 'queued', 'paused']);
      const { key: rotated, id: next } = await call('POST', `/sites/127.0.0.1/keys/${id}/rotate`, { overlap: '0s' });
      expect([(await convert(key))[0], (await convert(rotated))[0]]).toEqual([401, 200]);
      await call('DELETE', `/sites/127.0.0.1/keys/${next}`);
      expect((await convert(rotated))[0]).toBe(401);
      await call('DELETE', '/sites/127.0.0.1/connections/segment');
    }
  });

  it('is started again after it was killed, and ends with a service that was killed', async () => {
    service = await start('0');
    const [first] = await listening(1);
    process.kill(first?.process as number, 'SIGKILL');
    const [, second] = await listening(2);
    expect((await fetch(`${second?.url}/api/v1/sites`)).status).toBe(401);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    await service.end('SIGKILL');
    service = undefined;
    await eventually(() => isRunning(second?.process as number), false);
  });

  it('is killed between the code and the tokens of sign-ins at all platforms: the person signs in again', async () => {
    service = await start('0');
    const [killed] = await listening(1);
    const sandbox = await new Sandbox().start();
    // Another instance, which is not killed.
    const admin = await startTestAdmin(databaseUrl);
    const caller = await admin.signedIn('admin');
    await caller.post('/sites', { host: 'killed.example' });
    const behaviours = async () => (await fetch(`${sandbox.url}/behave`)).text();
    const signIns: { name: string; answer: string; path: string; cookie: string }[] = [];
    for (const name of SIGN_IN_PLATFORMS) {
      const app = { clientId: 'app', clientSecret: 'secret', endpoint: `${sandbox.url}/${name}` };
      await caller.put(`/oauth-apps/${name}`, app);
      const hang = JSON.stringify({ platform: name, call: 'token', mode: 'hang', times: 1 });
      await fetch(`${sandbox.url}/behave`, { method: 'POST', body: hang });
      const { url, cookie, path } = await startSignIn(caller, 'killed.example', name);
      const answer = (await followConsent(url, 'Allow')).replace(admin.url, killed?.url as string);
      // The names of cookies contain the port, because the two have no address in common.
      const portOf = (of: string | undefined) => `_${new URL(of as string).port}=`;
      signIns.push({ name, answer, path, cookie: cookie.replaceAll(portOf(admin.url), portOf(killed?.url)) });
    }
    expect((await behaviours()).match(/hang/g)).toHaveLength(SIGN_IN_PLATFORMS.length);
    const coming = signIns.map(({ answer, cookie }) =>
      fetch(answer, { headers: { cookie }, redirect: 'manual' }).catch(() => 'killed'),
    );
    const statuses = () => Promise.all(signIns.map(async ({ path }) => (await caller(path)).body.status as string));
    await eventually(behaviours, (text) => !text.includes('hang'));
    process.kill(killed?.process as number, 'SIGKILL');
    expect(await Promise.all(coming)).toEqual(signIns.map(() => 'killed'));
    expect(await statuses()).toEqual(signIns.map(() => 'exchanging'));
    await admin.postgres.pool.query(`UPDATE platform_sign_ins SET changed_at = changed_at - interval '1 minute'`);
    expect(await statuses()).toEqual(signIns.map(() => 'interrupted'));
    for (const { name } of signIns)
      expect([name, (await signInAt(admin, caller, 'killed.example', name)).status]).toEqual([name, 'granted']);
    await admin.stop();
    await sandbox.stop();
  });

  it('stops before the embedded database, also while it starts', async () => {
    const folder = temporaryFolder('cc-admin-');
    const starting = await spawnService(folder, { ADMIN_PORT: '0', SHUTDOWN_GRACE: '60s' });
    expect(await starting.end('SIGTERM')).toBe(0);
    expect(existsSync(join(folder, 'postgres', 'postmaster.pid'))).toBe(false);
    rmSync(folder, { recursive: true, force: true });
  });

  it('waits for its port while conversions are accepted', async () => {
    const blocking = createServer();
    other = blocking;
    await new Promise<void>((resolve) => blocking.listen(0, '127.0.0.1', resolve));
    service = await start(String((blocking.address() as AddressInfo).port));
    await eventually(output, (text) => text.includes('EADDRINUSE'));
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    await new Promise((resolve) => blocking.close(resolve));
    other = undefined;
    expect((await fetch(`${await adminUrl()}/api/v1/sites`)).status).toBe(401);
  });
});

async function isRunning(pid: number): Promise<boolean> {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
