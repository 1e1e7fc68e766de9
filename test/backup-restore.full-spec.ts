import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { createDatabase, createEmptyDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { hasDebianPostgres, startTestServer } from './support/postgres-server.js';
import { SECRET_KEY } from './support/secret-key.js';
import { type ServiceProcess, spawnService } from './support/service-process.js';
import { eventually } from './support/waiting.js';

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const APPEND_LOCK = 4_845_001;
const folder = temporaryFolder('cc-backup-restore-');
const path = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Environment = Readonly<Record<string, string>>;

function startCommand(words: readonly string[], environment: Environment) {
  const child = spawn(process.execPath, [CLI, ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  return { child: child as ChildProcess, ended };
}

async function run(words: readonly string[], environment: Environment): Promise<string> {
  const { code, output } = await startCommand(words, environment).ended;
  if (code !== 0) throw new Error(`${words.join(' ')}: ${output}`);
  return output;
}

/** The commands in the `bash` blocks of the page. */
function commandsOf(page: string): string[][] {
  return [...readFileSync(page, 'utf8').matchAll(/^ *```bash\n([\s\S]*?)^ *```/gm)].flatMap(([, block = '']) =>
    block.split('\n').flatMap((line) => {
      const words = line.trim().split(' ');
      return words[0] === 'npx' ? [words.slice(2)] : [];
    }),
  );
}

const post = async ({ url, key }: Pick<ServiceProcess, 'url' | 'key'>, orderId: string, email = 'jane@example.com') => {
  const body = JSON.stringify({ email, event: 'purchase', value: 10, currency: 'EUR', orderId });
  const headers = { 'X-CC-Api-Key': key, 'Content-Type': 'application/json' };
  const answer = await fetch(`${url}/__cc/inbound`, { method: 'POST', headers, body });
  return { status: answer.status, json: await answer.json() };
};

it('the commands of the page back up the embedded server under load, and restore it into a new folder', async () => {
  const [backup, restore, rerun, resume] = commandsOf('docs/operate/backup.md') as [
    string[],
    string[],
    string[],
    string[],
  ];
  const [before, after] = [path('before'), path('after')];
  const first = await spawnService(before);
  const { key } = first;
  for (let n = 1; n <= 20; n += 1) expect((await post(first, `ORD-${n}`)).status).toBe(200);
  await post(first, 'ORD-ERASED', 'erased@example.com');
  let ended = false;
  const load = (async () => {
    for (let n = 0; !ended; n += 1) await post(first, `LOAD-${n}`);
  })();
  expect(await run(backup, { DATA_DIR: before })).toMatch(/events, as of .*\nSECRET_KEY .* store them elsewhere\.\n$/);
  ended = true;
  await load;
  await run(['visitors', 'erase', '--site', 'localhost', '--email', 'erased@example.com', '--yes'], {
    DATA_DIR: before,
  });
  await post(first, 'ORD-LOST');
  expect(await first.end('SIGTERM')).toBe(0);

  mkdirSync(after);
  expect((await startCommand(restore, { DATA_DIR: after }).ended).output).toMatch(
    /^SECRET_KEY is not the key of the backup/m,
  );
  for (const name of ['secret-key', 'erasures', 'demo-key']) copyFileSync(join(before, name), join(after, name));
  expect(await run(restore, { DATA_DIR: after })).toMatch(
    /Then resume the sites, which sends what waits:\n\n {2}sites resume localhost\n/,
  );
  const environment = { DATA_DIR: after };
  await run(rerun, environment);
  await run([...resume.slice(0, -1), 'localhost'], environment);
  const shown = await run(
    ['events', 'export', '--order', 'ORD-ERASED', '--type', 'conversion.received.v1'],
    environment,
  );
  expect(JSON.parse(shown)).toMatchObject({ personal: null });

  const second = await spawnService(after);
  try {
    expect((await post({ ...second, key }, 'ORD-7')).json).toEqual({ ok: true, deduped: true });
    expect((await post({ ...second, key }, 'ORD-LOST')).json).not.toHaveProperty('deduped');
    const verify = async () => (await startCommand(['history', 'verify'], environment).ended).output;
    await eventually(async () => (await verify()).trim().split('\n').at(-1), 'All checks passed.');
  } finally {
    await second.end('SIGTERM');
  }
});

const canRunOn15 = hasDebianPostgres(15);
if (!canRunOn15)
  console.warn('SKIPPED: backups of one PostgreSQL version in another (install the package postgresql-15).');

(canRunOn15 ? it : it.skip)(
  'a backup of PostgreSQL 15 is restored into the embedded 18, and one of that into PostgreSQL 15 again',
  async () => {
    const server = await startTestServer({ major: 15 });
    try {
      const [first, dataDir] = [await createDatabase(server), path('embedded')];
      const on15 = { DATABASE_URL: first, SECRET_KEY };
      const on18 = { DATA_DIR: dataDir, SECRET_KEY };
      const back = { DATABASE_URL: await createEmptyDatabase(server), SECRET_KEY };
      await run(['sites', 'add', 'shop.example'], on15);
      const importOrders = (prefix: string, environment: Environment) => {
        const rows = Array.from({ length: 50 }, (_, n) => `jane-${n}@example.com,purchase,10,EUR,${prefix}-${n}`);
        writeFileSync(path('orders.csv'), `email,event,value,currency,orderId\n${rows.join('\n')}\n`);
        return run(['conversions', 'import', path('orders.csv'), '--site', 'shop.example'], environment);
      };
      await importOrders('FIRST', on15);
      await run(['backup', '--out', path('15.backup')], on15);
      const onFifteen = await exported(on15);

      await run(['restore', path('15.backup')], on18);
      expect(readFileSync(join(dataDir, 'postgres/PG_VERSION'), 'utf8')).toBe('18\n');
      expect((await exported(on18)).slice(0, onFifteen.length)).toEqual(onFifteen);
      await run(['sites', 'resume', 'shop.example'], on18);
      expect(await importOrders('FIRST', on18)).toMatch(/deduplicated +50$/m);
      await importOrders('SECOND', on18);
      expect(await run(['history', 'verify'], on18)).toMatch(/All checks passed\.\n$/);
      await run(['backup', '--out', path('18.backup')], on18);
      const onEighteen = await exported(on18);

      await run(['restore', path('18.backup')], back);
      expect((await exported(back)).slice(0, onEighteen.length)).toEqual(onEighteen);
      expect(await run(['history', 'verify'], back)).toMatch(/All checks passed\.\n$/);
    } finally {
      await server.stop();
    }
  },
);

/** All events, with their personal parts. */
async function exported(environment: Environment): Promise<string[]> {
  return (await run(['events', 'export'], environment)).trim().split('\n');
}

describe('on an external server, a killed', () => {
  let owner: Client;
  let environment: Environment;
  const file = path('killed.backup');

  const connect = async (databaseUrl: string) => {
    owner = new Client({ connectionString: databaseUrl });
    await owner.connect();
    environment = { DATABASE_URL: databaseUrl, SECRET_KEY };
  };
  const waitsForLock = async () =>
    (
      await owner.query(
        `SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database()`,
      )
    ).rowCount;
  afterEach(() => owner.end());

  it('backup leaves no file under its name, and can be repeated', async () => {
    await connect(await createDatabase());
    await run(['sites', 'add', 'shop.example'], environment);
    await owner.query(`CREATE TABLE cc.filler AS SELECT md5(n::text) AS text FROM generate_series(1, 2000000) n;
      GRANT SELECT ON cc.filler TO cc_service`);
    const { child, ended } = startCommand(['backup', '--out', file], environment);
    await eventually(async () => existsSync(`${file}.part`), true);
    child.kill('SIGKILL');
    expect((await ended).code).toBeNull();
    await owner.query('DROP TABLE cc.filler');
    expect(existsSync(file)).toBe(false);
    await run(['backup', '--out', file], environment);
    expect([existsSync(file), existsSync(`${file}.part`)]).toEqual([true, false]);
  });

  it('restore restores nothing, and can be repeated', async () => {
    await connect(await createEmptyDatabase());
    await run(['sites', 'list'], environment);
    // Every row is copied by then, and nothing is committed.
    await owner.query(`SELECT pg_advisory_lock(${APPEND_LOCK})`);
    const { child, ended } = startCommand(['restore', file], environment);
    await eventually(waitsForLock, 1);
    child.kill('SIGKILL');
    await ended;
    await owner.query(`SELECT pg_advisory_unlock(${APPEND_LOCK})`);
    expect(await run(['sites', 'list', '--json'], environment)).toBe('[]\n');
    await run(['restore', file], environment);
    expect(JSON.parse(await run(['sites', 'list', '--json'], environment))).toMatchObject([{ host: 'shop.example' }]);
    expect(await run(['history', 'verify'], environment)).toMatch(/All checks passed\.\n$/);
  });
});
