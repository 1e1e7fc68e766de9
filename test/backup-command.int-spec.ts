import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { ResumeSite } from '../src/sites/site.commands.js';
import { commandLine } from './support/command-line.js';
import { createDatabase, createEmptyDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { SECRET_KEY } from './support/secret-key.js';
import { openOperator, post, startTestService, useService } from './support/service.js';
import { eventually } from './support/waiting.js';

const folder = temporaryFolder('cc-backup-');
const path = (name: string) => join(folder, name);
const sandbox = await new Sandbox().start();
const { databaseUrl, operator, service, openSite } = await useService({ DELIVERY_RETRY_SCHEDULE: '8s' });
const source = commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY });
afterAll(async () => {
  await sandbox.stop();
  rmSync(folder, { recursive: true, force: true });
});

const order = (orderId: string) => ({
  email: 'jane@example.com',
  event: 'purchase',
  value: 10,
  currency: 'EUR',
  orderId,
});
const received = async (platform: string, host: string) => {
  const answer = await fetch(`${sandbox.url}/ledger?platform=${platform}&tenant=${host}`);
  const { recent } = (await answer.json()) as { recent: { received: { eventId: string }[] }[] };
  return recent.flatMap((each) => each.received.map(({ eventId }) => eventId));
};
const behave = (platform: string, tenant: string, mode: string) =>
  fetch(`${sandbox.url}/behave`, { method: 'POST', body: JSON.stringify({ platform, tenant, mode }) });

/** All rows of a table, as text. */
async function rowsOf(url: string, table: string): Promise<string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(`SELECT t::text AS row FROM cc.${table} t ORDER BY 1`);
    return rows.map(({ row }) => row);
  } finally {
    await client.end();
  }
}

it('a backup is made under load, and its restore contains every event of its moment and sends nothing until the sites are resumed', async () => {
  const site = await openSite();
  const { host } = site;
  await operator.connect(host, 'meta', { pixel_id: '1234567890', access_token: 'a' }, `${sandbox.url}/meta@${host}`);
  await service.refreshSites();
  for (let n = 1; n <= 20; n += 1) await post(service, site, order(`BEFORE-${n}`));
  // Under way when the backup is made, and without a lease, which would delay it in the copy.
  await behave('meta', host, 'throttle');
  expect(JSON.parse((await post(service, site, order('WAITS'))).body).results.meta).toMatchObject({ status: 'queued' });

  const local = commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY, OUTBOUND_ALLOW_PRIVATE: 'true' });
  const { id: channel } = await local.json('alerts add webhook http://127.0.0.1:1/alerts');
  await operator.postgres.pool.query(
    `WITH alert AS (INSERT INTO cc.alerts (id, key, item, seen_at, started_at) VALUES ($1, 'key', '{}', now(), now()) RETURNING id)
     INSERT INTO cc.alert_messages (id, alert, channel, type, created_at, due)
     SELECT gen_random_uuid(), id, $1, 'started', now(), now() + interval '1 hour' FROM alert`,
    [channel],
  );
  const file = path('load.backup');
  let ended = false;
  const accepted: string[] = [];
  const load = Promise.all(
    Array.from({ length: 4 }, async (_, lane) => {
      for (let n = 0; !ended; n += 1) {
        const id = `LOAD-${lane}-${n}`;
        if ((await post(service, site, order(id))).status === 200) accepted.push(id);
      }
    }),
  );
  await eventually(async () => accepted.length > 20, true);
  const during = accepted.length;
  const summary = await source.json('backup --out', file);
  const after = accepted.length;
  ended = true;
  await load;
  expect(after).toBeGreaterThan(during);
  expect(summary).toMatchObject({ file, bytes: statSync(file).size });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(existsSync(`${file}.part`)).toBe(false);
  // The original goes on.
  await behave('meta', host, 'ok');
  await eventually(async () => (await received('meta', host)).includes('WAITS'), true);

  const target = await createEmptyDatabase();
  const copy = commandLine({ DATABASE_URL: target, SECRET_KEY });
  const restored = await copy.json('restore', file);
  expect(restored).toMatchObject({ file, time: summary.time, paused: expect.arrayContaining([host]) });
  const { deliveries } = restored.underWay.find((each: { site: string }) => each.site === host);
  expect(deliveries).toBeGreaterThanOrEqual(1);
  const events = await copy.lines<{ position: number; type: string; data: { orderId?: string } }>('events export');
  const earlier = events.filter(({ position }) => position < 1_000_000_000);
  expect(earlier).toHaveLength(summary.events);
  expect(earlier).toEqual((await source.lines('events export')).slice(0, summary.events));
  expect(events.slice(summary.events).map(({ type }) => type)).toEqual([
    ...restored.paused.map(() => 'site.paused.v1'),
    'log.alert_channel_paused.v1',
  ]);
  // Nor is anyone told what the original tells.
  expect(await copy.json('alerts list')).toMatchObject([{ id: channel, paused: true }]);
  expect([await rowsOf(target, 'alerts'), await rowsOf(target, 'alert_messages')]).toEqual([[expect.any(String)], []]);
  expect(
    JSON.parse((await copy.run('history verify --json')).stdout).checks.filter(({ ok }: { ok: boolean }) => !ok),
  ).toEqual([]);
  // The original may have got others since.
  expect(await rowsOf(databaseUrl, 'secrets')).toEqual(expect.arrayContaining(await rowsOf(target, 'secrets')));

  // The original sends the last of what the load left to its retries.
  await eventually(async () => (await operator.postgres.pool.query('SELECT FROM cc.deliveries')).rowCount, 0);
  const sentBefore = (await received('meta', host)).length;
  const second = await startTestService(target, { DELIVERY_RETRY_SCHEDULE: '1s' });
  const secondOperator = await openOperator(target);
  try {
    expect((await post(second, site, order('NEW'))).status).toBe(503);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await received('meta', host)).length).toBe(sentBefore);
    await secondOperator.execute(new ResumeSite('cli', host));
    await second.refreshSites();
    expect(JSON.parse((await post(second, site, order('BEFORE-7'))).body)).toEqual({ ok: true, deduped: true });
    expect((await post(second, site, order('NEW'))).status).toBe(200);
    // Again, under the same id.
    await eventually(async () => (await received('meta', host)).filter((id) => id === 'WAITS').length, 2);
    await copy.projectionsCaughtUp();
  } finally {
    await second.stop();
    await secondOperator.close();
  }
  const { code, stdout } = await copy.run('history verify --json');
  expect([code, JSON.parse(stdout).checks.filter(({ ok }: { ok: boolean }) => !ok)]).toEqual([0, []]);
});

describe('a restore is refused', () => {
  const good = path('good.backup');
  const refusalOf = async (file: string, environment: Record<string, string> = {}) => {
    const target = environment['DATABASE_URL'] ?? (await createEmptyDatabase());
    const { run } = commandLine({ DATABASE_URL: target, SECRET_KEY, ...environment });
    const before = await rowsOf(target, 'events').catch(() => []);
    const { code, stdout, stderr } = await run('restore', file);
    expect([code, stdout]).toEqual([1, '']);
    expect(await rowsOf(target, 'events').catch(() => [])).toEqual(before);
    return stderr;
  };
  beforeAll(async () => {
    await openSite();
    await source.text('backup --out', good);
  });

  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['that was truncated', (bytes) => bytes.subarray(0, bytes.length - 100)],
    ['of which only the start is left', (bytes) => bytes.subarray(0, 30)],
    [
      'with a changed byte',
      (bytes) => {
        const changed = Buffer.from(bytes);
        changed[changed.length >> 1] = (changed[changed.length >> 1] as number) ^ 1;
        return changed;
      },
    ],
    ['to which something was added', (bytes) => Buffer.concat([bytes, Buffer.from('x')])],
  ])('of a file %s', async (name, change) => {
    const file = path(`${name.replaceAll(' ', '-')}.backup`);
    writeFileSync(file, change(readFileSync(good)));
    expect(await refusalOf(file)).toBe(
      `${file} is incomplete or was altered: its checksum does not match. Nothing was restored. Use another backup.\n`,
    );
  });

  it('of another file, or of none', async () => {
    const file = path('other');
    writeFileSync(file, 'PGDMP');
    expect(await refusalOf(file)).toBe(`${file} is no backup of Clean Conversions.\n`);
    expect(await refusalOf(path('none'))).toMatch(/cannot be read \(ENOENT\)/);
  });

  it('with another SECRET_KEY, and accepted with it as the previous one', async () => {
    const next = randomBytes(32).toString('hex');
    expect(await refusalOf(good, { SECRET_KEY: next })).toMatch(
      /^SECRET_KEY is not the key of the backup\. Nothing was/,
    );
    const target = await createEmptyDatabase();
    const environment = { DATABASE_URL: target, SECRET_KEY: next, SECRET_KEY_PREVIOUS: SECRET_KEY };
    expect((await commandLine(environment).run('restore', good)).code).toBe(0);
  });

  it('into a database that was used, which stays as it is', async () => {
    expect(await refusalOf(good, { DATABASE_URL: databaseUrl })).toMatch(
      /^The database has been used\. Nothing was changed\./,
    );
    const target = await createDatabase();
    const { run, text } = commandLine({ DATABASE_URL: target, SECRET_KEY });
    await text('restore', good);
    expect((await run('restore', good)).stderr).toMatch(/^The database has been used/);
  });

  it('from a version with other tables', async () => {
    const older = await createDatabase();
    const client = new Client({ connectionString: older });
    await client.connect();
    await client.query('ALTER TABLE cc.jobs ADD COLUMN of_another_version text');
    await client.end();
    const file = path('older.backup');
    await commandLine({ DATABASE_URL: older, SECRET_KEY }).text('backup --out', file);
    expect(await refusalOf(file)).toMatch(
      /was made by version .* whose tables are not those of this version, .* Nothing was restored\./,
    );
  });
});

it('a backup does not replace a file, and leaves none where it fails', async () => {
  const file = path('existing.backup');
  writeFileSync(file, 'mine');
  const { code, stderr } = await source.run('backup --out', file);
  expect([code, stderr]).toEqual([1, `${file} exists already. Give another name, or remove it.\n`]);
  expect(readFileSync(file, 'utf8')).toBe('mine');
  const stop = new AbortController();
  stop.abort();
  const stopped = path('stopped.backup');
  const interrupted = await commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY }, stop.signal).run(
    'backup --out',
    stopped,
  );
  expect(interrupted).toEqual({ code: 130, stdout: '', stderr: 'Interrupted: no backup was made.\n' });
  expect([existsSync(stopped), existsSync(`${stopped}.part`)]).toEqual([false, false]);
});
