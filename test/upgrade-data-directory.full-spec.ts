import { rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { Client } from 'pg';
import { productVersion } from '../src/kernel/product-version.js';
import { MIGRATIONS } from '../src/postgres/migrations/index.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { commandLine } from './support/command-line.js';
import { digestEvents, type EarlierDataDirectory, restoreDataDirectory } from './support/earlier-versions.js';
import { post, type TestService } from './support/service.js';
import { type ServiceProcess, sharedDatabase, spawnService } from './support/service-process.js';
import { eventually } from './support/waiting.js';
import { startReceiver, type WebhookReceiver } from './support/webhook-receiver.js';

const SITE = 'shop.example';
/** The schema that version 0.2 works with. */
const SCHEMA_0_2 = 21;
const KEYS = {
  active: 'cc_kzhUDigYIAKujvzP1vamyFbq2aW6d7zAAmGxKTVHbFn2sskRX',
  trial: 'cc_3Sjis3tASTgqtlwegpQ1qFwBHYHOFNw96kyxVUyCbpd1nw7UR',
  revoked: 'cc_PvOtVTTRrPByh2kDdU4LCXs4f6PU6xABziCEAEAidEU1K82LH',
};

interface Push {
  readonly kind: string;
  readonly payload?: { readonly conversions: number };
}

describe('a data directory of version 0.2', () => {
  let directory: EarlierDataDirectory;
  let dataDir: string;
  let cli: ReturnType<typeof commandLine>;
  let service: ServiceProcess;
  let client: Client;
  let sandbox: RunningSandbox;
  let receiver: WebhookReceiver;
  const agent = new Agent();

  beforeAll(async () => {
    directory = await restoreDataDirectory();
    dataDir = directory.dataDir;
    const environment = {
      DATA_DIR: dataDir,
      OUTBOUND_ALLOW_PRIVATE: 'true',
      OUTBOUND_EVERY: '24h',
      TRUSTED_PROXIES: '127.0.0.1',
    };
    cli = commandLine(environment);
    sandbox = await new Sandbox().start();
    receiver = await startReceiver();
    service = await spawnService(dataDir, environment);
    client = new Client({ connectionString: sharedDatabase(dataDir)['DATABASE_URL'] as string });
    await client.connect();
  });
  afterAll(async () => {
    await client?.end();
    await service?.end('SIGTERM').catch(() => {});
    await sandbox?.stop();
    await receiver?.stop();
    agent.destroy();
    if (dataDir) rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  it('is upgraded at the start, with every event and all personal data unchanged', async () => {
    const { rows } = await client.query('SELECT name FROM cc.schema_migrations ORDER BY id');
    expect(rows.map(({ name }) => name)).toEqual(MIGRATIONS.map((Migration) => new Migration().name));
    expect(directory.digest.events).toBeGreaterThan(50);
    expect(await digestEvents(client, directory.lastPosition)).toEqual(directory.digest);
    expect(service.output()).not.toMatch(/warning|error/i);
  });

  it('has the sites as this version folds them, before an event changes them', async () => {
    // The projection folds them again.
    const { connections, webhook } = await eventually(
      async () =>
        (
          await client.query('SELECT connections, webhook FROM cc.sites WHERE host = $1 AND webhook IS NOT NULL', [
            SITE,
          ])
        ).rows[0],
      (row) => row !== undefined,
    );
    expect(connections.length).toBeGreaterThan(0);
    for (const { version, versions } of connections) {
      expect(version).toBe(versions.at(-1).version);
      expect(versions.at(-1).position).toBeGreaterThan(version);
    }
    expect(webhook).toMatchObject({ position: expect.any(Number), first: { position: expect.any(Number) } });
    const { checks } = await cli.json('history verify');
    const sites = checks.filter(({ name }: { name: string }) => name === 'projection sites');
    expect(sites).toMatchObject([{ ok: true }]);
  });

  it('keeps the keys of its sites, and what they have sent', async () => {
    expect(JSON.parse((await send(KEYS.active, 'ORD-1')).body)).toEqual({ ok: true, deduped: true });
    expect(JSON.parse((await send(KEYS.trial, 'TRIAL-NEW')).body)).toMatchObject({
      ok: true,
      results: { meta: { status: 'validated', trial: true } },
    });
    expect((await send(KEYS.revoked, 'ORD-REVOKED')).status).toBe(401);
    expect((await send(service.key, 'ORD-DEMO', 'localhost')).status).toBe(200);
    const statuses = (await cli.json(`keys list --site ${SITE}`)).map(({ name, status }: Record<string, string>) => [
      name,
      status,
    ]);
    expect(Object.fromEntries(statuses)).toEqual({ 'Shop backend': 'active', Trial: 'active', 'Old CRM': 'revoked' });
  });

  it('opens the secrets of its connections, and sends new conversions with them', async () => {
    await cli.json(`platforms connect meta --site ${SITE} --endpoint ${sandbox.url}/meta`);
    const receipt = await eventually(
      async () => JSON.parse((await send(KEYS.active, `ORD-NEW-${Date.now()}`)).body),
      ({ results }) => results?.meta?.status === 'delivered',
    );
    expect(receipt.results).toMatchObject({ segment: { status: 'queued' } });
  });

  it('continues the reporting windows: the pushed totals add up to the log', async () => {
    await cli.json(`webhook set --site ${SITE} --url ${receiver.url}/totals`);
    await cli.json(`webhook push --site ${SITE}`);
    const pushed = (await cli.lines<Push>(`sync log --site ${SITE} --status delivered`)).filter(
      ({ kind }) => kind === 'push',
    );
    // Version 0.2 pushed once, and received two conversions after that.
    expect(pushed.length).toBeGreaterThan(1);
    expect(pushed[0]?.payload).toEqual({ conversions: 4, bot_traffic_removed: 2 });
    const { rows } = await client.query(
      `SELECT count(*)::int AS received FROM cc.events WHERE type = 'conversion.received.v1' AND site = $1
         AND NOT coalesce((data ->> 'trial')::boolean, false)`,
      [SITE],
    );
    const total = pushed.reduce((sum, { payload }) => sum + (payload?.conversions ?? 0), 0);
    expect(total).toBe(rows[0].received);
  });

  it('verifies once what was owed has been attempted', async () => {
    await eventually(
      async () => {
        const text = `SELECT FROM cc.events WHERE position > $1 AND type LIKE 'conversion.%' AND data ->> 'platform' = 'webhook'
                         AND data ->> 'conversionId' IN (SELECT data ->> 'conversionId' FROM cc.events
                                                          WHERE position <= $1 AND type = 'conversion.deferred.v1')`;
        return (await client.query(text, [directory.lastPosition])).rowCount ?? 0;
      },
      (attempted) => attempted > 0,
    );
    await cli.projectionsCaughtUp();
    const { checks } = await cli.json('history verify');
    expect(checks.length).toBeGreaterThan(10);
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  });

  it('reads the list of erasures, and finds nothing left to erase', async () => {
    const { rows } = await client.query(
      `SELECT count(*)::int AS left FROM cc.events e JOIN cc.personal p USING (position) WHERE e.reference = 'ORD-4'`,
    );
    expect(rows).toEqual([{ left: 0 }]);
    expect(await cli.json('visitors erase --rerun')).toMatchObject({ people: 1, events: 0, identifiers: 0 });
  });

  it('refuses version 0.2 by name', async () => {
    // What version 0.2 asks at its start. It then ends with "This database was upgraded by Clean Conversions <version>. …".
    const text = 'SELECT version FROM cc.schema_compatibility WHERE schema > $1';
    expect((await client.query(text, [SCHEMA_0_2])).rows).toEqual([{ version: productVersion() }]);
  });

  function send(key: string, orderId: string, host = SITE) {
    const body = { email: 'jane@example.com', event: 'purchase', value: 10, currency: 'EUR', orderId };
    const target = { port: Number(new URL(service.url).port), agent } as unknown as TestService;
    return post(target, { host, key } as never, body, { headers: { 'X-Forwarded-Proto': 'https' } });
  }
});
