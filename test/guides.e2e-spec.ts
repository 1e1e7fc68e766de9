import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { jest } from '@jest/globals';
import { inboundBodySchema } from '../src/conversions/inbound-fields.js';
import { signature } from '../src/http/webhook-signature.js';
import type { StoredEvent } from '../src/log/event.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { type ServiceProcess, spawnService } from './support/service-process.js';

jest.setTimeout(60_000);

const checkout = join(import.meta.dirname, '..');
const root = mkdtempSync(join(tmpdir(), 'cc-guides-'));
// As root, another user runs the database, and it must get to its data.
chmodSync(root, 0o755);
const dataDir = join(root, 'data');

const DOCUMENTS = [
  'README.md',
  ...readdirSync(join(checkout, 'docs'), { recursive: true })
    .map((file) => `docs/${String(file)}`)
    .filter((file) => file.endsWith('.md'))
    .sort(),
];
const EMAIL = 'jane.doe@example.com';
/** Where `npm run sandbox` listens, as the documents say. */
const SANDBOX_URL = 'http://127.0.0.1:8089';

interface Language {
  readonly program: string;
  readonly extension: string;
  /** What its code in the guides cannot do without. */
  readonly needs: readonly string[];
}
const LANGUAGES: Readonly<Record<string, Language>> = {
  bash: { program: 'bash', extension: 'sh', needs: ['bash', 'curl'] },
  js: { program: process.execPath, extension: 'mjs', needs: [] },
  python: { program: 'python3', extension: 'py', needs: ['python3'] },
};
const missing = ['bash', 'curl', 'python3'].filter((name) => spawnSync(name, ['--version']).status !== 0);
for (const name of missing)
  console.warn(`LEFT OUT: what the guides show with ${name}, which this machine does not have.`);

/** The programs that send a conversion and try again: where they stand, and the order they send. */
const SENDERS = [
  { file: 'docs/integrate/curl.md', language: 'bash', at: 1, orderId: 'ORD-1001' },
  { file: 'docs/integrate/node.md', language: 'js', at: 0, orderId: 'ORD-2001' },
  { file: 'docs/integrate/python.md', language: 'python', at: 0, orderId: 'ORD-3001' },
].filter(({ language }) => canRun(language));

let service: ServiceProcess;
let sandbox: RunningSandbox;

beforeAll(async () => {
  const nest = join(checkout, 'node_modules/@nestjs/cli/bin/nest.js');
  if (!existsSync(join(checkout, 'dist/main.js'))) execFileSync(process.execPath, [nest, 'build'], { cwd: checkout });
  makeNpm();
  service = await spawnService(dataDir);
  sandbox = await new Sandbox().start();
});

afterAll(async () => {
  await service?.end('SIGTERM');
  await sandbox?.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

describe('the guides', () => {
  const received = { ok: true, event: 'purchase', results: {} };
  const expected: string[] = [];

  it.each(SENDERS)('in $language send a conversion, and sent again it is a duplicate', async (sender) => {
    const code = codeOf(sender);
    expect(readReceipt(await runCode(sender.language, code))).toEqual(received);
    expect(readReceipt(await runCode(sender.language, code))).toEqual({ ok: true, deduped: true });
    expected.push(sender.orderId);
  });

  (canRun('bash') ? it : it.skip)('in bash send one by hand and ask what became of it', async () => {
    const [byHand, , ask] = blocksOf('docs/integrate/curl.md', 'bash') as [string, string, string];
    expect(readReceipt(await runCode('bash', byHand))).toEqual({ ok: true, event: 'lead', results: {} });
    expect(readReceipt(await runCode('bash', byHand))).toEqual({ ok: true, deduped: true });
    expect(readReceipt(await runCode('bash', ask))).toEqual(received);
    expected.push('LEAD-1001');
  });

  it.each([
    { file: 'docs/integrate/node.md', language: 'js' },
    { file: 'docs/integrate/python.md', language: 'python' },
  ])('in $language hash an address as the service does', async ({ file, language }) => {
    if (!canRun(language)) return;
    const { stdout } = await runCode(language, blocksOf(file, language)[1] as string);
    expect(stdout.trim()).toBe(sha256(EMAIL));
  });

  it('for any tool name boxes that make a good request', async () => {
    const boxes = tableOf('docs/integrate/any-tool.md', 'box');
    const entry = (name: string) => boxes.filter(([box]) => box === name).map(([, what]) => code(what as string));
    const [key, type] = entry('Header') as [string[], string[]];
    const reply = await send(service.url, {
      method: entry('Method')[0]?.[0] as string,
      path: new URL(entry('URL')[0]?.[0] as string).pathname,
      headers: { [key[0] as string]: service.key, [type[0] as string]: type[1] as string },
      body: blocksOf('docs/integrate/any-tool.md', 'json')[0] as string,
    });
    expect(reply).toEqual({ status: 200, body: JSON.stringify({ ok: true, event: 'lead', results: {} }) });
    expected.push('DEAL-4001');
  });

  (canRun('bash') ? it : it.skip)(
    "are as good as the banner's line, which works when pasted and is the README's",
    async () => {
      const line = /^curl .*$/m.exec(service.output())?.[0] as string;
      expect(readReceipt(await run('bash', ['-c', line]))).toEqual(received);
      // The README shows it shortened, and otherwise as it is.
      const shortened = line
        .replace(/:\d+\//, ':8080/')
        .replace(/cc_\w+/, 'cc_…')
        .replace(/ORD-.*(?="})/, 'ORD-…');
      const [shown] = blocksOf('README.md', 'text') as [string];
      expect(shown.replace(/ \\\n */, ' ').trim()).toBe(shortened);
    },
  );

  it('leave each of these conversions in the log once, and no word about the person', async () => {
    const { stdout } = await cli('events export --site localhost --type conversion.received.v1 --json');
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as StoredEvent);
    const orders = events.map(({ data }) => String(data['orderId']));
    expect(orders.filter((order) => !/^ORD-\d{10}$/.test(order)).sort()).toEqual([...expected].sort());
    for (const { data, personal } of events) {
      if (expected.includes(String(data['orderId']))) expect(personal?.subject).toBe(sha256(EMAIL));
    }
    expect(stdout).not.toMatch(/jane|doe|23125001/i);
  });
});

describe('the programs in the guides', () => {
  const REFUSED = 'Refused with 400: {"ok":false,"error":"event required"}';

  it('try again with the same body while it may help, and give up politely when it does not', async () => {
    const cases = SENDERS.flatMap((sender) => [
      // No answer at all, as from a service that is just being restarted, is answered by trying again too.
      { sender, answers: [503, 503, 200], tries: 3, exit: 0, says: '' },
      { sender, answers: ['cut', 500, 200] as const, tries: 3, exit: 0, says: '' },
      { sender, answers: [400], tries: 1, exit: 1, says: REFUSED },
      { sender, answers: [503], tries: 4, exit: 1, says: 'Given up for now' },
      { sender, answers: 'closed' as const, tries: 0, exit: 1, says: 'Given up for now' },
    ]);
    // Side by side: most of the time they wait.
    await Promise.all(
      cases.map(async ({ sender, answers, tries, exit, says }) => {
        const server = await fakeService(answers);
        const { code: ended, stdout, stderr } = await runCode(sender.language, codeOf(sender), server.url);
        await server.close();
        const what = `${sender.language}, answered with ${answers}: ${stdout}${stderr}`;
        expect([what, ended]).toEqual([what, exit]);
        expect([what, server.bodies.length]).toEqual([what, tries]);
        expect([what, new Set(server.bodies).size]).toEqual([what, Math.min(1, tries)]);
        for (const body of server.bodies) expect(JSON.parse(body)).toMatchObject({ orderId: sender.orderId });
        expect(stderr).toContain(says);
        if (says.startsWith('Given up')) expect(stderr).toContain('with the same orderId');
        if (exit === 0) expect(JSON.parse(stdout)).toEqual({ ok: true, event: 'purchase', results: {} });
        // A traceback is not polite.
        expect(stderr.replace(/^curl: .*\n/gm, '')).not.toMatch(/Traceback|\n {4}at |\n.*\n/);
      }),
    );
  });
});

describe('the receivers in the guides', () => {
  const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const PRIVATE = { OUTBOUND_ALLOW_PRIVATE: 'true' };
  const receivers = ['js', 'python'].filter(canRun);

  it.each(receivers)('in %s add up what is pushed, drop repeats, and refuse what is not ours', async (language) => {
    const receiver = await startReceiver(
      language,
      blocksOf('docs/integrate/webhook.md', language)[0] as string,
      SECRET,
    );
    try {
      const webhook = (verb: string) => run('sh', ['-c', `npm run cc -- webhook ${verb} --site localhost`], PRIVATE);
      const settings = `--url ${receiver.url}/totals --secret ${SECRET}`;
      expect((await webhook(`set ${settings}`)).code).toBe(0);
      expect((await webhook('test')).code).toBe(0);
      expect(receiver.totals()).toEqual([]);
      const order = { email: EMAIL, event: 'lead', orderId: `PUSH-${language}` };
      await send(service.url, {
        ...{ method: 'POST', path: '/__cc/inbound', body: JSON.stringify(order) },
        headers: { 'X-CC-Api-Key': service.key, 'Content-Type': 'application/json' },
      });
      expect((await webhook('push')).code).toBe(0);
      expect(receiver.totals()).toHaveLength(1);
      const pushed = receiver.totals()[0] as { conversions: number; bot_traffic_removed: number };
      expect(pushed.conversions).toBeGreaterThan(0);

      const now = Math.floor(Date.now() / 1_000);
      const body = '{"conversions":5,"bot_traffic_removed":2}';
      const push = (id: string, timestamp: number, change: Record<string, string> = {}) =>
        send(receiver.url, {
          ...{ method: 'POST', path: '/totals', body },
          headers: {
            Authorization: `Bearer ${SECRET}`,
            'webhook-id': id,
            'webhook-timestamp': String(timestamp),
            'webhook-signature': `v1,bm90IHRoaXMgb25l ${signature(SECRET, id, timestamp, body)}`,
            'Content-Length': String(body.length),
            ...change,
          },
        });
      expect((await push('one', now)).status).toBe(200);
      expect((await push('one', now + 1)).status).toBe(200);
      expect((await push('two', now, { Authorization: 'Bearer wrong' })).status).toBe(401);
      expect((await push('two', now - 600)).status).toBe(401);
      const forged = signature('whsec_bm90IG91cnM=', 'two', now, body);
      expect((await push('two', now, { 'webhook-signature': forged })).status).toBe(401);
      expect((await push('two', now, { 'webhook-signature': '' })).status).toBe(401);
      const { conversions, bot_traffic_removed } = pushed;
      const sum = { conversions: conversions + 5, bot_traffic_removed: bot_traffic_removed + 2 };
      expect(receiver.totals()).toEqual([pushed, sum]);
    } finally {
      receiver.stop();
    }
  });
});

describe('the command line', () => {
  const lines = DOCUMENTS.flatMap((file) => blocksOf(file, 'sh').flatMap((block) => block.split('\n'))).filter(Boolean);

  it('as the documents show it, does what they say', async () => {
    expect(lines.length).toBeGreaterThanOrEqual(5);
    let said = '';
    for (const line of lines) {
      expect(line).toMatch(/^npm run cc -- /);
      const here = line.replace(SANDBOX_URL, sandbox.url);
      const { code: ended, stdout, stderr } = await run('sh', ['-c', here]);
      expect([line, ended, ended === 0 ? '' : stdout + stderr]).toEqual([line, 0, '']);
      said += stdout;
    }
    // Whoever has followed them has a site that takes conversions, and a platform of the sandbox that gets them.
    const key = /\bcc_\w{49}\b/.exec(said)?.[0] as string;
    const reply = await send(service.url, {
      method: 'POST',
      path: '/__cc/inbound',
      headers: { Host: 'shop.example', 'X-CC-Api-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: EMAIL, event: 'signup' }),
    });
    const results = { tiktok: { ok: true, status: 'delivered' } };
    expect(reply).toEqual({ status: 200, body: JSON.stringify({ ok: true, event: 'signup', results }) });
  });

  it('looks, with doctor, at what the page on operating lists', async () => {
    const { stdout } = await cli('doctor --json');
    const listed = tableOf('docs/operate.md', 'check').map(([name]) => code(name as string)[0]);
    expect(listed).toEqual(JSON.parse(stdout).checks.map(({ name }: { name: string }) => name));
  });
});

describe('what the documents name', () => {
  it('is there: files and headings they link to', () => {
    const broken = DOCUMENTS.flatMap((file) => {
      const links = [...withoutCode(read(file)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target as string);
      return links
        .filter((target) => !/^https?:/.test(target) && !leadsSomewhere(file, target))
        .map((target) => `${file}: ${target}`);
    });
    expect(broken).toEqual([]);
  });

  it('is there: sources, and scripts of the package', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const file of DOCUMENTS) {
      const text = read(file);
      const sources = [...text.matchAll(/`(src\/[^`\s]*)`/g)].map(([, path]) => path as string);
      expect(sources.filter((path) => !existsSync(join(checkout, path)))).toEqual([]);
      const named = [...text.matchAll(/npm (?:run (?:-s )?([\w-]+)|(start|test))/g)].map(
        ([, one, other]) => one ?? other,
      );
      expect(named.filter((name) => !(String(name) in scripts))).toEqual([]);
    }
    expect(scripts['cc']).toBe('node --enable-source-maps dist/cli.js');
  });

  it('are all settings there are, with their defaults', () => {
    const source = read('src/kernel/settings.ts');
    const known = [...source.matchAll(/\b(?:read|optional)\(\s*'([A-Z_]+)'(?:,\s*'([^']*)')?/g)];
    const listed = tableOf('README.md', 'name').map(([name, value]) => [
      code(name as string)[0],
      code(value as string)[0],
    ]);
    expect(known.length).toBeGreaterThan(10);
    expect(Object.fromEntries(listed)).toEqual(
      Object.fromEntries(known.map(([, name, value]) => [name, value || undefined])),
    );
  });

  it('are all fields of a conversion', () => {
    const listed = tableOf('docs/integrate/README.md', 'field').map(([name]) => code(name as string)[0]);
    expect(listed).toEqual(Object.keys(inboundBodySchema.properties));
  });

  it('are all results a receipt can have', async () => {
    const { body } = await send(service.url, { path: '/docs/openapi.json' });
    const [received] =
      JSON.parse(body).paths['/__cc/inbound'].post.responses[200].content['application/json'].schema.oneOf;
    const { status } = received.properties.results.additionalProperties.properties;
    const listed = tableOf('docs/integrate/README.md', 'status \\| meaning').map(([name]) => code(name as string)[0]);
    expect(listed).toEqual(status.enum);
  });

  it('are errors that the service really gives', () => {
    const sources = ['src/conversions/inbound.endpoint.ts', 'src/conversions/inbound-fields.ts'].map(read).join('');
    const [byStatus, byField] = ['status \\| error', 'error'].map((head) => tableOf('docs/integrate/README.md', head));
    const texts = [
      ...(byStatus ?? []).flatMap(([, error]) => code(error as string)),
      ...(byField ?? []).flatMap(([error]) => code(error as string)),
    ];
    expect(texts.length).toBeGreaterThan(15);
    expect(texts.filter((text) => !sources.includes(`'${text}'`))).toEqual([]);
    const given = [...read('src/conversions/inbound-fields.ts').matchAll(/return '([^']+)'/g)].map(([, text]) => text);
    expect(new Set((byField ?? []).flatMap(([error]) => code(error as string)))).toEqual(new Set(given));
  });

  it('are all metrics of our own', async () => {
    const { body } = await send(service.url, { path: '/metrics' });
    const served = [...body.matchAll(/^# TYPE (cc_\w+)/gm)].map(([, name]) => name as string);
    const listed = tableOf('docs/operate.md', 'metric').map(([name]) => code(name as string)[0]?.replace(/\{.*/, ''));
    expect(listed.sort()).toEqual(served.filter((name) => !/^cc_(process|nodejs)_/.test(name)).sort());
  });
});

// --- reading documents

function read(file: string): string {
  return readFileSync(join(checkout, file), 'utf8');
}

/** The fenced blocks of one language, in order. */
function blocksOf(file: string, language: string): string[] {
  const fences = read(file).matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm);
  return [...fences].filter(([, , named]) => named === language).map(([, , , text]) => text as string);
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^( *)```[\s\S]*?^\1```$/gm, '').replace(/`[^`\n]*`/g, '');
}

/** The rows of the first table whose columns begin with this head. */
function tableOf(file: string, head: string): string[][] {
  const rows = new RegExp(`^\\| ${head} \\|.*\\n\\|[-|]+\\n((?:\\|.*\\n)+)`, 'm').exec(read(file))?.[1] ?? '';
  return rows
    .trimEnd()
    .split('\n')
    .map((row) =>
      row
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

/** What stands between backquotes. */
function code(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, inner]) => inner as string);
}

function leadsSomewhere(file: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const full = path === '' ? join(checkout, file) : resolve(checkout, dirname(file), path);
  if (!existsSync(full)) return false;
  return anchor === undefined || headingsOf(readFileSync(full, 'utf8')).includes(anchor);
}

/** As GitHub names them. */
function headingsOf(markdown: string): string[] {
  const headings = markdown.replace(/^( *)```[\s\S]*?^\1```$/gm, '').matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

// --- running what they show

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const environment = {
    ...process.env,
    PATH: `${join(root, 'bin')}:${process.env['PATH']}`,
    DATA_DIR: dataDir,
    PORT: '0',
    // A proxy of the machine's has no part in talking to localhost.
    NO_PROXY: '*',
    no_proxy: '*',
    ...env,
  };
  return new Promise((done) => {
    const child = execFile(program, args, { env: environment, cwd: root }, (error, stdout, stderr) => {
      done({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
    child.stdin?.end();
  });
}

let files = 0;

/** With the two variables that the guides ask for, and nothing else that they would need. */
function runCode(language: string, text: string, url = service.url): Promise<Ran> {
  const { program, extension } = LANGUAGES[language] as Language;
  files += 1;
  const file = join(root, `guide-${files}.${extension}`);
  writeFileSync(file, text);
  return run(program, [file], { CC_URL: url, CC_KEY: service.key });
}

/** A program of the guides that listens: what it has printed since is the totals, line by line. */
async function startReceiver(language: string, text: string, secret: string) {
  const { program, extension } = LANGUAGES[language] as Language;
  files += 1;
  const file = join(root, `receiver-${files}.${extension}`);
  writeFileSync(file, text);
  const env = { PATH: process.env['PATH'] ?? '', WEBHOOK_SECRET: secret, PORT: '0' };
  const child = spawn(program, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  const url = await new Promise<string>((listening, failed) => {
    child.stdout.on('data', (chunk) => {
      printed += chunk;
      const found = /^Listens on (\S+)\n/.exec(printed)?.[1];
      if (found) listening(found);
    });
    child.once('exit', (code) => failed(new Error(`It ended with ${code}`)));
  });
  const totals = () =>
    printed
      .split('\n')
      .slice(1, -1)
      .map((line) => JSON.parse(line) as unknown);
  return { url, totals, stop: () => child.kill('SIGKILL') };
}

function canRun(language: string): boolean {
  return !LANGUAGES[language]?.needs.some((name) => missing.includes(name));
}

function codeOf({ file, language, at }: { file: string; language: string; at: number }): string {
  return blocksOf(file, language)[at] as string;
}

function readReceipt({ code: ended, stdout, stderr }: Ran): unknown {
  expect([ended, ended === 0 ? '' : stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

/** `npm run cc -- …` as the documents write it, without npm's preparations, which would install and build. */
function makeNpm(): void {
  mkdirSync(join(root, 'bin'));
  const main = join(checkout, 'dist/cli.js');
  const script = `#!/bin/sh\n[ "$1 $2 $3" = "run cc --" ] || exit 64\nshift 3\nexec "${process.execPath}" "${main}" "$@"\n`;
  writeFileSync(join(root, 'bin', 'npm'), script, { mode: 0o755 });
}

function cli(line: string): Promise<Ran> {
  return run('sh', ['-c', `npm run cc -- ${line}`]);
}

interface Sending {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Not by fetch, which does not let anybody say which host is meant. */
function send(base: string, { body, ...options }: Sending): Promise<{ status: number | undefined; body: string }> {
  return new Promise((done, reject) => {
    const sent = request(new URL(options.path, base), options, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      done({ status: response.statusCode, body: text });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Gives the answers in order, and the last one for ever; `cut` is none at all, and nobody listens when it is `closed`. */
async function fakeService(answers: readonly (number | 'cut')[] | 'closed') {
  const bodies: string[] = [];
  const server = createServer(async (incoming, response) => {
    let body = '';
    for await (const chunk of incoming) body += chunk;
    const answer = answers[Math.min(bodies.length, answers.length - 1)];
    bodies.push(body);
    if (answer === 'cut') return incoming.socket.destroy();
    const text =
      answer === 200
        ? '{"ok":true,"event":"purchase","results":{}}'
        : JSON.stringify({ ok: false, error: answer === 400 ? 'event required' : 'Temporarily unavailable' });
    response.writeHead(answer as number, { 'Content-Type': 'application/json' }).end(text);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  if (answers === 'closed') await close();
  return { url: `http://127.0.0.1:${port}`, bodies, close };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
