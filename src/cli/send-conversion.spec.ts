import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { runCli } from './run-cli.js';

const RECEIPT = { ok: true, event: 'purchase', results: { meta: { ok: true, status: 'delivered' } } };

let server: Server;
let port: number;
let dataDir: string;
let requests: { url: string | undefined; headers: IncomingHttpHeaders; body: unknown }[];
let answer: { status: number; body: string; warning?: string };

beforeEach(async () => {
  requests = [];
  answer = { status: 200, body: JSON.stringify(RECEIPT) };
  dataDir = mkdtempSync(join(tmpdir(), 'cc-send-'));
  writeFileSync(join(dataDir, 'demo-key'), 'cc_demo\n');
  server = createServer(async ({ url, headers }, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of response.req) chunks.push(chunk as Buffer);
    requests.push({ url, headers, body: JSON.parse(Buffer.concat(chunks).toString()) });
    const { warning } = answer;
    response.writeHead(answer.status, { 'X-CC-Conversion-Id': 'id-1', ...(warning && { 'X-CC-Warning': warning }) });
    response.end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
  rmSync(dataDir, { recursive: true });
});

async function send(args: string[], environment: Record<string, string> = {}, input?: string) {
  const printed = { out: '', error: '' };
  const written = (to: keyof typeof printed) =>
    new Writable({
      write(chunk, _, done) {
        printed[to] += chunk;
        done();
      },
    });
  const env = { PORT: String(port), DATA_DIR: dataDir, ...environment };
  const stdin = input === undefined ? undefined : Readable.from([input]);
  const code = await runCli(['conversions', 'send', ...args], {
    env,
    stdout: written('out'),
    stderr: written('error'),
    ...(stdin && { stdin }),
  });
  return { code, text: printed.out + printed.error, ...printed };
}

describe('conversions send', () => {
  it('posts any field, and shows the warning of the service', async () => {
    answer.warning = 'country must be an ISO 3166 alpha-2 code: dropped';
    const fields = ['eventId=evt-1', 'custom.profit=41.5', 'consent.ad_storage=denied', 'items=[{"id":"1"}]'];
    const args = fields.flatMap((field) => ['--set', field]);
    const { out, error } = await send(args);
    expect({ out, error }).toEqual({
      out: 'Received conversion id-1\n  meta  delivered\n',
      error: `${answer.warning}\n`,
    });
    expect(requests[0]?.body).toMatchObject({
      eventId: 'evt-1',
      custom: { profit: 41.5 },
      consent: { ad_storage: 'denied' },
      items: [{ id: '1' }],
    });
    expect(JSON.parse((await send([...args, '--json'])).out)).toMatchObject({ warning: answer.warning });
    expect(await send(['--set', 'jane=1'])).toMatchObject({
      code: 2,
      text: expect.stringContaining('no field "jane"'),
    });
    expect(await send(['--set', 'items=x'])).toMatchObject({ code: 2, text: expect.stringContaining('JSON') });
  });

  it('posts a conversion to the demo site and shows the result of each platform', async () => {
    const { code, out } = await send(['--value', '12.50', '--currency', 'EUR', '--order', 'ORD-1']);
    expect({ code, out }).toEqual({ code: 0, out: 'Received conversion id-1\n  meta  delivered\n' });
    const body = { email: 'jane@example.com', event: 'purchase', value: 12.5, currency: 'EUR', orderId: 'ORD-1' };
    expect(requests).toMatchObject([{ url: '/__cc/inbound', headers: { 'x-cc-api-key': 'cc_demo' }, body }]);
  });

  it.each([
    ['hashed_email=00ff', { hashed_email: '00ff' }],
    ['phone=+14155550123', { phone: '+14155550123' }],
    ['clickIds.gclid=Cj0', { clickIds: { gclid: 'Cj0' } }],
  ])('posts no example email with %s', async (field, identifier) => {
    await send(['--set', field]);
    await send(['--set', field, '--email', 'jo@shop.example']);
    expect(requests.map(({ body }) => body)).toEqual([
      { event: 'purchase', ...identifier },
      { email: 'jo@shop.example', event: 'purchase', ...identifier },
    ]);
  });

  it('prints the receipt as JSON', async () => {
    const { text } = await send(['--json']);
    expect(JSON.parse(text)).toEqual({ conversionId: 'id-1', ...RECEIPT });
  });

  it.each([
    [{ ok: true, deduped: true }, /duplicate/],
    [{ ok: true, filtered: true }, /filtered/],
    [{ ok: true, event: 'lead', results: {} }, /No platform is connected/],
  ])('explains %j', async (receipt, expected) => {
    answer.body = JSON.stringify(receipt);
    expect((await send([])).text).toMatch(expected);
  });

  it('shows why the conversion is refused, with exit code 1', async () => {
    answer = { status: 400, body: JSON.stringify({ ok: false, error: 'email required' }) };
    expect(await send([])).toMatchObject({ code: 1, out: '', error: '400: email required\n' });
    const { code, out } = await send(['--json']);
    expect({ code, answer: JSON.parse(out) }).toEqual({
      code: 1,
      answer: { ok: false, status: 400, error: 'email required' },
    });
  });

  it('posts to the service on this machine for any of its sites', async () => {
    const { code } = await send([
      '--site',
      'Shop.Example',
      '--email',
      'jo@shop.example',
      '--event',
      'lead',
      '--key',
      'cc_shop',
    ]);
    const body = { email: 'jo@shop.example', event: 'lead' };
    expect(code).toBe(0);
    expect(requests).toMatchObject([{ headers: { host: 'shop.example', 'x-cc-api-key': 'cc_shop' }, body }]);
    expect(await send(['--site', 'shop.example'])).toMatchObject({
      code: 1,
      error: expect.stringContaining('CC_API_KEY'),
    });
    expect((await send(['--site', 'localhost'])).code).toBe(0);
  });

  it('takes the key from the environment or from standard input', async () => {
    await send([], { CC_API_KEY: 'cc_other' });
    await send(['--key', '-'], {}, 'cc_piped\n');
    expect(requests.map(({ headers }) => headers['x-cc-api-key'])).toEqual(['cc_other', 'cc_piped']);
  });

  it('sends no key without TLS to another machine, and no demo key to another host', async () => {
    expect((await send(['--url', 'http://shop.example'])).code).toBe(2);
    const { code, text } = await send(['--url', `http://127.0.0.1:${port}`]);
    expect({ code, text }).toEqual({ code: 1, text: expect.stringContaining('CC_API_KEY') });
    expect(requests).toEqual([]);
  });

  it('names an address that does not answer, and a value that is no number', async () => {
    server.close();
    server.closeAllConnections();
    expect((await send([])).text).toMatch(/does not answer.*--url/);
    expect((await send(['--value', 'twelve'])).text).toContain('--value takes a number');
  });
});
