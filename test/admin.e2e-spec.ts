import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { createMigratedDatabase } from './support/databases.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { eventually, SECRET_KEY } from './support/service.js';
import { type ServiceProcess, spawnService } from './support/service-process.js';

jest.setTimeout(120_000);

describe('the management API beside the service', () => {
  let server: TestServer;
  let dataDir: string;
  let databaseUrl: string;
  let service: ServiceProcess | undefined;
  let other: Server | undefined;

  beforeAll(async () => {
    server = await startTestServer();
    dataDir = mkdtempSync(join(tmpdir(), 'cc-admin-'));
    databaseUrl = await createMigratedDatabase(server);
  });
  afterEach(async () => {
    await service?.end('SIGKILL').catch(() => {});
    await new Promise((resolve) => (other ? other.close(resolve) : resolve(undefined)));
    service = undefined;
    other = undefined;
  });
  afterAll(async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const start = (ADMIN_PORT: string) =>
    spawnService(dataDir, { DATABASE_URL: databaseUrl, SECRET_KEY, ADMIN_PORT, LOG_LEVEL: 'info' });
  const output = async () => service?.output() ?? '';
  const adminUrl = async () => {
    const text = await eventually(output, (text) => /"url":"http:/.test(text), { withinMs: 90_000 });
    return /"url":"(http:[^"]+)"/.exec(text)?.[1] as string;
  };

  it('has a port of its own and stops with the service', async () => {
    service = await start('0');
    const url = await adminUrl();
    expect((await fetch(`${url}/api/v1/sites`)).status).toBe(401);
    expect((await fetch(`${url}/__cc/inbound`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${service.url}/api/v1/sites`)).status).toBe(404);
    expect(await service.end('SIGTERM')).toBe(0);
    await expect(fetch(`${url}/api/v1/sites`)).rejects.toThrow();
  });

  it('waits for its port while conversions are accepted', async () => {
    const blocking = createServer();
    other = blocking;
    await new Promise<void>((resolve) => blocking.listen(0, '127.0.0.1', resolve));
    service = await start(String((blocking.address() as AddressInfo).port));
    await eventually(output, (text) => text.includes('EADDRINUSE'), { withinMs: 90_000 });
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    await new Promise((resolve) => blocking.close(resolve));
    other = undefined;
    expect((await fetch(`${await adminUrl()}/api/v1/sites`)).status).toBe(401);
  });
});
