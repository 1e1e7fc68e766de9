import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION_STREAM } from '../src/events/log.events.js';
import { productVersion } from '../src/kernel/product-version.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { Postgres } from '../src/postgres/postgres.js';
import { DisconnectPlatform } from '../src/sites/connections/connection.commands.js';
import { DisconnectPlatformHandler } from '../src/sites/connections/connection.handlers.js';
import { RevokeKey } from '../src/sites/keys/key.commands.js';
import { RevokeKeyHandler } from '../src/sites/keys/key.handlers.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { temporaryFolder } from './support/folders.js';
import { type ServiceProcess, spawnService } from './support/service-process.js';

describe('a second start on the same data folder', () => {
  let dataDir: string;
  let service: ServiceProcess;
  let postgres: Postgres;
  let log: PostgresEventLog;

  beforeAll(async () => {
    dataDir = temporaryFolder('cc-second-');
    service = await spawnService(dataDir, { DEMO_PLATFORMS: 'true' });
    postgres = await Postgres.open({ databaseUrl: undefined, dataDir, onMessage: () => {} });
    log = new PostgresEventLog(postgres);
  });
  afterAll(async () => {
    await service?.end('SIGTERM').catch(() => {});
    await log?.close();
    await postgres?.close();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  const versionsStarted = async () => (await log.readStream('log', VERSION_STREAM)).map(({ data }) => data);
  const siteEvents = async () => (await log.read({ categories: ['site'] })).map(({ type }) => type);
  const sandboxPort = () => readFileSync(join(dataDir, 'demo-sandbox-port'), 'utf8');

  it('is refused with the port in use, or with the owner of the folder, and changes nothing', async () => {
    const before = { events: await siteEvents(), port: sandboxPort() };
    expect(before.events.filter((type) => type === 'site.platform_connected.v1')).toHaveLength(12);
    const samePort = { DEMO_PLATFORMS: 'true', PORT: new URL(service.url).port };
    await expect(spawnService(dataDir, samePort)).rejects.toThrow(/^Exited with 1: Port \d+ on 127.0.0.1 is in use/);
    const otherPort = { DEMO_PLATFORMS: 'true' };
    await expect(spawnService(dataDir, otherPort)).rejects.toThrow(/Another service runs on the data folder/);
    expect({ events: await siteEvents(), port: sandboxPort() }).toEqual(before);
  });

  it('after a crash succeeds, and leaves the demo site as the operator left it', async () => {
    const sites = new SiteRepository(log);
    const { host, keys } = await sites.get('localhost');
    await new RevokeKeyHandler(sites).execute(new RevokeKey('cli', host, keys[0]?.id as string));
    const noSecrets = { within: () => ({ deleteConnectionSecrets: async () => {} }) } as never;
    await new DisconnectPlatformHandler(sites, noSecrets).execute(new DisconnectPlatform('cli', host, 'meta'));
    const before = await siteEvents();
    await service.end('SIGKILL');
    service = await spawnService(dataDir, { DEMO_PLATFORMS: 'true' });
    expect(service.output()).not.toContain('X-CC-Api-Key');
    const after = await sites.get(host);
    expect(after.keys.map(({ status }) => status)).toEqual(['revoked']);
    expect(after.connections.find(({ platform }) => platform === 'meta')).toMatchObject({ disconnected: true });
    // The killed service's sandbox may still hold the port, so that the others follow to a new one.
    const added = (await siteEvents()).slice(before.length);
    expect(added.filter((type) => type !== 'site.platform_connected.v1')).toEqual([]);
    expect([0, 11]).toContain(added.length);
    // Both starts were of this version.
    expect(await versionsStarted()).toEqual([{ version: productVersion() }]);
  });
});
