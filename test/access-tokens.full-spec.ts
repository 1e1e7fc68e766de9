import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AccessTokens } from '../src/delivery/connections/access-tokens.js';
import { PlatformClient } from '../src/delivery/connections/platform-client.js';
import { DatabaseTokenStore } from '../src/delivery/connections/token-store.js';
import { Sealer } from '../src/kernel/sealing.js';
import { platformOf } from '../src/platforms/index.js';
import type { Connection, Platform } from '../src/platforms/platform.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { createDatabase, openDatabase } from './support/databases.js';

const SITE = 'shop.example';
const SECRETS = { client_secret: 's', refresh_token: 'r1' };
const platform = platformOf('microsoft_ads') as Platform;

/** An instance in a process of its own, which requests an access token. */
const INSTANCE = `
  const { databaseUrl, key, connection } = JSON.parse(process.env.INPUT);
  const dist = (path) => import(new URL(path, process.env.DIST).href);
  const { Postgres } = await dist('postgres/postgres.js');
  const { Sealer } = await dist('kernel/sealing.js');
  const { SiteSecrets } = await dist('sites/site-secrets.js');
  const { AccessTokens } = await dist('delivery/connections/access-tokens.js');
  const { PlatformClient } = await dist('delivery/connections/platform-client.js');
  const { DatabaseTokenStore } = await dist('delivery/connections/token-store.js');
  const { platformOf } = await dist('platforms/index.js');
  const postgres = await Postgres.open({ databaseUrl, dataDir: '/nonexistent', onMessage: () => {} });
  const secrets = new SiteSecrets(postgres.pool, new Sealer(Buffer.from(key, 'hex')));
  const store = new DatabaseTokenStore(postgres, secrets, async () => connection);
  const owner = { site: '${SITE}', name: 'microsoft_ads', platform: platformOf('microsoft_ads') };
  await new AccessTokens(new PlatformClient(true), store).get(owner, connection);
`;

let endpoint: Server;
let postgres: Postgres;
let child: ChildProcess | undefined;

afterAll(async () => {
  child?.kill('SIGKILL');
  endpoint?.close();
  await postgres?.close();
});

it('an instance that is killed between the use of a refresh token and its replacement parks nothing', async () => {
  const used: string[] = [];
  endpoint = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      used.push(new URLSearchParams(Buffer.concat(chunks).toString()).get('refresh_token') ?? '');
      // The first answer, with r2, is lost. The endpoint accepts r1 until r2 is used.
      if (used.length === 1) return void child?.kill('SIGKILL');
      const tokens = { access_token: `t${used.length}`, refresh_token: `r${used.length + 1}`, expires_in: 3_600 };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(tokens));
    });
  }).listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  const databaseUrl = await createDatabase();
  postgres = await openDatabase(databaseUrl);
  const key = randomBytes(32);
  const secrets = new SiteSecrets(postgres.pool, new Sealer(key));
  await secrets.storeConnectionSecrets(SITE, 'microsoft_ads', SECRETS);
  const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`;
  const connection: Connection = { settings: { mode: 'offline', client_id: 'c' }, secrets: SECRETS, endpoint: url };

  const input = JSON.stringify({ databaseUrl, key: key.toString('hex'), connection });
  const DIST = new URL('../dist/', import.meta.url).href;
  child = spawn(process.execPath, ['--input-type=module', '--eval', INSTANCE], {
    env: { PATH: process.env['PATH'], INPUT: input, DIST },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code, signal] = await once(child, 'exit');
  expect([code, signal]).toEqual([null, 'SIGKILL']);

  const client = new PlatformClient(true);
  const store = new DatabaseTokenStore(postgres, secrets, async () => connection);
  expect(await store.read(SITE, platform.name)).toMatchObject({
    refreshToken: 'r1',
    state: { unresolvedSince: expect.any(Number) },
  });
  expect(await store.lock(SITE, platform.name)).toBeUndefined();
  // Instead of waiting until the lock of the killed process has expired.
  await postgres.pool.query(`UPDATE cc.leases SET until = '-infinity'`);
  const tokens = new AccessTokens(client, store);
  expect(await tokens.get({ site: SITE, name: platform.name, platform }, connection)).toBe('t2');
  expect(used).toEqual(['r1', 'r1']);
  const stored = await store.read(SITE, platform.name);
  expect(stored).toMatchObject({ refreshToken: 'r3', state: { previous: 'r1', accessToken: 't2' } });
  expect(stored?.state.unresolvedSince).toBeUndefined();
  await client.close();
});
