import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { bodySchema } from '../src/conversions/inbound/body-schema.js';
import { readInboundFields } from '../src/conversions/inbound/inbound-fields.js';
import type { Totals } from '../src/events/outbound.events.js';
import { signature } from '../src/http/webhook-signature.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { temporaryFolder } from './support/folders.js';
import { RECEIVER_LANGUAGES, startGuideReceiver } from './support/guide-receiver.js';
import { type LooseEvent } from './support/loose-event.js';
import { type ServiceProcess, spawnService } from './support/service-process.js';

const checkout = join(import.meta.dirname, '..');
const root = temporaryFolder('cc-guides-');
const dataDir = join(root, 'data');

const DOCUMENTS = [
  'README.md',
  ...readdirSync(join(checkout, 'docs'), { recursive: true })
    .map((file) => `docs/${String(file)}`)
    .filter((file) => file.endsWith('.md'))
    .sort(),
];
const EMAIL = 'jane.doe@example.com';
const WARNING = 'total is an unknown field: ignored (use value)';
/** Address of `npm run sandbox` in the documents. */
const SANDBOX_URL = 'http://127.0.0.1:8089';

interface Language {
  readonly program: string;
  readonly extension: string;
  /** Programs that the guide's code needs. */
  readonly needs: readonly string[];
}
const LANGUAGES: Readonly<Record<string, Language>> = {
  bash: { program: 'bash', extension: 'sh', needs: ['bash', 'curl'] },
  js: { program: process.execPath, extension: 'mjs', needs: [] },
  python: { program: 'python3', extension: 'py', needs: ['python3'] },
};
const missing = ['bash', 'curl', 'python3'].filter((name) => spawnSync(name, ['--version']).status !== 0);
for (const name of missing) console.warn(`SKIPPED: the guides' examples with ${name}, which is not installed.`);

/** The programs that send a conversion and retry: the page, the index of the code block, and the order id they send. */
const SENDERS = [
  { file: 'docs/integrate/curl.md', language: 'bash', index: 1, orderId: 'ORD-1001' },
  { file: 'docs/integrate/node.md', language: 'js', index: 0, orderId: 'ORD-2001' },
  { file: 'docs/integrate/python.md', language: 'python', index: 0, orderId: 'ORD-3001' },
].filter(({ language }) => canRun(language));

let service: ServiceProcess;
let sandbox: RunningSandbox;

beforeAll(async () => {
  const nest = join(checkout, 'node_modules/@nestjs/cli/bin/nest.js');
  if (!existsSync(join(checkout, 'dist/main.js'))) execFileSync(process.execPath, [nest, 'build'], { cwd: checkout });
  stubNpx();
  service = await spawnService(dataDir);
  sandbox = await new Sandbox().start();
});

afterAll(async () => {
  await service?.end('SIGTERM');
  await sandbox?.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

describe('guides', () => {
  const received = { ok: true, event: 'purchase', results: {} };
  const expected: string[] = [];

  it.each(SENDERS)('the $language program sends a conversion, and a duplicate when run again', async (sender) => {
    const code = codeOf(sender);
    const first = await runCode(sender.language, code);
    expect(readReceipt(first)).toEqual(received);
    // Every field that the program shows is used.
    expect(first.stderr).toBe('');
    expect(readReceipt(await runCode(sender.language, code))).toEqual({ ok: true, deduped: true });
    expected.push(sender.orderId);
  });

  (canRun('bash') ? it : it.skip)('the curl lines send a conversion and query its receipt', async () => {
    const [byHand, , ask] = blocksOf('docs/integrate/curl.md', 'bash') as [string, string, string];
    expect(readReceipt(await runCode('bash', byHand))).toEqual({ ok: true, event: 'lead', results: {} });
    expect(readReceipt(await runCode('bash', byHand))).toEqual({ ok: true, deduped: true });
    expect(readReceipt(await runCode('bash', ask))).toEqual(received);
    expected.push('LEAD-1001');
  });

  it.each(SENDERS)('the $language code sends a batch and shows the warnings of its entries', async (sender) => {
    const { file, language } = sender;
    const batch = blocksOf(file, language).at(-1) as string;
    const [first, second] = batch.match(/LEAD-\d+/g) as [string, string];
    const { code: exitCode, stdout, stderr } = await runCode(language, batch);
    const warning = 'country must be an ISO 3166 alpha-2 code: dropped';
    expect(exitCode).toBe(0);
    if (language === 'bash')
      expect(JSON.parse(stdout).results).toMatchObject([{ status: 200 }, { warnings: [warning] }]);
    else expect(stderr).toBe(`${second}: ${warning}\n`);
    expected.push(first, second);
  });

  it.each(SENDERS)('the $language code sends a conversion without an email', async ({ file, language, index }) => {
    const [shown] = blocksOf(file, language).slice(-2) as [string];
    // The line of the other guides calls a function of their program.
    const program = blocksOf(file, language)[index] as string;
    const whole = language === 'bash' ? shown : `${program.split(/^try/m)[0]}\n${shown}`;
    expect((await cli('sites set localhost --identify-by any')).code).toBe(0);
    const identifiesByAny = async () => {
      const probe = { method: 'POST', path: '/__cc/inbound', body: '{"event":"lead"}' };
      const headers = { 'X-CC-Api-Key': service.key, 'Content-Type': 'application/json' };
      return (await send(service.url, { ...probe, headers })).body.includes('externalId');
    };
    while (!(await identifiesByAny())) await new Promise((later) => setTimeout(later, 50));
    const { code: exitCode, stdout, stderr } = await runCode(language, whole);
    expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, '']);
    if (language === 'bash') expect(JSON.parse(stdout)).toEqual({ ok: true, event: 'lead', results: {} });
    expected.push(/CALL-\d+/.exec(shown)?.[0] as string);
  });

  it.each([
    { file: 'docs/integrate/node.md', language: 'js' },
    { file: 'docs/integrate/python.md', language: 'python' },
  ])('the $language code hashes an address as the service does', async ({ file, language }) => {
    if (!canRun(language)) return;
    const { stdout } = await runCode(language, blocksOf(file, language)[1] as string);
    expect(stdout.trim()).toBe(sha256(EMAIL));
  });

  it('the fields for any tool make a valid request', async () => {
    const fields = tableOf('docs/integrate/any-tool.md', 'field');
    const entry = (name: string) =>
      fields.filter(([field]) => field === name).map(([, value]) => code(value as string));
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

  (canRun('bash') ? it : it.skip)("the banner's line works when pasted and is the README's", async () => {
    const line = /^curl .*$/m.exec(service.output())?.[0] as string;
    expect(readReceipt(await run('bash', ['-c', line]))).toEqual(received);
    // The README shows the line with key and order id shortened.
    const shortened = line
      .replace(/:\d+\//, ':8080/')
      .replace(/cc_\w+/, 'cc_…')
      .replace(/ORD-.*(?="})/, 'ORD-…');
    const [shown] = blocksOf('README.md', 'text') as [string];
    expect(shown.replace(/ \\\n */, ' ').trim()).toBe(shortened);
  });

  (canRun('bash') ? it : it.skip)("the README's receipt is the answer of the demo site", async () => {
    const demo = await spawnService(join(root, 'demo'), { DEMO_PLATFORMS: 'true' });
    try {
      const line = /^curl .*$/m.exec(demo.output())?.[0] as string;
      const [shown] = blocksOf('README.md', 'json') as [string];
      expect(readReceipt(await run('bash', ['-c', line]))).toEqual(JSON.parse(shown));
    } finally {
      await demo.end('SIGTERM');
    }
  });

  it('leave each conversion in the log once, without raw personal data', async () => {
    const { stdout } = await cli('events export --site localhost --type conversion.received.v1 --json');
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as LooseEvent);
    const orders = events.map(({ data }) => String(data['orderId']));
    expect(orders.filter((order) => !/^ORD-\d{10}$/.test(order)).sort()).toEqual([...expected].sort());
    for (const { data, personal } of events) {
      const order = String(data['orderId']);
      const subject = order.startsWith('CALL-') ? undefined : sha256(EMAIL);
      if (expected.includes(order)) expect([order, personal?.subject]).toEqual([order, subject]);
    }
    expect(stdout).not.toMatch(/jane|doe|23125001/i);
  });
});

describe('programs in the guides', () => {
  const REFUSED = 'Refused with 400: {"ok":false,"error":"event required"}';

  it('retry with the same body after a temporary failure, and exit with a readable message otherwise', async () => {
    const cases = SENDERS.flatMap((sender) => [
      // A connection closed without an answer, as during a restart, is retried too.
      { sender, answers: [503, 503, 200], attempts: 3, exit: 0, message: '' },
      { sender, answers: ['cut', 500, 200] as const, attempts: 3, exit: 0, message: '' },
      { sender, answers: [400], attempts: 1, exit: 1, message: REFUSED },
      { sender, answers: [503], attempts: 4, exit: 1, message: 'Gave up for now' },
      { sender, answers: 'closed' as const, attempts: 0, exit: 1, message: 'Gave up for now' },
    ]);
    // In parallel: most of the time they wait.
    await Promise.all(
      cases.map(async ({ sender, answers, attempts, exit, message }) => {
        const server = await fakeService(answers);
        const { code: exitCode, stdout, stderr } = await runCode(sender.language, codeOf(sender), server.url);
        await server.close();
        const context = `${sender.language}, answered with ${answers}: ${stdout}${stderr}`;
        expect([context, exitCode]).toEqual([context, exit]);
        expect([context, server.bodies.length]).toEqual([context, attempts]);
        expect([context, new Set(server.bodies).size]).toEqual([context, Math.min(1, attempts)]);
        for (const body of server.bodies) expect(JSON.parse(body)).toMatchObject({ orderId: sender.orderId });
        expect(stderr).toContain(message);
        if (message.startsWith('Gave up')) expect(stderr).toContain('with the same orderId');
        if (exit === 0) expect(JSON.parse(stdout)).toEqual({ ok: true, event: 'purchase', results: {} });
        if (exit === 0) expect(stderr).toContain(WARNING);
        // One line, no stack trace.
        expect(stderr.replace(/^curl: .*\n/gm, '')).not.toMatch(/Traceback|\n {4}at |\n.*\n/);
      }),
    );
  });
});

describe('receivers in the guides', () => {
  const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const PRIVATE = { OUTBOUND_ALLOW_PRIVATE: 'true' };

  it.each(RECEIVER_LANGUAGES)(
    'the %s receiver sums pushes, drops repeats and rejects forged requests',
    async (language) => {
      const receiver = await startGuideReceiver(language, SECRET);
      try {
        const webhook = (verb: string) =>
          run('sh', ['-c', `npx clean-conversions webhook ${verb} --site localhost`], PRIVATE);
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
        const pushed = receiver.totals()[0] as Totals;
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
        // As many characters as the expected ones (each byte of the header is read as one), and more bytes.
        const accented = { Authorization: `Bearer ${SECRET.slice(2)}é` };
        expect((await push('two', now, accented)).status).toBe(401);
        await disconnectWithinBody(receiver.url);
        expect((await push('two', now - 600)).status).toBe(401);
        const { conversions, bot_traffic_removed } = pushed;
        const sum = { conversions: conversions + 5, bot_traffic_removed: bot_traffic_removed + 2 };
        expect(receiver.totals()).toEqual([pushed, sum]);
      } finally {
        receiver.stop();
      }
    },
  );
});

describe('command line in the documents', () => {
  it.each(['npx clean-conversions', 'npm run -s cc --'])('is %s in a checkout', (command) => {
    const env = { ...process.env, npm_config_cache: join(root, 'npm'), npm_config_update_notifier: 'false' };
    const { stdout } = spawnSync(`${command} --version`, { cwd: checkout, env, shell: true, encoding: 'utf8' });
    expect(stdout).toBe(`${JSON.parse(read('package.json')).version}\n`);
  });

  it('has one notation', () => {
    expect(DOCUMENTS.filter((file) => /npm run (-s )?cc --/.test(read(file)))).toEqual([]);
    // In a container, and with the script of the page about systemd, the command is on the PATH.
    const short = DOCUMENTS.filter((file) => file !== 'docs/operate/systemd.md').flatMap(
      (file) => read(file).match(/^\$? ?clean-conversions .*|`clean-conversions [a-z-]+.*/gm) ?? [],
    );
    expect(short).toEqual([]);
  });

  const lines = DOCUMENTS.flatMap((file) => blocksOf(file, 'sh').flatMap((block) => block.split('\n'))).filter(Boolean);

  it('runs every shown command', async () => {
    expect(lines.length).toBeGreaterThanOrEqual(5);
    let output = '';
    for (const line of lines) {
      expect(line).toMatch(/^npx clean-conversions /);
      const local = line.replace(SANDBOX_URL, sandbox.url);
      const { code: exitCode, stdout, stderr } = await run('sh', ['-c', local]);
      expect([line, exitCode, exitCode === 0 ? '' : stdout + stderr]).toEqual([line, 0, '']);
      output += stdout;
    }
    // The result is a site that accepts conversions, with a sandbox platform connected.
    const key = /\bcc_\w{49}\b/.exec(output)?.[0] as string;
    const reply = await send(service.url, {
      method: 'POST',
      path: '/__cc/inbound',
      headers: { Host: 'shop.example', 'X-CC-Api-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: EMAIL, event: 'signup' }),
    });
    const results = { tiktok: { ok: true, status: 'delivered' } };
    expect(reply).toEqual({ status: 200, body: JSON.stringify({ ok: true, event: 'signup', results }) });
    // Each command is a process of its own.
  });

  it('produces files from which the documented script recomputes the chain, and finds a change', async () => {
    const script = join(checkout, 'docs/verify-chain.mjs');
    const recompute = (events: string) => run(process.execPath, [script, events, 'seals.ndjson', 'checkpoint.txt']);
    const whole = await recompute('events.ndjson');
    expect([whole.code, whole.stdout + whole.stderr]).toEqual([0, whole.stdout]);
    expect(whole.stdout).toMatch(/^[1-9]\d* events in [1-9]\d* batches were recomputed/);
    expect(whole.stdout).toMatch(/^the checkpoint of \S+ matches at position \d+$/m);

    const exported = readFileSync(join(root, 'events.ndjson'), 'utf8');
    const changed = exported.replace('"event":"purchase"', '"event":"refunded"');
    expect(changed).not.toBe(exported);
    writeFileSync(join(root, 'changed.ndjson'), changed);
    const found = await recompute('changed.ndjson');
    expect([found.code, found.stdout]).toEqual([1, expect.stringMatching(/^VIOLATION: positions \d+ to \d+ differ/m)]);
  });

  it('lists every check of doctor', async () => {
    const { stdout } = await cli('doctor --json');
    const listed = tableOf('docs/operate/check.md', 'check').map(([name]) => code(name as string)[0]);
    expect(listed).toEqual(JSON.parse(stdout).checks.map(({ name }: { name: string }) => name));
  });
});

describe('reference tables', () => {
  it('list all fields of a conversion', () => {
    const tables = ['field', 'field \\| rules'].flatMap((head) => tableOf('docs/integrate/README.md', head));
    expect(tables.flatMap(([names]) => code(names as string))).toEqual(
      Object.keys(bodySchema({ isStrict: false }).properties),
    );
  });

  it('list all results of a receipt', async () => {
    const { body } = await send(service.url, { path: '/docs/openapi.json' });
    const [received] =
      JSON.parse(body).paths['/__cc/inbound'].post.responses[200].content['application/json'].schema.oneOf;
    const { status } = received.properties.results.additionalProperties.properties;
    const listed = tableOf('docs/integrate/README.md', 'status \\| meaning').map(([name]) => code(name as string)[0]);
    expect(listed).toEqual(status.enum);
  });

  it('list the errors that the service returns', () => {
    const sources = ['src/conversions/inbound/inbound-answers.ts', 'src/conversions/inbound/inbound-fields.ts']
      .map(read)
      .join('');
    const [byStatus, byField] = ['status \\| error', 'error'].map((head) => tableOf('docs/integrate/README.md', head));
    const answered = (byStatus ?? []).flatMap(([, error]) => code(error as string));
    expect(answered.length).toBeGreaterThan(3);
    expect(answered.filter((text) => !sources.includes(`'${text}'`))).toEqual([]);
    const given = [
      ...read('src/conversions/inbound/inbound-fields.ts').matchAll(/(?:return|^const \w+ =) '([^']+)'/gm),
    ].map(([, text]) => text);
    const errors = (byField ?? []).flatMap(([error]) => code(error as string));
    const ofSite = ['orderId is required for refund'];
    expect(new Set(errors)).toEqual(new Set([...given, ...ofSite, ...WRONG_OPTIONAL_FIELDS.map(errorOf)]));
  });

  it('list all metrics of the service', async () => {
    const { body } = await send(service.url, { path: '/metrics' });
    const served = [...body.matchAll(/^# TYPE (cc_\w+)/gm)].map(([, name]) => name as string);
    const listed = tableOf('docs/operate/monitor.md', 'metric')
      // Those of Kafka are served where it is configured.
      .filter(([, meaning]) => !meaning?.startsWith('with `KAFKA_BROKERS`'))
      .map(([name]) => code(name as string)[0]?.replace(/\{.*/, ''));
    expect(listed.sort()).toEqual(served.filter((name) => !/^cc_(process|nodejs)_/.test(name)).sort());
  });
});

/** One body for each error of an optional field. */
const WRONG_OPTIONAL_FIELDS: readonly object[] = [
  ...['firstName', 'lastName', 'phone'].map((name) => ({ [name]: 1 })),
  { occurredAt: 'today' },
  { occurredAt: 9_999_999_999 },
  { items: 'SKU-1' },
  { items: ['SKU-1'] },
  ...[{}, { name: 1 }, { quantity: 0.5 }, { price: -1 }, { category: 1 }].map((wrong, index) => ({
    items: [index === 0 ? wrong : { id: 'SKU-1', ...wrong }],
  })),
  { externalId: {} },
  ...['city', 'region', 'postalCode'].map((name) => ({ [name]: 1 })),
  { country: 'UK' },
  { source: 'shop' },
  { clickIds: 'gclid' },
  { clickIds: { sccid: 'x' } },
  { clickIds: { gclid: 'a b' } },
  { clickIds: { fbc: 'x' } },
  { ipAddress: 'localhost' },
  { clickIds: { lead_id: 'x' } },
  { userAgent: 1 },
  { eventId: {} },
  ...['consent', 'cookies', 'utm'].flatMap((name) => [{ [name]: 'x' }, { [name]: { other: 'x' } }]),
  { consent: { ad_storage: 'yes' } },
  { pageUrl: '/' },
  { referrer: '/' },
  { cookies: { _ga: 'x' } },
  { utm: { source: 1 } },
  { custom: 'x' },
  { custom: { '': 1 } },
  { custom: { list: [] } },
  { custom: Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`key${index}`, index])) },
  { hashed_phone: 'x' },
];

/** The list of names is in the message, but not in the table. */
function errorOf(wrong: object): string | undefined {
  const body = { email: 'jane@example.com', event: 'purchase', ...wrong };
  const reading = readInboundFields(body, {
    rawBody: JSON.stringify(body),
    clock: { nowMs: () => Date.now() },
    isStrict: true,
  });
  return reading.ok ? undefined : reading.error.replace(/(no other names than) .*/, '$1 …');
}

// --- Reading documents

function read(file: string): string {
  return readFileSync(join(checkout, file), 'utf8');
}

/** The fenced code blocks of one language, in order. */
function blocksOf(file: string, language: string): string[] {
  const fences = read(file).matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm);
  return [...fences].filter(([, , named]) => named === language).map(([, , , text]) => text as string);
}

/** The rows of the first table whose header begins with `head`. */
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

/** The code spans in a text. */
function code(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, inner]) => inner as string);
}

// --- Running examples

interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<CommandResult> {
  const environment = {
    ...process.env,
    PATH: `${join(root, 'bin')}:${process.env['PATH']}`,
    DATA_DIR: dataDir,
    PORT: '0',
    // Requests to localhost must not go through a configured proxy.
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

/** Runs a guide's code with the two variables that the guides require. */
function runCode(language: string, text: string, url = service.url): Promise<CommandResult> {
  const { program, extension } = LANGUAGES[language] as Language;
  files += 1;
  const file = join(root, `guide-${files}.${extension}`);
  writeFileSync(file, text);
  return run(program, [file], { CC_URL: url, CC_KEY: service.key });
}

/** Starts a receiver of the guides. It prints the totals after each push, one line each. */
/** Resolves when the receiver has closed the connection, too. */
function disconnectWithinBody(url: string): Promise<void> {
  return new Promise((closed, failed) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname, () => {
      socket.end('POST /totals HTTP/1.1\r\nHost: receiver\r\nContent-Length: 100\r\n\r\n{');
    });
    socket
      .once('error', failed)
      .once('close', () => closed())
      .resume();
  });
}

function canRun(language: string): boolean {
  return !LANGUAGES[language]?.needs.some((name) => missing.includes(name));
}

function codeOf({ file, language, index }: { file: string; language: string; index: number }): string {
  return blocksOf(file, language)[index] as string;
}

function readReceipt({ code: exitCode, stdout, stderr }: CommandResult): unknown {
  expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

/** A stub of npx that runs the build: npx itself takes seconds for each command. */
function stubNpx(): void {
  mkdirSync(join(root, 'bin'));
  const main = join(checkout, 'dist/cli.js');
  const script = `#!/bin/sh\n[ "$1" = clean-conversions ] || exit 64\nshift\nexec "${process.execPath}" "${main}" "$@"\n`;
  writeFileSync(join(root, 'bin', 'npx'), script, { mode: 0o755 });
}

function cli(line: string): Promise<CommandResult> {
  return run('sh', ['-c', `npx clean-conversions ${line}`]);
}

interface Sending {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Uses `http.request`, because fetch does not allow a Host header. */
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

/** Answers with these statuses in order and repeats the last; `cut` closes the connection, `closed` refuses connections. */
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
    if (answer === 200) response.setHeader('X-CC-Warning', WARNING);
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
