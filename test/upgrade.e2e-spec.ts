import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { applicationName } from '../src/postgres/instances.js';
import { MIGRATIONS, SCHEMA } from '../src/postgres/migrations/index.js';
import { refuseEarlierInstances } from '../src/postgres/schema.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { commandLine } from './support/command-line.js';
import { createEmptyDatabase, openDatabase } from './support/databases.js';
import { digestEvents, restoreLog } from './support/earlier-versions.js';
import { temporaryFolder } from './support/folders.js';
import { type Reply, send, startTestService, type TestService } from './support/service.js';
import { eventually } from './support/waiting.js';
import { startReceiver, type WebhookReceiver } from './support/webhook-receiver.js';

const VERSION = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8')).version;
const SITE = 'shop.example';
const API_KEY = 'cc_MD0dsmsRVseBDCidZNzwYBj1GHcWdjIV7b2JT4m0ViE4d9hdr';
const SECRET_KEY = '5eed'.repeat(16);
const LAST_POSITION = 155;
const REFUSES_0_1 =
  'This database was upgraded by Clean Conversions 0.2. Version 0.1 cannot use it: start version 0.2 or later, ' +
  'or restore the backup made before the upgrade.';

const folder = temporaryFolder('cc-upgrade-');
const clients: Client[] = [];

afterAll(async () => {
  for (const client of clients) await client.end();
  rmSync(folder, { recursive: true, force: true });
});

describe('a log written by version 0.1', () => {
  let cli: ReturnType<typeof commandLine>;
  let owner: Client;
  let service: TestService;
  let receiver: WebhookReceiver;
  let eventsBefore: string;

  beforeAll(async () => {
    const databaseUrl = await restore({ asOf: 'yesterday' });
    const environment = {
      DATABASE_URL: databaseUrl,
      SECRET_KEY,
      DATA_DIR: folder,
      OUTBOUND_ALLOW_PRIVATE: 'true',
      OUTBOUND_EVERY: '24h',
    };
    cli = commandLine(environment);
    owner = await connect(databaseUrl);
    eventsBefore = await digest(owner);
    receiver = await startReceiver();
    service = await startTestService(databaseUrl, environment);
  });
  afterAll(async () => {
    await service?.stop();
    await receiver?.stop();
  });

  it('starts, with every event and all personal data unchanged', async () => {
    expect(await digest(owner)).toBe(eventsBefore);
    const { rows } = await owner.query('SELECT name FROM cc.schema_migrations ORDER BY id');
    expect(rows.map(({ name }) => name)).toEqual(MIGRATIONS.map((Migration) => new Migration().name));
  });

  it('verifies once it attempts again what has been owed since yesterday', async () => {
    await eventually(
      async () => {
        // Failed where the times of the payload have moved: `restoreLog` says why.
        const types = `'conversion.deferred.v1', 'conversion.failed.v1'`;
        const text = `SELECT FROM cc.events WHERE position > $1 AND type IN (${types}) AND data ->> 'platform' = 'webhook'`;
        return (await owner.query(text, [LAST_POSITION])).rowCount ?? 0;
      },
      (attempted) => attempted > 0,
    );
    await expectVerified();
  });

  it('replays every projection to the same rows', async () => {
    const names = (await cli.json('projections status')).map(({ name }: { name: string }) => name);
    for (const name of names) await cli.json(`projections rebuild ${name}`);
    await expectVerified();
    const sites = await cli.lines(`replay projection sites --until ${LAST_POSITION}`);
    expect(sites).toMatchObject([{ host: SITE }, { host: 'other.example' }]);
  });

  it('recognises a duplicate of an old conversion and receives a new one', async () => {
    expect(JSON.parse((await post('ORD-1')).body)).toEqual({ ok: true, deduped: true });
    const { status, body } = await post('ORD-NEW');
    expect({ status, receipt: JSON.parse(body) }).toMatchObject({
      status: 200,
      receipt: { ok: true, event: 'purchase' },
    });
    expect(JSON.parse((await post('ORD-NEW')).body)).toEqual({ ok: true, deduped: true });
  });

  it('continues the outbound reporting windows', async () => {
    await cli.json(`webhook set --site ${SITE} --url ${receiver.url}/totals`);
    await cli.json(`webhook push --site ${SITE}`);
    expect(receiver.callsTo('/totals').length).toBeGreaterThan(0);
    await cli.projectionsCaughtUp();
    await expectVerified();
  });

  it('starts the hash chain with the first event after the upgrade, and says so', async () => {
    const { checks } = await cli.json('history verify');
    const chain = checks.find(({ name }: { name: string }) => name === 'chain');
    expect(chain.detail).toMatch(
      /^\d+ events in \d+ seals; the chain starts at position \d+; \d+ events before it are older than the chain and have no seal$/,
    );
    expect(Number(/starts at position (\d+)/.exec(chain.detail)?.[1])).toBeGreaterThan(LAST_POSITION);
  });

  it('refuses version 0.1 by name', async () => {
    // The statements of version 0.1 at start, up to the one that fails.
    await owner.query('CREATE SCHEMA IF NOT EXISTS cc');
    const { rows } = await owner.query(`SELECT to_regclass('cc.migrations') IS NOT NULL AS made`);
    expect(rows).toEqual([{ made: true }]);
    await expect(owner.query('SELECT name FROM cc.migrations ORDER BY id')).rejects.toThrow(REFUSES_0_1);
  });

  async function expectVerified(): Promise<void> {
    const { checks } = await cli.json('history verify');
    expect(checks.length).toBeGreaterThan(10);
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  }

  function post(orderId: string): Promise<Reply> {
    const body = JSON.stringify({ email: 'jane@example.com', event: 'purchase', value: 10, currency: 'EUR', orderId });
    const headers = { Host: SITE, 'X-CC-Api-Key': API_KEY, 'Content-Type': 'application/json' };
    return send(service, { method: 'POST', path: '/__cc/inbound', body, headers });
  }
});

describe('deliveries that waited under version 0.1, or were lost by it', () => {
  let service: TestService;
  let sandbox: Awaited<ReturnType<Sandbox['start']>>;

  afterAll(async () => {
    await service?.stop();
    await sandbox?.stop();
  });

  it('are sent, with the payload of their first attempt', async () => {
    const databaseUrl = await restore({ asOf: 'written' });
    const owner = await connect(databaseUrl);
    await loseDelivery(owner, 'ORD-7', 'webhook');
    sandbox = await new Sandbox().start();
    const environment = { DATABASE_URL: databaseUrl, SECRET_KEY, DATA_DIR: folder, DELIVERY_GIVE_UP: '36500d' };
    const set = `--set url=https://receiver.example/conversions --endpoint ${sandbox.url}/webhook`;
    await commandLine(environment).json(`platforms connect webhook --site ${SITE} ${set}`);
    await owner.query('UPDATE cc.deliveries SET due = now()');
    service = await startTestService(databaseUrl, environment);
    // The service fails a delivery whose payload is not the one of its first attempt.
    const delivered = await eventually(
      () => deliveredToWebhook(owner),
      (orders) => orders.length >= 4,
    );
    expect(delivered).toEqual(['ORD-10', 'ORD-7', 'ORD-8', 'ORD-9']);
  });
});

describe('an upgrade from version 0.1', () => {
  it('is refused while version 0.1 is connected, and changes nothing', async () => {
    const databaseUrl = await restore();
    const owner = await connect(databaseUrl);
    const before = await digest(owner);
    const schema = await schemaOf01(owner);
    const earlier = [await connect(databaseUrl, 'cc-service'), await connect(databaseUrl, 'cc-append')];
    const pids = await Promise.all(earlier.map(async (client) => (await client.query('SELECT pg_backend_pid()')).rows));
    const [first, second] = pids.flat().map((row) => row.pg_backend_pid);

    await expect(openDatabase(databaseUrl)).rejects.toThrow(
      `Version ${VERSION} upgrades this database in a way that earlier versions cannot work with, and some are connected to it: ` +
        `version 0.1 from a local socket (2 connections, PostgreSQL pids ${first}, ${second}). ` +
        'Stop them, then start this version. Nothing was changed.',
    );
    expect(await digest(owner)).toBe(before);
    expect(await schemaOf01(owner)).toEqual(schema);
    const made = await owner.query(`SELECT to_regclass('cc.schema_migrations') AS table`);
    expect(made.rows).toEqual([{ table: null }]);

    for (const client of earlier) await client.end();
    await (await openDatabase(databaseUrl)).close();
    expect(await digest(owner)).toBe(before);
  });

  it('leaves version 0.1 usable when it fails, and succeeds when it is started again', async () => {
    const databaseUrl = await restore();
    const owner = await connect(databaseUrl);
    const before = await digest(owner);
    const schema = await schemaOf01(owner);
    await owner.query('CREATE TABLE cc.delivery_leases ()');
    await expect(openDatabase(databaseUrl)).rejects.toThrow('"delivery_leases" already exists');
    expect(await schemaOf01(owner)).toEqual(schema);

    await owner.query('DROP TABLE cc.delivery_leases');
    await (await openDatabase(databaseUrl)).close();
    expect(await digest(owner)).toBe(before);
  });
});

describe('an upgraded database', () => {
  it.each(['0.1', '0.2'] as const)('of version %s has the schema of a new one', async (version) => {
    const upgraded = await restored(version);
    const created = await createEmptyDatabase();
    for (const databaseUrl of [upgraded, created]) await (await openDatabase(databaseUrl)).close();
    const schema = await schemaOf(await connect(created));
    expect(schema.length).toBeGreaterThan(300);
    expect(await schemaOf(await connect(upgraded))).toEqual(schema);
  });

  it('has no secrets of disconnected connections, which earlier versions may have left, and those of others', async () => {
    const databaseUrl = await restored('0.2');
    const owner = await connect(databaseUrl);
    const names = async () => {
      const { rows } = await owner.query(`SELECT name FROM cc.secrets WHERE site = '${SITE}' ORDER BY name`);
      return rows.map(({ name }) => name);
    };
    const before = await names();
    expect(before).toEqual(expect.arrayContaining(['meta.access_token', 'segment.write_key']));
    await owner.query(
      `INSERT INTO cc.events (position, id, category, stream, version, type, site, time, actor, data)
       SELECT nextval('cc.event_position'), gen_random_uuid(), category, stream, 999, 'site.platform_disconnected.v1', site, time, actor,
              '{"platform":"meta"}' FROM cc.events WHERE site = '${SITE}' AND category = 'site' ORDER BY position DESC LIMIT 1`,
    );
    await (await openDatabase(databaseUrl)).close();
    expect(await names()).toEqual(before.filter((name) => name !== 'meta.access_token'));
  });

  async function restored(version: '0.1' | '0.2'): Promise<string> {
    const databaseUrl = await createEmptyDatabase();
    await restoreLog(await connect(databaseUrl), version, 'written');
    return databaseUrl;
  }
});

describe('a later version', () => {
  it('with an incompatible schema refuses this version by name', async () => {
    const databaseUrl = await createEmptyDatabase();
    await (await openDatabase(databaseUrl)).close();
    const owner = await connect(databaseUrl);
    await owner.query(`UPDATE cc.schema_compatibility SET schema = 999, version = '9.9.0'`);
    await expect(openDatabase(databaseUrl)).rejects.toThrow(
      `This database was upgraded by Clean Conversions 9.9.0. Version ${VERSION} cannot use it: start version 9.9.0 or later, ` +
        'or restore the backup made before the upgrade. Nothing was changed.',
    );
  });

  it('with rolling migrations only leaves this version usable', async () => {
    const databaseUrl = await createEmptyDatabase();
    const running = await openDatabase(databaseUrl);
    const owner = await connect(databaseUrl);
    await owner.query(`INSERT INTO cc.schema_migrations (timestamp, name) VALUES (999, 'Later0000000000999')`);
    await (await openDatabase(databaseUrl)).close();
    await running.close();
  });

  it('upgrades while this version is connected only with rolling migrations', async () => {
    const databaseUrl = await createEmptyDatabase();
    const running = await openDatabase(databaseUrl);
    const owner = await connect(databaseUrl, 'cc999-migrations');
    const [up, down] = [async () => {}, async () => {}];
    await refuseEarlierInstances(owner, [{ name: 'Rolling0000000000998', rolling: true, up, down }]);
    await expect(refuseEarlierInstances(owner, [{ name: 'Breaking0000000000999', up, down }])).rejects.toThrow(
      new RegExp(
        `connected to it: schema ${SCHEMA} from a local socket \\(1 connection, PostgreSQL pid \\d+\\)\\. Stop them`,
      ),
    );
    expect(applicationName('service')).toBe(`cc${SCHEMA}-service`);
    await running.close();
  });
});

async function restore({ asOf }: { asOf: 'written' | 'yesterday' } = { asOf: 'written' }): Promise<string> {
  const databaseUrl = await createEmptyDatabase();
  await restoreLog(await connect(databaseUrl), '0.1', asOf);
  return databaseUrl;
}

async function connect(databaseUrl: string, applicationName = 'upgrade-spec'): Promise<Client> {
  const client = new Client({ connectionString: databaseUrl, application_name: applicationName });
  await client.connect();
  clients.push(client);
  return client;
}

async function digest(client: Client): Promise<string> {
  const { events, md5 } = await digestEvents(client, LAST_POSITION);
  expect(events).toBe(LAST_POSITION);
  return md5;
}

/** Columns, constraints, indexes, triggers, functions and grants. */
async function schemaOf(client: Client): Promise<unknown[]> {
  const { rows } = await client.query({
    rowMode: 'array',
    text: `
      SELECT 'column', attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull, attstorage::text,
             (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = attrelid AND adnum = attnum)
        FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
       WHERE attnum > 0 AND NOT attisdropped AND relnamespace = 'cc'::regnamespace AND relkind IN ('r', 'p', 'v')
      UNION ALL SELECT 'relation', oid::regclass::text, relkind::text, array_to_string(reloptions, ','), false, '', relacl::text
        FROM pg_class WHERE relnamespace = 'cc'::regnamespace
      UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), false, '', ''
        FROM pg_constraint WHERE connamespace = 'cc'::regnamespace AND contype <> 'n'
      UNION ALL SELECT 'index', indrelid::regclass::text, '', pg_get_indexdef(indexrelid), indisunique, '', ''
        FROM pg_index WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'cc'::regnamespace)
      UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(oid), false, '', '' FROM pg_trigger WHERE NOT tgisinternal
      UNION ALL SELECT 'function', oid::regprocedure::text, '', pg_get_functiondef(oid), false, '', proacl::text
        FROM pg_proc WHERE pronamespace = 'cc'::regnamespace
      ORDER BY 1, 2, 3, 4`,
  });
  return rows;
}

/** All columns and functions that version 0.1 uses, and the migrations that it reads at start. */
async function schemaOf01(client: Client): Promise<unknown[]> {
  const { rows: migrations } = await client.query('SELECT name FROM cc.migrations ORDER BY id');
  const { rows: columns } = await client.query(
    `SELECT table_name, column_name, data_type FROM information_schema.columns
      WHERE table_schema = 'cc' AND table_name NOT IN ('schema_migrations', 'delivery_leases') ORDER BY 1, 2`,
  );
  const { rows: functions } = await client.query(
    `SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'cc'::regnamespace ORDER BY 1`,
  );
  return [migrations, columns, functions];
}

/** As if the instance had ended after it acknowledged the conversion: neither an outcome nor a waiting delivery is left. */
async function loseDelivery(client: Client, orderId: string, platform: string): Promise<void> {
  const conversion = 'SELECT stream FROM cc.events WHERE reference = $1';
  const lost = { values: [orderId, platform] };
  await client.query('SET session_replication_role = replica');
  const events = await client.query({
    text: `DELETE FROM cc.events WHERE stream IN (${conversion}) AND data ->> 'platform' = $2`,
    ...lost,
  });
  await client.query({
    text: `DELETE FROM cc.deliveries WHERE conversion IN (${conversion}) AND platform = $2`,
    ...lost,
  });
  await client.query('RESET session_replication_role');
  expect(events.rowCount).toBeGreaterThan(0);
}

/** The orders that this version delivered to the webhook platform. */
async function deliveredToWebhook(client: Client): Promise<string[]> {
  const { rows } = await client.query(
    `SELECT r.reference FROM cc.events d JOIN cc.events r ON r.stream = d.stream AND r.type = 'conversion.received.v1'
      WHERE d.type = 'conversion.delivered.v1' AND d.data ->> 'platform' = 'webhook' AND d.position > $1 ORDER BY 1`,
    [LAST_POSITION],
  );
  return rows.map(({ reference }) => reference);
}
