import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { runCli } from '../src/cli/run-cli.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { eventually } from './support/waiting.js';

const CLI = join(import.meta.dirname, '..', 'dist/cli.js');
const ROWS = 3_000;
/** Among 3,000 rows, 5 % repeat an earlier one and 1 % have no valid address. */
const BAD = ROWS / 100;
const REPEATED = ROWS / 20;
const ACCEPTED = ROWS - BAD - REPEATED;

function exportedRows(): string[] {
  const rows = ['\ufeffKunden-Mail;Event;Value;Currency;Order ID;Last name;Occurred At'];
  for (let row = 1; row <= ROWS; row += 1) {
    const order = row % 20 === 19 ? row - 10 : row;
    const email = row % 100 === 50 ? 'no address' : `jane${order}@example.com`;
    rows.push(`${email};purchase;${order},50;EUR;ORD-${order};"Doe; ""J.""\r\nthe ${order}th";01.03.2026 11:15`);
  }
  return rows;
}

describe('conversions import', () => {
  const folder = temporaryFolder('cc-import-');
  const file = join(folder, 'export.csv');
  const rows = exportedRows();
  const environment = { PATH: process.env['PATH'] ?? '', DATA_DIR: folder, SECRET_KEY: 'ab'.repeat(32) };
  let server: TestServer;
  let postgres: Postgres;
  let log: PostgresEventLog;
  let settings: NodeJS.ProcessEnv;

  beforeAll(async () => {
    writeFileSync(file, rows.map((row) => `${row}\r\n`).join(''));
    server = await startTestServer();
    const url = await createDatabase(server);
    settings = { ...environment, DATABASE_URL: url };
    postgres = await openDatabase(url);
    log = new PostgresEventLog(postgres);
    await cc('sites', 'add', 'shop.example');
  });
  afterAll(async () => {
    await log?.close();
    await postgres?.close();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function run(
    argv: string[],
    { err = [], ...more }: { stdin?: Readable; stop?: AbortSignal; err?: string[] } = {},
  ) {
    const out: string[] = [];
    const into = (lines: string[]) =>
      new Writable({
        write(chunk, _, done) {
          lines.push(String(chunk));
          done();
        },
      });
    const code = await runCli(argv, { env: settings, stdout: into(out), stderr: into(err), ...more });
    return { code, stdout: out.join(''), stderr: err.join('') };
  }

  async function cc(...argv: string[]): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await run([...argv, '--json']);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  const importing = (...more: string[]) =>
    cc('conversions', 'import', file, '--site', 'shop.example', '--map', 'email=Kunden-Mail', ...more);

  const received = () => log.read({ types: ['conversion.received.v1'], limit: 10_000 });
  const stored = async () => (await received()).length;
  const untilStored = (more: number) => eventually(stored, (count) => count > more);

  /** Feeds the first rows through a pipe that stays open, and kills the process as soon as the log has more conversions. */
  async function importAndKill(lines: number): Promise<void> {
    const before = await stored();
    const others = await appendConnections();
    const child = spawn(
      process.execPath,
      [CLI, 'conversions', 'import', '-', '--site', 'shop.example', '--map', 'email=Kunden-Mail'],
      { env: settings, cwd: folder },
    ) as ChildProcessWithoutNullStreams;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
    child.stdin.on('error', () => {});
    for (const row of rows.slice(0, lines)) child.stdin.write(`${row}\r\n`);
    await untilStored(before);
    expect({ ended: child.exitCode, output }).toEqual({ ended: null, output: '' });
    child.kill('SIGKILL');
    await once(child, 'close');
    // A batch that it has sent may be stored after its end.
    await eventually(appendConnections, (pids) => pids.every((pid) => others.includes(pid)));
  }

  async function appendConnections(): Promise<number[]> {
    const { rows } = await postgres.pool.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '%-append%'`,
    );
    return rows.map(({ pid }) => pid);
  }

  it('counts in a dry run what it would do and names the rejected lines, and stores nothing', async () => {
    const head = await log.head();
    const { firstRejected, ...counts } = await importing('--dry-run');
    expect(counts).toEqual({
      accepted: ACCEPTED,
      deduplicated: REPEATED,
      filtered: 0,
      rejected: BAD,
      rejectedFile: `${file}.rejected.csv`,
    });
    const shown = firstRejected as { number: number; reason: string }[];
    expect(shown).toHaveLength(Math.min(10, BAD));
    const texts = readFileSync(file, 'utf8').split('\r\n');
    const reasons = readFileSync(`${file}.rejected.csv`, 'utf8');
    for (const { number, reason } of shown) expect(reasons).toContain(`${reason};${texts[number - 1]}`);
    expect(await log.head()).toBe(head);
    rmSync(`${file}.rejected.csv`);
  });

  it('stores every row once, although it is killed three times', async () => {
    for (const lines of [1_001, 2_001, 3_001]) await importAndKill(lines);
    const before = await stored();
    expect(before).toBeLessThanOrEqual(ACCEPTED);
    const counts = await importing();
    expect(counts).toMatchObject({
      accepted: ACCEPTED - before,
      deduplicated: ROWS - BAD - (ACCEPTED - before),
      filtered: 0,
      rejected: BAD,
      rejectedFile: `${file}.rejected.csv`,
    });
    const events = await received();
    expect(events).toHaveLength(ACCEPTED);
    expect(new Set(events.map(({ data }) => data.orderId)).size).toBe(ACCEPTED);
  });

  it('changes nothing when it is repeated after the dedup window', async () => {
    await cc('sites', 'set', 'shop.example', '--dedup-window', '0s');
    const head = await log.head();
    expect(await importing()).toMatchObject({ accepted: 0, deduplicated: ROWS - BAD, rejected: BAD });
    expect(await log.head()).toBe(head);
  });

  it('writes the rejected rows with their reasons to a private file, which can be corrected and imported', async () => {
    const path = `${file}.rejected.csv`;
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const text = readFileSync(path, 'utf8');
    expect(text).toMatch(/^\ufeffrejected_reason;Kunden-Mail;/);
    expect(text.match(/^email is invalid;no address;/gm)).toHaveLength(BAD);
    writeFileSync(path, text.replaceAll('no address', 'correct@example.com'));
    const argv = ['conversions', 'import', path, '--site', 'shop.example', '--map', 'email=Kunden-Mail'];
    expect(await cc(...argv)).toEqual({ accepted: BAD, deduplicated: 0, filtered: 0, rejected: 0 });
  });

  it('does not bring back a person who was erased', async () => {
    await cc('visitors', 'erase', '--site', 'shop.example', '--email', 'jane7@example.com');
    const lines = [
      { email: 'jane7@example.com', event: 'purchase', orderId: 'ORD-7', value: 7.5, currency: 'EUR' },
      { email: 'jane7@example.com', event: 'purchase', orderId: 'NEW-7' },
      { email: 'jane8@example.com', event: 'purchase', orderId: 'NEW-8' },
    ];
    const head = await log.head();
    const stdin = Readable.from(lines.map((line) => `${JSON.stringify(line)}\n`));
    const rejected = join(folder, 'rejected.ndjson');
    const argv = ['conversions', 'import', '-', '--site', 'shop.example', '--rejected', rejected, '--json'];
    const { stdout } = await run(argv, { stdin });
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 1, rejected: 2 });
    expect(await log.head()).toBe(head + 1);
    expect(readFileSync(rejected, 'utf8')).toContain('the person was erased');
  });

  it('waits while PostgreSQL is down, and loses and repeats nothing', async () => {
    const before = await stored();
    const lines = Array.from(
      { length: 1_500 },
      (_, at) => `{"email":"j${at}@example.com","event":"lead","orderId":"L-${at}"}\n`,
    );
    const stdin = new Readable({ read: () => {} });
    stdin.push(lines.slice(0, 600).join(''));
    const argv = ['conversions', 'import', '-', '--site', 'shop.example', '--format', 'ndjson', '--json'];
    const result = run(argv, { stdin });
    await untilStored(before);
    await server.kill9();
    stdin.push(lines.slice(600).join(''));
    stdin.push(null);
    await server.restart();
    const { code, stdout, stderr } = await result;
    expect({ code, stdout: JSON.parse(stdout), stderr }).toMatchObject({
      code: 0,
      stdout: { accepted: 1_500, deduplicated: 0, filtered: 0, rejected: 0 },
    });
    expect(await stored()).toBe(before + 1_500);
  });

  it('waits while the site is paused, and says what it waits for', async () => {
    await cc('sites', 'pause', 'shop.example');
    const err: string[] = [];
    const stdin = Readable.from(['{"email":"paused@example.com","event":"lead"}\n']);
    const result = run(['conversions', 'import', '-', '--site', 'shop.example', '--json'], { stdin, err });
    const said = await eventually(
      async () => err.join(''),
      (text) => text.includes('Waiting'),
    );
    await cc('sites', 'resume', 'shop.example');
    expect(JSON.parse((await result).stdout)).toMatchObject({ accepted: 1, rejected: 0 });
    expect(said).toMatch(/^Waiting for the site: Site shop\.example is paused/);
  });

  it('stops on Ctrl-C and says how to continue', async () => {
    const stop = new AbortController();
    const stdin = new Readable({ read: () => {} });
    stdin.push('{"email":"a@example.com","event":"lead"}\n');
    const result = run(['conversions', 'import', '-', '--site', 'shop.example', '--json'], {
      stdin,
      stop: stop.signal,
    });
    setImmediate(() => stop.abort());
    const { code, stderr } = await result;
    expect(code).toBe(130);
    expect(stderr).toContain('Run the same command again to continue');
  });

  it.each([
    [['--map', 'mail=x'], 2, '--map: there is no field "mail"'],
    [['--timezone', 'Nowhere'], 2, '--timezone: Nowhere is not a time zone'],
    [[], 1, 'Name the column with --map email=<column>'],
  ])('with the options %j fails before anything is stored', async (options, code, message) => {
    const head = await log.head();
    const result = await run(['conversions', 'import', file, '--site', 'shop.example', ...options]);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(message);
    expect(await log.head()).toBe(head);
  });
});
