import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { allProjections } from '../src/app/projections.js';
import { ReceiveConversion } from '../src/conversions/receive-conversion.command.js';
import { ConversionReceiver, ReceiveConversionHandler } from '../src/conversions/receive-conversion.handler.js';
import { allChecks, allEventChecks, allStreamChecks } from '../src/history/checks.js';
import { verify } from '../src/history/verify.js';
import { Sealer } from '../src/kernel/sealing.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { IssueKey } from '../src/sites/keys/key.commands.js';
import { AddSite, EnableInbound } from '../src/sites/site.commands.js';
import { siteCommandDispatcher } from '../src/sites/site-command-handlers.js';
import { SiteDirectory } from '../src/sites/site-directory.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { createDatabase, createEmptyDatabase, databaseOf, openDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { hasDebianPostgres, startTestServer, type TestServer } from './support/postgres-server.js';

const SITE = 'shop.example';
const DAY_MS = 24 * 60 * 60 * 1_000;
const sealing = randomBytes(32);
const folder = temporaryFolder('cc-backup-');
const dump = join(folder, 'clean-conversions.dump');
const canDump = hasDebianPostgres(15);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
if (!canDump) console.warn('SKIPPED: dump and restore (install the package postgresql-15 to run it).');

/** Dumps from PostgreSQL 15, whose package includes pg_dump, and restores on the embedded server, which is newer. */
(canDump ? describe : describe.skip)('a dump restored on another server', () => {
  let first: TestServer;
  let second: TestServer;

  beforeAll(async () => {
    [first, second] = await Promise.all([startTestServer({ major: 15 }), startTestServer()]);
  });
  afterAll(async () => {
    await first?.stop();
    await second?.stop();
  });

  it('contains all data, continues at positions that were never used, and passes every check', async () => {
    const source = await createDatabase(first);
    const before = await open(source);
    await before.commands.execute(new AddSite('cli', SITE));
    await before.commands.execute(new EnableInbound('cli', SITE));
    const { key } = await before.commands.execute(new IssueKey('cli', SITE, 'CRM', false));
    const shop = await before.shop(key);
    for (let order = 1; order <= 20; order += 1) await shop.post(`ORD-${order}`);
    await before.catchUp();
    const events = await before.log.read();
    const rows = await before.rows();
    postgresProgram('pg_dump', '--format=custom', `--file=${dump}`, `--dbname=${source}`);
    await shop.post('ORD-LOST');
    await before.close();

    const target = await createEmptyDatabase(second);
    const admin = new Client({ connectionString: target });
    await admin.connect();
    await admin.query(`DO $$ BEGIN CREATE ROLE cc_service NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`);
    await admin.end();
    postgresProgram('pg_restore', '--no-owner', '--exit-on-error', `--dbname=${target}`, dump);

    const after = await open(target);
    expect(await after.log.read()).toEqual(events);
    expect(await after.rows()).toEqual(rows);
    const again = await after.shop(key);
    expect((await again.post('ORD-7')).receipt).toEqual({ ok: true, deduped: true });
    expect((await again.post('ORD-21')).receipt).toEqual({ ok: true, event: 'purchase', results: {} });
    await after.catchUp();
    const appended = (await after.log.read()).slice(events.length);
    expect(appended.map(({ type }) => type)).toEqual(['conversion.deduplicated.v1', 'conversion.received.v1']);
    for (const { position } of appended) expect(position).toBeGreaterThanOrEqual(1_000_000_000);
    expect(after.messages).toEqual([expect.stringContaining('restored or failed over')]);
    expect((await after.verify()).checks.filter(({ ok }) => !ok)).toEqual([]);
    await after.close();
  });
});

(canDump ? describe : describe.skip)('a dump restored on the same server', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({ major: 15 });
  });
  afterAll(() => server?.stop());

  const asAdmin = async (text: string) => {
    const admin = new Client({ connectionString: server.url() });
    await admin.connect();
    await admin.query(text);
    await admin.end();
  };

  it.each<[string, (source: string) => Promise<string>]>([
    [
      'under another name',
      async () => {
        await asAdmin('CREATE DATABASE another_name');
        return server.url('another_name');
      },
    ],
    [
      'under the same name',
      async (source) => {
        const name = databaseOf(source);
        await asAdmin(`DROP DATABASE ${name}`);
        await asAdmin(`CREATE DATABASE ${name}`);
        return source;
      },
    ],
    [
      'into the same database',
      async (target) => {
        const owner = new Client({ connectionString: target });
        await owner.connect();
        await owner.query('DROP SCHEMA IF EXISTS cc, cc_shadow CASCADE');
        await owner.end();
        return target;
      },
    ],
  ])('%s continues at positions that were never used', async (_, prepare) => {
    const source = await createDatabase(server);
    const before = await open(source);
    await before.commands.execute(new AddSite('cli', SITE));
    const file = join(folder, `${databaseOf(source)}.dump`);
    postgresProgram('pg_dump', '--format=custom', `--file=${file}`, `--dbname=${source}`);
    // Lost by the restore.
    await before.commands.execute(new EnableInbound('cli', SITE));
    await before.close();
    const target = await prepare(source);
    postgresProgram('pg_restore', '--no-owner', '--exit-on-error', `--dbname=${target}`, file);
    const after = await open(target);
    await after.commands.execute(new EnableInbound('cli', SITE));
    expect((await after.log.read()).at(-1)).toMatchObject({
      ...{ type: 'site.inbound_enabled.v1', position: 1_000_000_000 },
    });
    expect(after.messages).toEqual([expect.stringContaining('restored or failed over')]);
    await after.close();
  });
});

/** Opens the components of the service on a database, without HTTP. */
async function open(databaseUrl: string) {
  const postgres = await openDatabase(databaseUrl);
  const messages: string[] = [];
  const log = new PostgresEventLog(postgres, { onMessage: (line) => messages.push(line) });
  const secrets = new SiteSecrets(postgres.pool, new Sealer(sealing));
  const sites = new SiteRepository(log);
  const projections = new ProjectionRunner(postgres, allProjections(secrets));
  return {
    log,
    commands: siteCommandDispatcher(sites, secrets),
    messages,
    async shop(key: string) {
      const instance = randomUUID();
      const directory = new SiteDirectory(log, secrets, {
        authFailureLimit: 20,
        authFailureWindowMs: 60_000,
        instance,
        clock: postgres.clock,
      });
      await directory.start();
      const site = directory.find(SITE) as never;
      const verdict = directory.checkKey(site, key);
      if (!verdict.ok) throw new Error('the key should be valid');
      // No platform is connected: nothing is delivered.
      const matcher = { absent: () => ({ identifiers: [], consent: [] }) } as never;
      const deliveries = { deliver: async () => ({}) } as never;
      const receiver = new ConversionReceiver(log, matcher, postgres.clock);
      const handler = new ReceiveConversionHandler(receiver, deliveries);
      const post = (orderId: string) => {
        const fields = { email: 'jane@example.com', event: 'purchase', currency: 'EUR', value: 10, orderId };
        return handler.execute(
          new ReceiveConversion(site, verdict.key, fields, { dedupWindowMs: DAY_MS, identifierTtlMs: 90 * DAY_MS }),
        );
      };
      return { post };
    },
    async catchUp() {
      for (const name of projections.names()) await projections.catchUp(name);
    },
    async rows() {
      const tables = ['sites', 'dedup', 'key_usage', 'auth_failures', 'deliveries', 'projections', 'secrets'];
      const all = tables.map(async (table) => {
        const { rows } = await postgres.pool.query(`SELECT t::text AS row FROM cc.${table} t ORDER BY 1`);
        return [table, rows.map(({ row }) => row)];
      });
      return Object.fromEntries(await Promise.all(all));
    },
    async verify() {
      const settings = readSettings({ DATABASE_URL: databaseUrl, SECRET_KEY: sealing.toString('hex') });
      const until = await log.head();
      const dependencies = {
        postgres,
        log,
        sites,
        secrets,
        projections,
        settings,
        until,
        removedUntil: 0,
        trust: {},
        progress: () => {},
      };
      return verify(
        dependencies,
        allEventChecks(),
        allStreamChecks(false, postgres.clock.nowMs()),
        allChecks(projections),
      );
    },
    async close() {
      await log.close();
      await postgres.close();
    },
  };
}

function postgresProgram(name: string, ...args: string[]): void {
  execFileSync(join('/usr/lib/postgresql/15/bin', name), args, { stdio: ['ignore', 'ignore', 'inherit'] });
}
