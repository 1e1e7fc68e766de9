import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { runCli } from '../src/cli/run-cli.js';
import { Collector } from './support/collector.js';
import { createDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { post, startTestService, type TestSite } from './support/service.js';

const CLI = join(import.meta.dirname, '../dist/cli.js');
const SITE = 'shop.example';
const SUBJECT = createHash('sha256').update('jane@example.com').digest('hex');
const ESCAPE = '\u001b[';

let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = temporaryFolder('cc-terminal-');
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  env = {
    PATH: process.env['PATH'] ?? '',
    DATABASE_URL: await createDatabase(),
    SECRET_KEY: 'ab'.repeat(32),
    DATA_DIR: folder,
  };
  await json('sites', 'add', SITE);
});

/** Without a terminal. */
async function cli(...argv: string[]) {
  const [stdout, stderr] = [new Collector(), new Collector()];
  const code = await runCli(argv, { env, stdout, stderr });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

async function json(...argv: string[]) {
  const { stdout, stderr } = await cli(...argv, '--json');
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

interface TerminalOptions {
  readonly columns?: number;
  /** What is typed when the question is shown. */
  readonly answer?: string;
  readonly more?: Record<string, string>;
  readonly redirect?: string;
}

/** On a pseudo-terminal of util-linux: what it shows, and the exit code. */
function onTerminal(
  argv: readonly string[],
  { columns = 200, answer, more = {}, redirect = '' }: TerminalOptions = {},
) {
  const command = `stty cols ${columns} && ${process.execPath} ${CLI} ${argv.join(' ')} ${redirect}`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], { env: { ...env, TERM: 'xterm', ...more } });
  let shown = '';
  let isAnswered = false;
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk;
    if (answer === undefined || isAnswered || !shown.includes('[y/N]')) return;
    isAnswered = true;
    child.stdin.write(answer);
  });
  return new Promise<{ code: number | null; shown: string }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, shown: shown.replaceAll('\r\n', '\n') }));
  });
}

async function keyStatuses(): Promise<string[]> {
  return (await json('keys', 'list', '--site', SITE)).map(({ status }: { status: string }) => status);
}

/** A delivery that is deferred: nothing listens at the endpoint. */
async function storeAttempt(): Promise<void> {
  await json('inbound', 'enable', SITE);
  await json(
    'platforms',
    'connect',
    'segment',
    '--site',
    SITE,
    '--set',
    'write_key=w',
    '--endpoint',
    'http://127.0.0.1:9',
  );
  const { key } = await json('keys', 'create', '--site', SITE, '--name', 'CRM');
  const service = await startTestService(env['DATABASE_URL'] as string, { SECRET_KEY: env['SECRET_KEY'] as string });
  try {
    const body = { email: 'jane@example.com', event: 'purchase' };
    expect((await post(service, { host: SITE, key } as TestSite, body)).status).toBe(200);
  } finally {
    await service.stop();
  }
}

describe('the service on a terminal', () => {
  it('prints nothing but what a person reads', async () => {
    const start = `${process.execPath} ${join(import.meta.dirname, '../dist/main.js')}`;
    const child = spawn('script', ['-qefc', start, '/dev/null'], {
      env: { ...env, TERM: 'xterm', PORT: '0', ADMIN_PORT: '0' },
    });
    let shown = '';
    let opened: Promise<number> | undefined;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.stdout.on('data', (chunk: Buffer) => {
      shown += chunk;
      const [, link] = /(\S+\/sign-in#\S+)\s/.exec(shown) ?? [];
      if (opened || link === undefined) return;
      opened = fetch(link).then(({ status }) => status);
      void opened.finally(() => child.stdin.write('\u0003'));
    });
    await ended;
    expect(await opened).toBe(200);
    // The link is on top.
    expect(shown).toMatch(/Open this link to create the first administrator[\s\S]*Clean Conversions listens on/);
    expect(shown).toMatch(/^\d\d:\d\d:\d\d {2}The management API listens \(url: /m);
    expect(shown).not.toMatch(/^\{/m);
    expect(shown).not.toContain('There is no user');
  });
});

describe('the command line on a terminal', () => {
  it('has colours unless NO_COLOR is set', async () => {
    const coloured = await onTerminal(['sites', 'list']);
    expect(coloured.shown).toContain(`${ESCAPE}1mHOST${ESCAPE}22m`);
    const plain = await onTerminal(['sites', 'list'], { more: { NO_COLOR: '1' } });
    expect(plain.shown).not.toContain(ESCAPE);
    expect(stripVTControlCharacters(coloured.shown)).toBe(plain.shown);
    const refused = await onTerminal(['sites', 'show', 'none.example']);
    expect([refused.code, refused.shown]).toEqual([1, expect.stringContaining(`${ESCAPE}31mThere is no site`)]);
  });

  it('keeps tables within the width, which other output exceeds', async () => {
    const listed = await cli('platforms', 'list');
    const widthOf = (text: string) => Math.max(...text.split('\n').map((line) => line.length));
    expect(widthOf(listed.stdout)).toBeGreaterThan(100);
    expect(listed.stdout).not.toContain(ESCAPE);
    const narrow = await onTerminal(['platforms', 'list'], { columns: 100, more: { NO_COLOR: '1' } });
    expect(widthOf(narrow.shown)).toBeLessThanOrEqual(100);
    const words = (text: string) => text.split(/\s+/).filter(Boolean).sort();
    expect(words(narrow.shown)).toEqual(words(listed.stdout));
    const redirected = await onTerminal(['platforms', 'list'], { columns: 100, redirect: `> ${folder}/list` });
    expect([redirected.shown, readFileSync(`${folder}/list`, 'utf8')]).toEqual(['', listed.stdout]);
  });

  it.each([{ argv: ['history', 'verify'] }, { argv: ['doctor'] }, { argv: ['sync', 'log', '--site', SITE] }])(
    'wraps long lines of $argv between words, on a terminal only',
    async ({ argv }) => {
      await storeAttempt();
      const listed = await cli(...argv);
      const widths = (text: string) => text.split('\n').map((line) => line.length);
      expect(Math.max(...widths(listed.stdout))).toBeGreaterThan(100);
      const { shown } = await onTerminal(argv, { columns: 100, more: { NO_COLOR: '1' } });
      // Progress has no line of its own: it is cleared before anything else is printed.
      const result = shown
        .split(`\r${ESCAPE}K`)
        .filter((part) => part.includes('\n'))
        .join('');
      expect(widths(result).filter((width) => width > 100)).toEqual([]);
      expect(result.split('\n').length).toBeGreaterThan(listed.stdout.split('\n').length);
    },
  );

  it.each([
    { answer: 'n\n', code: 1, status: 'active' },
    { answer: '\n', code: 1, status: 'active' },
    { answer: '\u0004', code: 1, status: 'active' },
    { answer: '\u0003', code: 130, status: 'active' },
    { answer: 'yes\n', code: 0, status: 'revoked' },
  ])('revokes a key only after a yes: $answer', async ({ answer, code, status }) => {
    const { id } = await json('keys', 'create', '--site', SITE, '--name', 'CRM');
    const ended = await onTerminal(['keys', 'revoke', id, '--site', SITE], { answer });
    expect(ended.shown).toContain(`Revoke the key "CRM" of ${SITE}? Its senders are refused at once.`);
    if (code !== 0) expect(ended.shown).toContain('nothing was changed');
    expect([ended.code, await keyStatuses()]).toEqual([code, [status]]);
  });

  it('asks before a site is removed, a platform disconnected or a person erased, and not with --yes', async () => {
    await json('platforms', 'connect', 'segment', '--site', SITE, '--set', 'write_key=w');
    const commands = [
      ['visitors', 'erase', '--site', SITE, '--hash', SUBJECT],
      ['platforms', 'disconnect', 'segment', '--site', SITE],
      ['sites', 'remove', SITE],
    ];
    for (const command of commands) {
      const refused = await onTerminal(command, { answer: 'n\n' });
      expect([command, refused.code, refused.shown]).toEqual([command, 1, expect.stringContaining('[y/N]')]);
    }
    expect(await json('sites', 'list')).toHaveLength(1);
    expect(await json('platforms', 'list', '--site', SITE)).toContainEqual(
      expect.objectContaining({ platform: 'segment', state: 'active' }),
    );
    for (const command of commands) {
      const done = await onTerminal([...command, '--yes']);
      expect([command, done.code, done.shown]).toEqual([command, 0, expect.not.stringContaining('[y/N]')]);
    }
    expect(await json('sites', 'list')).toEqual([]);
  });
});

describe('the command line without a terminal', () => {
  it('runs what scripts were promised, and refuses to remove a site without --yes', async () => {
    const { id } = await json('keys', 'create', '--site', SITE, '--name', 'CRM');
    await json('keys', 'revoke', id, '--site', SITE);
    expect(await keyStatuses()).toEqual(['revoked']);
    expect(await cli('sites', 'remove', SITE)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'This cannot be undone. Add --yes to confirm it, or --dry-run to see what it would change.\n',
    });
    expect(await json('sites', 'list')).toHaveLength(1);
    expect(await json('sites', 'remove', SITE, '--yes')).toMatchObject({ removed: true });
  });

  it('changes nothing in a dry run, and refuses what would be refused', async () => {
    const { id } = await json('keys', 'create', '--site', SITE, '--name', 'CRM');
    await json('platforms', 'connect', 'segment', '--site', SITE, '--set', 'write_key=w');
    const before = (await cli('events', 'export')).stdout;
    expect(await json('keys', 'revoke', id, '--site', SITE, '--dry-run')).toMatchObject({ id, dryRun: true });
    expect(await json('platforms', 'disconnect', 'segment', '--site', SITE, '--dry-run')).toMatchObject({
      state: 'active',
      dryRun: true,
    });
    expect(await json('sites', 'remove', SITE, '--dry-run')).toEqual({
      ...{ host: SITE, removed: false, disconnected: ['segment'], revokedKeys: 1, dryRun: true },
    });
    expect((await cli('keys', 'revoke', 'none', '--site', SITE, '--dry-run')).stderr).toMatch(/has no key none/);
    expect((await cli('platforms', 'disconnect', 'meta', '--site', SITE, '--dry-run')).code).toBe(1);
    expect((await cli('sites', 'remove', 'none.example', '--dry-run')).code).toBe(1);
    expect((await cli('events', 'export')).stdout).toBe(before);
  });

  it.each([
    { argv: ['sync', 'log', '--site', SITE, '--status', 'delivred'], choices: /delivered, accepted, .*, validated/ },
    { argv: ['sites', 'set', SITE, '--bot-mode', 'off'], choices: /observe, enforce/ },
    { argv: ['sites', 'set', SITE, '--bot-filter', 'some'], choices: /leads, all, none/ },
    { argv: ['sites', 'set', SITE, '--consent-required', 'maybe'], choices: /yes, no/ },
    { argv: ['sites', 'set', SITE, '--withhold', 'nothing'], choices: /identifiers, personal, everything/ },
    {
      argv: ['replay', 'deliveries', '--site', SITE, '--platform', 'meta', '--status', 'no'],
      choices: /failed, .*skipped/,
    },
    { argv: ['events', 'export', '--format', 'xml'], choices: /ndjson/ },
    { argv: ['users', 'add', 'a@shop.example', '--role', 'king'], choices: /admin/ },
    { argv: ['completion', 'csh'], choices: /bash, zsh, fish/ },
  ])('refuses a value that is none of the choices, and names them: $argv', async ({ argv, choices }) => {
    const { code, stdout, stderr } = await cli(...argv);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^.*is invalid.* Allowed choices are .*\n$/);
    expect(stderr).toMatch(choices);
  });

  it.each([
    ['sync', 'log', '--site', SITE],
    ['history', 'rejudge', '--site', SITE],
    ['history', 'shadow', '--site', SITE],
    ['events', 'tail'],
    ['events', 'export'],
    ['events', 'export', '--partition-by', 'day', '--out', '/none/folder'],
  ])('refuses a range that ends before it starts: %s %s', async (...argv) => {
    for (const [from, to] of [
      ['2025-03-02', '2025-03-01'],
      ['9', '3'],
    ] as const) {
      const { code, stdout, stderr } = await cli(...argv, '--from', from, '--to', to);
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('start of the range is after its end')]);
    }
  });

  it('names a damaged checkpoint of a Parquet file, and what to do', async () => {
    const out = join(folder, 'events.parquet');
    const options = { format: 'parquet' };
    for (const state of [undefined, { deflated: 'no' }, { offset: 4, rows: 1, rowGroups: 'none' }]) {
      writeFileSync(`${out}.part`, 'PAR1');
      const mark = { position: 1, events: 1, bytes: 4, ...(state && { state }) };
      writeFileSync(`${out}.part.json`, JSON.stringify({ question: JSON.stringify(options), mark }));
      const { code, stderr } = await cli('events', 'export', '--format', 'parquet', '--out', out);
      expect([code, stderr]).toEqual([1, expect.stringContaining('is damaged, so the export cannot be resumed')]);
      expect(stderr).toContain('.part.json');
    }
    rmSync(`${out}.part.json`);
    expect((await cli('events', 'export', '--format', 'parquet', '--out', out)).code).toBe(0);
  });
});
