import { createHash, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { StoredEvent } from '../src/log/event.js';
import { generateApiKey } from '../src/sites/keys/api-key.js';
import { RevokeKey } from '../src/sites/keys/key.commands.js';
import { makeCertificate } from './support/certificate.js';
import { sharedServer } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { HoldingProxy } from './support/holding-proxy.js';
import { type LooseEvent } from './support/loose-event.js';
import {
  conversionId,
  getReceipt,
  INBOUND,
  openSocket,
  post,
  type RawSocket,
  rawPost,
  send,
  startTestService,
  type TestService,
  type TestSite,
  useService,
} from './support/service.js';
import { eventually, runConcurrently } from './support/waiting.js';

const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';
const MAX_BODY_BYTES = 65_536;

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const failure = (error: string) => JSON.stringify({ ok: false, error });

const { databaseUrl, operator, service } = await useService();
/** A second instance on the same database, behind a trusted proxy on this machine and reachable from other machines. */
const second = await startTestService(databaseUrl, {
  HOST: '0.0.0.0',
  TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8',
  OPERATIONS_FROM: '198.51.100.0/24',
});
const secure = await startSecureService();
/** Slow senders whose headers are enough for an answer. */
const REFUSED = { 'a rejected body': 401, 'an oversized body': 413 };
// These take seconds, so they run while the other tests do.
const slowSenders = await startSlowSenders();
const recovery = loseAllConnections();

afterAll(async () => {
  await recovery;
  await second.stop();
  await secure.stop();
});

async function startSecureService(): Promise<TestService> {
  const folder = temporaryFolder('cc-tls-');
  const { cert, key } = makeCertificate();
  const files = { TLS_CERT: join(folder, 'cert.pem'), TLS_KEY: join(folder, 'key.pem') };
  writeFileSync(files.TLS_CERT, cert);
  writeFileSync(files.TLS_KEY, key);
  try {
    return await startTestService(databaseUrl, files);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Registers a site for one test, or one group of tests. */
async function newSite(aliases: string[] = []): Promise<TestSite> {
  const site = await operator.openSite(aliases);
  await Promise.all([service.refreshSites(), second.refreshSites(), secure.refreshSites()]);
  return site;
}

function purchase(over: Record<string, unknown> = {}): Record<string, unknown> {
  return { email: 'jane@example.com', event: 'purchase', orderId: randomUUID(), ...over };
}

const withKey = (key: string | undefined) => ({ headers: { 'X-CC-Api-Key': key } });

describe('an invalid key', () => {
  const INVALID = { status: 401, type: JSON_TYPE, body: failure('Invalid API key') };
  const THROTTLED = { status: 429, type: JSON_TYPE, body: failure('Too many failed authentication attempts') };

  async function failures(host: string): Promise<StoredEvent[]> {
    return operator.log.read({ categories: ['auth'], site: host });
  }

  it('is throttled after 20 failed attempts of any kind, and a valid key never is', async () => {
    const [site, other] = [await newSite(), await newSite()];
    const revoked = await operator.issueKey(site.host);
    await operator.execute(new RevokeKey('cli', site.host, revoked.id));
    await service.refreshSites();
    const swapped = site.key.replace(/[a-z]/, (letter) => letter.toUpperCase());
    const kinds = [undefined, '', 'cc_', 'x'.repeat(2_000), swapped, generateApiKey(), revoked.key, other.key];
    kinds.push(site.key.slice(0, -1), `${site.key}, ${site.key}`);
    for (let turn = 0; turn < 40; turn += 1) {
      const reply = await post(service, site, purchase(), withKey(kinds[turn % kinds.length]));
      expect(reply).toMatchObject(turn < 20 ? INVALID : THROTTLED);
      const wait = reply.headers['retry-after'];
      if (turn < 20) expect(wait).toBeUndefined();
      else expect(wait).toMatch(/^[1-9]\d{0,2}$/);
      expect(Number(wait ?? 0)).toBeLessThanOrEqual(900);
      if (turn % 5 === 0) expect((await post(service, site, purchase())).status).toBe(200);
    }
    expect((await post(service, site, purchase())).status).toBe(200);
    expect(await post(service, other, purchase(), withKey('cc_wrong'))).toMatchObject(INVALID);
    expect((await post(service, other, purchase())).status).toBe(200);
    // Two header lines, each with the valid key, are not a key either.
    const doubled = await openSocket(service);
    doubled.write(rawPost(site, '{}', { 'x-cc-api-key': site.key, Connection: 'close' }));
    expect((await doubled.closed).text).toMatch(/^HTTP\/1.1 429 /);
  });

  it('is throttled by every instance', async () => {
    const site = await newSite();
    for (let turn = 0; turn < 20; turn += 1) await post(service, site, purchase(), withKey('cc_wrong'));
    let attempts = 0;
    await eventually(
      () => {
        attempts += 1;
        return post(second, site, purchase(), withKey('cc_wrong'));
      },
      { status: 429 },
      { everyMs: 150 },
    );
    // Fewer than 20: it read the failures from the log instead of counting its own.
    expect(attempts).toBeLessThan(15);
    expect((await post(second, site, purchase())).status).toBe(200);
  });

  it('appends about 20 events for 3,000 failed attempts, and the throttle survives a restart', async () => {
    const site = await newSite();
    const keys = Array.from({ length: 3_000 }, (_, index) => (index % 2 ? generateApiKey() : `cc_${index}`));
    const statuses = await runConcurrently(50, keys, async (key, index) => {
      if (index % 100 === 0) expect((await post(service, site, purchase())).status).toBe(200);
      return (await post(service, site, purchase(), withKey(key))).status;
    });
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(2_980);
    // 20 failures, one event that sums up the throttled ones, and two more if a minute ended meanwhile.
    await eventually(
      () => failures(site.host),
      (events) => events.length >= 21,
    );
    expect((await failures(site.host)).length).toBeLessThanOrEqual(23);

    const restarted = await startTestService(databaseUrl);
    expect(await post(restarted, site, purchase(), withKey('cc_wrong'))).toMatchObject(THROTTLED);
    expect((await post(restarted, site, purchase())).status).toBe(200);
    await restarted.stop();
  });

  it('includes a revoked one, at every instance', async () => {
    const site = await newSite();
    const { id, key } = await operator.issueKey(site.host);
    await Promise.all([service.refreshSites(), second.refreshSites()]);
    const statusesOf = async () =>
      (await Promise.all([service, second].map((each) => post(each, site, purchase(), withKey(key))))).map(
        ({ status }) => status,
      );
    expect(await statusesOf()).toEqual([200, 200]);
    await operator.execute(new RevokeKey('cli', site.host, id));
    await eventually(statusesOf, ([one, two]) => one !== 200 && two !== 200, { everyMs: 50 });
    expect((await post(second, site, purchase())).status).toBe(200);
  });
});

describe('a valid key', () => {
  it('is read from its header, whatever the case of the name, and from nowhere else', async () => {
    const site = await newSite();
    for (const name of ['X-CC-Api-Key', 'x-cc-api-key', 'X-CC-API-KEY', 'x-Cc-aPi-kEy']) {
      const headers = { 'X-CC-Api-Key': undefined, [name]: site.key };
      expect([name, (await post(service, site, purchase(), { headers })).status]).toEqual([name, 200]);
    }
    const spaced = await openSocket(service);
    spaced.write(
      rawPost(site, JSON.stringify(purchase()), { 'X-CC-Api-Key': ` \t ${site.key} \t `, Connection: 'close' }),
    );
    expect((await spaced.closed).text).toMatch(/^HTTP\/1.1 200 /);
    const elsewhere = {
      'X-CC-Api-Key': undefined,
      Authorization: `Bearer ${site.key}`,
      Cookie: `X-CC-Api-Key=${site.key}`,
    };
    const path = `${INBOUND}?X-CC-Api-Key=${site.key}`;
    expect((await post(service, site, purchase(), { headers: elsewhere, path })).status).toBe(401);
  });

  it('is valid for the aliases of the site in any notation, and their conversions belong to the site', async () => {
    const site = await newSite(['alias.example', 'münchen.example']);
    const hosts = ['alias.example', 'ALIAS.Example', 'alias.example:8443', 'alias.example.', 'xn--mnchen-3ya.example'];
    hosts.push(site.host.toUpperCase(), `${site.host}:1`);
    for (const host of hosts) {
      const reply = await post(service, { ...site, host }, purchase());
      expect([host, reply.status]).toEqual([host, 200]);
      expect((await operator.conversion(conversionId(reply)))?.site).toBe(site.host);
    }
    const body = purchase();
    const first = await post(service, { ...site, host: 'alias.example' }, body);
    expect((await post(service, site, body)).body).toBe('{"ok":true,"deduped":true}');
    expect((await getReceipt(service, site, `/${conversionId(first)}`)).status).toBe(200);
  });
});

describe('behind a proxy', () => {
  let site: TestSite;
  beforeAll(async () => {
    site = await newSite();
  });
  const HTTPS_REQUIRED = { status: 403, type: TEXT_TYPE, body: 'HTTPS required' };
  const postVia = (at: TestService, headers: Record<string, string>) => post(at, site, purchase(), { headers });

  it('that is trusted, the last X-Forwarded-Proto value decides, whatever precedes it', async () => {
    for (const proto of ['https', 'HTTPS', 'http, https', 'http,http,https']) {
      expect([proto, (await postVia(second, { 'X-Forwarded-Proto': proto })).status]).toEqual([proto, 200]);
    }
    for (const proto of ['http', 'https, http', 'https,', 'wss', '']) {
      expect(await postVia(second, { 'X-Forwarded-Proto': proto })).toMatchObject(HTTPS_REQUIRED);
    }
    // Without any header of a proxy it is a plain request from loopback to loopback.
    expect((await postVia(second, {})).status).toBe(200);
    expect(await postVia(second, { 'X-Forwarded-For': '203.0.113.5' })).toMatchObject(HTTPS_REQUIRED);
  });

  it('that is trusted, the last X-Forwarded-Host value selects the site', async () => {
    const at = (headers: Record<string, string>) => postVia(second, { 'X-Forwarded-Proto': 'https', ...headers });
    const { host } = site;
    expect((await at({ Host: 'inner.internal', 'X-Forwarded-Host': host })).status).toBe(200);
    expect((await at({ Host: 'inner.internal', 'X-Forwarded-Host': `unknown.example, ${host}:443` })).status).toBe(200);
    expect((await at({ Host: host, 'X-Forwarded-Host': `${host}, unknown.example` })).status).toBe(403);
    expect((await at({ Host: 'inner.internal' })).status).toBe(403);
  });

  it('that is not trusted, HTTPS is required, whatever its headers say', async () => {
    for (const proto of ['http', 'https']) {
      expect(await postVia(service, { 'X-Forwarded-Proto': proto })).toMatchObject(HTTPS_REQUIRED);
    }
    const stolen = await postVia(service, { Host: 'unknown.example', 'X-Forwarded-Host': site.host });
    expect(stolen).toMatchObject(HTTPS_REQUIRED);
  });

  const METRICS_AND_DOCS = [
    '/metrics',
    '/docs',
    '/docs/',
    '/docs/openapi.json',
    '/docs/swagger-ui.css',
    '/docs/guide/',
  ];

  it('other callers cannot reach the metrics and the API documentation, whatever their headers', async () => {
    const asOutsider: [TestService, Record<string, string>][] = [
      [second, { 'X-Forwarded-For': '203.0.113.5' }],
      [second, { 'X-Forwarded-For': '127.0.0.1, 203.0.113.5' }],
      [second, { 'X-Forwarded-For': '198.51.100.7, 203.0.113.5' }],
      [second, { 'X-Forwarded-For': '203.0.113.5, 127.0.0.1' }],
      [second, { 'X-Forwarded-For': '203.0.113.5, 10.1.2.3' }],
      [second, { 'X-Forwarded-For': '10.1.2.3' }],
      [second, { 'X-Forwarded-For': 'unknown' }],
      [second, { 'X-Forwarded-For': '127.evil' }],
      [second, { 'X-Forwarded-For': '2001:db8::5' }],
      [second, { Forwarded: 'for=203.0.113.5;proto=https' }],
      [second, { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'shop.example' }],
      [second, { Via: '1.1 proxy' }],
      [service, { 'X-Forwarded-For': '127.0.0.1' }],
      [service, { 'X-Forwarded-For': '203.0.113.5' }],
      [service, { 'X-Forwarded-Proto': 'https' }],
      [service, { 'X-Real-IP': '127.0.0.1' }],
      [service, { Forwarded: 'for=127.0.0.1' }],
      [service, { Via: '1.1 proxy' }],
    ];
    for (const [at, headers] of asOutsider) {
      for (const path of METRICS_AND_DOCS) {
        const { status, type } = await send(at, { path, headers });
        expect({ path, headers, status, type }).toEqual({ path, headers, status: 404, type: TEXT_TYPE });
      }
      for (const path of ['/healthz', '/readyz']) expect((await send(at, { path, headers })).status).toBe(200);
    }
  });

  it('other callers cannot reach the metrics and the API documentation by another notation of the path', async () => {
    const headers = { 'X-Forwarded-For': '203.0.113.5' };
    const paths = ['/%6detrics', '/metrics/', '/metrics?x', '//metrics', '/./metrics', '/METRICS', '/metrics;x'];
    paths.push(
      '/%64ocs',
      '/DOCS',
      '//docs',
      '/docs//',
      '/docs%2fopenapi.json',
      '/docs//openapi.json',
      '/docs-json',
      '/docs-yaml',
    );
    paths.push('/doc%73/openapi.json', '/%64ocs/swagger-ui-init.js', '/x/../docs/openapi.json', '/docs/openapi.json/');
    paths.push('http://shop.example/docs', 'http://shop.example/docs/openapi.json', 'http://shop.example/metrics');
    for (const at of [service, second]) {
      for (const path of paths) {
        expect({ path, status: (await send(at, { path, headers })).status }).toEqual({ path, status: 404 });
      }
    }
  });

  it('callers on this machine and in OPERATIONS_FROM reach the metrics and the API documentation', async () => {
    const asOperator: [TestService, Record<string, string>][] = [
      [service, {}],
      [second, {}],
      [second, { 'X-Forwarded-For': '127.0.0.1' }],
      [second, { 'X-Forwarded-For': '198.51.100.7', 'X-Forwarded-Proto': 'https' }],
      [second, { 'X-Forwarded-For': '203.0.113.5, 198.51.100.7, 10.1.2.3' }],
    ];
    for (const [at, headers] of asOperator) {
      for (const path of METRICS_AND_DOCS)
        expect([path, headers, (await send(at, { path, headers })).status]).toEqual([path, headers, 200]);
    }
  });

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.family === 'IPv4' && !address.internal)?.address;
  if (outside === undefined)
    console.warn('SKIPPED: requests from another address than loopback (this machine has none).');
  const withOutside = outside === undefined ? it.skip : it;

  withOutside('plain HTTP from another address than loopback is rejected before every other check', async () => {
    const to = outside as string;
    expect(await post(second, site, purchase(), { to })).toMatchObject(HTTPS_REQUIRED);
    const spoofed = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-Host': site.host };
    expect(await post(second, site, purchase(), { to, headers: spoofed })).toMatchObject(HTTPS_REQUIRED);
    expect(await post(second, site, '{', { to, ...withKey('x') })).toMatchObject(HTTPS_REQUIRED);
    for (const path of [INBOUND, `${INBOUND}/a/b`, `${INBOUND}?orderId=1`, `${INBOUND}/${randomUUID()}`]) {
      expect(await send(second, { to, path })).toMatchObject(HTTPS_REQUIRED);
    }
    for (const path of METRICS_AND_DOCS) expect((await send(second, { to, path })).status).toBe(404);
    for (const path of ['/healthz', '/readyz']) expect((await send(second, { to, path })).status).toBe(200);
  });
});

describe('over TLS', () => {
  let site: TestSite;
  beforeAll(async () => {
    site = await newSite();
  });

  it('a conversion is received, and X-Forwarded-Proto of an untrusted proxy is ignored', async () => {
    const tls = { tls: true };
    expect((await post(secure, site, purchase(), tls)).body).toBe('{"ok":true,"event":"purchase","results":{}}');
    const denied = { tls: true, headers: { 'X-Forwarded-Proto': 'http' } };
    expect((await post(secure, site, purchase(), denied)).status).toBe(200);
    expect((await post(secure, site, `{"padding":"${'x'.repeat(70_000)}"}`, tls)).status).toBe(413);
    expect((await send(secure, { path: '/healthz', tls: true })).status).toBe(200);
    const raw = await openSocket(secure, 'tls');
    raw.write('GARBAGE\r\n\r\n');
    expect((await raw.closed).text).toMatch(/^HTTP\/1.1 400 .*not a valid HTTP\/1.1 request\.$/s);
  });

  it('plain HTTP and garbage are disconnected at once and affect no other request', async () => {
    for (const bytes of [rawPost(site, JSON.stringify(purchase())), '\x16\x03\x01garbage', '\0\0\0\0']) {
      const raw = await openSocket(secure);
      raw.write(bytes);
      raw.socket.end();
      expect((await raw.closed).text).not.toMatch(/^HTTP\/1.1 [25]/);
    }
    expect((await post(secure, site, purchase(), { tls: true })).status).toBe(200);
    expect(await operator.conversions(site.host)).toHaveLength(3);
  });
});

describe('a body', () => {
  let site: TestSite;
  beforeAll(async () => {
    site = await newSite();
  });

  /** A valid body with one more member, given as JSON text. */
  const withMember = (member: string) =>
    `${JSON.stringify({ email: 'jane@example.com', event: randomUUID() }).slice(0, -1)},${member}}`;
  const good = JSON.stringify(purchase({ firstName: 'Zoë' }));

  it.each<[string, string | Buffer]>([
    ['a NUL', withMember('"firstName":"\0"')],
    ['an escaped NUL in a key', withMember('"un\\u0000known":1')],
    ['a lone surrogate', withMember('"deep":[{"deeper":[["\\ud83dx"]]}]')],
    ['a surrogate encoded as UTF-8', Buffer.from(withMember('"a":"?"').replace('?', '\xed\xa0\x80'), 'latin1')],
    ['a key twice, once escaped', withMember('"\\u0065vent":"again"')],
    ['a __proto__ key', withMember('"deep":[[{"__proto__":{"orderId":"stolen"}}]]')],
    ['nine levels', withMember(`"deep":${'['.repeat(8)}${']'.repeat(8)}`)],
    ['60,000 brackets', '['.repeat(60_000)],
    ['another encoding', Buffer.from(good, 'latin1')],
    ['UTF-16', Buffer.from(good, 'utf16le')],
    ['gzip', gzipSync(good)],
    ['nothing', ''],
    ['an array', `[${good}]`],
    ['two objects', good + good],
    ['a comment', `/**/${good}`],
  ])('is malformed with %s', async (_, body) => {
    expect(await post(service, site, body)).toMatchObject({ status: 400, type: TEXT_TYPE });
    expect(({} as Record<string, unknown>)['orderId']).toBeUndefined();
  });

  it.each([
    ['a pair of surrogates', withMember('"firstName":"\\ud83d\\ude00"')],
    ['an escaped escape', withMember('"unknown":"\\\\u0000 \\\\ud800"')],
    ['the last characters of Unicode', withMember('"unknown":"😀\\u0001\uffff\u{10ffff}"')],
    ['the same key at several levels', withMember('"deep":{"b":{"b":{"b":1}},"c":[{"b":1},{"b":1}]}')],
    ['keys that every object inherits', withMember('"constructor":{"prototype":1},"toJSON":1,"then":1,"__proto":1')],
    ['eight levels', withMember(`"deep":${'['.repeat(7)}${']'.repeat(7)}`)],
    ['a wide array', withMember(`"wide":[${'[],'.repeat(999)}[]]`)],
    ['blanks around it', ` \r\n\t${good} \n`],
  ])('is received with %s', async (_, body) => {
    expect((await post(service, site, body)).status).toBe(200);
  });

  it('is rejected unless it is uncompressed application/json in UTF-8', async () => {
    const answerTo = async (type: string | undefined, headers: Record<string, string> = {}) => {
      const reply = await post(service, site, purchase(), { headers: { 'Content-Type': type, ...headers } });
      return [type, reply.status, reply.type];
    };
    for (const type of ['Application/JSON', 'application/json ; charset="utf-8"'])
      expect(await answerTo(type)).toEqual([type, 200, JSON_TYPE]);
    for (const type of [undefined, '', 'text/plain', 'application/json; charset=latin1'])
      expect(await answerTo(type)).toEqual([type, 415, TEXT_TYPE]);
    const type = 'application/json';
    for (const coding of ['gzip', 'br', 'deflate', 'identity', 'utf-8', ''])
      expect(await answerTo(type, { 'Content-Encoding': coding })).toEqual([type, 415, TEXT_TYPE]);
    const zipped = await post(service, site, gzipSync(JSON.stringify(purchase())), {
      headers: { 'Content-Encoding': 'gzip' },
    });
    expect(zipped.status).toBe(415);
  });

  it('of exactly 64 KiB is accepted and of one byte more rejected, chunked or not', async () => {
    const sized = (bytes: number) => {
      const body = JSON.stringify(purchase({ padding: '' }));
      return body.replace('"padding":""', `"padding":"${'x'.repeat(bytes - body.length)}"`);
    };
    for (const [bytes, status] of [
      [MAX_BODY_BYTES, 200],
      [MAX_BODY_BYTES + 1, 413],
    ] as const) {
      expect((await post(service, site, sized(bytes))).status).toBe(status);
      const chunked = await post(service, site, sized(bytes), { headers: { 'Transfer-Encoding': 'chunked' } });
      expect(chunked.status).toBe(status);
      if (status === 413) expect(chunked).toMatchObject({ type: TEXT_TYPE, body: expect.stringContaining('65536') });
    }
  });
});

describe('a connection', () => {
  let site: TestSite;
  beforeAll(async () => {
    site = await newSite();
  });
  const good = () => JSON.stringify(purchase());
  const last = () => rawPost(site, good(), { Connection: 'close' });

  /** Sends the bytes; resolves with everything received when the service has closed the connection. */
  async function exchange(bytes: string | Buffer): Promise<string> {
    const raw = await openSocket(service);
    raw.write(bytes);
    return (await raw.closed).text;
  }

  it('that announces an oversized body gets 413 at once and can send the next request', async () => {
    const raw = await openSocket(service);
    raw.write(rawPost(site, '', { 'Content-Length': '1000000' }));
    // No byte of the body is sent before the answer has arrived.
    const answer = await raw.until(/larger than 65536 bytes/);
    expect(answer).toMatch(/^HTTP\/1.1 413 .*text\/plain/s);
    raw.write(Buffer.alloc(1_000_000, 'x'));
    raw.write(last());
    expect(statusesIn((await raw.closed).text)).toEqual([413, 200]);
  });

  it('whose chunks exceed the limit gets 413 before the last chunk and can send the next request', async () => {
    const raw = await openSocket(service);
    raw.write(rawPost(site, '', { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }));
    const chunk = `1000\r\n${'x'.repeat(4_096)}\r\n`;
    for (let sent = 0; sent <= MAX_BODY_BYTES; sent += 4_096) raw.write(chunk);
    await raw.until(/^HTTP\/1.1 413 .*larger than 65536 bytes/s);
    for (let turn = 0; turn < 50; turn += 1) raw.write(chunk);
    raw.write(`0\r\n\r\n${last()}`);
    expect(statusesIn((await raw.closed).text)).toEqual([413, 200]);
    expect((await post(service, site, purchase())).status).toBe(200);
  });

  it('may send a body in chunks of one byte', async () => {
    const chunks = [...Buffer.from(good())].map((byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('');
    const head = rawPost(site, '', {
      'Content-Length': undefined,
      'Transfer-Encoding': 'chunked',
      Connection: 'close',
    });
    expect(await exchange(`${head}${chunks}0\r\n\r\n`)).toMatch(/^HTTP\/1.1 200 /);
  });

  it('may wait for 100 Continue before it sends the body', async () => {
    const raw = await openSocket(service);
    const body = good();
    raw.write(rawPost(site, body, { Expect: '100-continue', Connection: 'close' }).slice(0, -body.length));
    expect(await raw.until(/\r\n\r\n/)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    raw.write(body);
    expect((await raw.closed).text).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /);
  });

  it('may use HTTP/1.0', async () => {
    expect(await exchange(rawPost(site, good()).replace('HTTP/1.1', 'HTTP/1.0'))).toMatch(
      /^HTTP\/1.1 200 .*"results":{}}$/s,
    );
    expect(await exchange('GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /);
    expect(await exchange(`POST ${INBOUND} HTTP/1.0\r\n\r\n`)).toMatch(/^HTTP\/1.1 403 /);
  });

  it('may pipeline requests and gets the answers in order', async () => {
    const orders = Array.from({ length: 20 }, () => randomUUID());
    const requests = orders.flatMap((orderId) => [
      rawPost(site, JSON.stringify(purchase({ orderId }))),
      rawPost(site, '{'),
      rawPost(site, '{"event":"x"}'),
      `GET /nothing HTTP/1.1\r\nHost: ${site.host}\r\n\r\n`,
      rawPost(site, JSON.stringify(purchase({ orderId }))),
    ]);
    const text = await exchange(requests.join('') + last());
    expect(statusesIn(text)).toEqual([...orders.flatMap(() => [200, 400, 400, 404, 200]), 200]);
    const ids = [...text.matchAll(/X-CC-Conversion-Id: (\S+)/g)].map(([, id]) => id as string).slice(0, -1);
    const events = await Promise.all(ids.map((id) => operator.conversion(id)));
    expect(events.map((event) => event?.data['orderId'])).toEqual(orders.flatMap((orderId) => [orderId, orderId]));
    const first = (orderId: string) => events.find((event) => event?.data['orderId'] === orderId)?.type;
    expect(orders.map(first)).toEqual(orders.map(() => 'conversion.received.v1'));
  });

  it('may use an absolute request URL, whose host then selects the site', async () => {
    const absolute = (host: string) =>
      last()
        .replace(INBOUND, `http://${host}${INBOUND}`)
        .replace(/Host: \S+/, 'Host: x');
    expect(await exchange(absolute(site.host))).toMatch(/^HTTP\/1.1 200 /);
    expect(await exchange(absolute('unknown.example'))).toMatch(/^HTTP\/1.1 403 /);
    const receipt = `GET http://${site.host}${INBOUND}?orderId=none HTTP/1.1\r\nHost: x\r\nX-CC-Api-Key: ${site.key}\r\nConnection: close\r\n\r\n`;
    expect(await exchange(receipt)).toMatch(/^HTTP\/1.1 404 .*Conversion not found/s);
  });

  it('with a missing or invalid host belongs to no site', async () => {
    const hosts = [
      '',
      ' ',
      'a b',
      '[',
      '[::',
      '[::1]',
      'x'.repeat(300),
      'a'.repeat(8_000),
      '..',
      '-',
      '127.0.0.1',
      '%00',
    ];
    hosts.push(
      `${site.host}:99999`,
      `${site.host}:x`,
      `${site.host}/`,
      `${site.host}@evil`,
      `x@${site.host}`,
      '\xff\xfe',
    );
    hosts.push(
      `${site.host},${site.host}`,
      `http://${site.host}`,
      `${site.host}%2e`,
      `.${site.host}`,
      '__proto__',
      'constructor',
    );
    for (const host of hosts) {
      const text = await exchange(Buffer.from(rawPost({ ...site, host }, good(), { Connection: 'close' }), 'latin1'));
      expect([host, text.slice(0, 12)]).toEqual([host, expect.stringMatching(/^HTTP\/1.1 40[03]$/)]);
    }
    expect(await exchange(last().replace(/Host: \S+\r\n/, ''))).toMatch(/^HTTP\/1.1 400 /);
    for (const second of ['unknown.example', site.host]) {
      const doubled = last().replace(/Host: \S+/, `Host: ${site.host}\r\nhost: ${second}`);
      expect(await exchange(doubled)).toMatch(/^HTTP\/1.1 400 .*\r\n\r\nThe request has more than one Host header/s);
    }
  });

  it('with more than 100 headers gets 431, whatever a proxy adds after them', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `x${index}:\r\n`).join('');
    const visible = (headers: string) => `GET /metrics HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`;
    expect(await exchange(visible(many(98)))).toMatch(/^HTTP\/1.1 200 /);
    for (const count of [99, 1_000, 2_000]) {
      const text = await exchange(visible(`${many(count)}X-Forwarded-For: 203.0.113.9\r\n`));
      expect([count, text]).toEqual([count, expect.stringMatching(/^HTTP\/1.1 431 .*\r\n\r\n.*more than 100/s)]);
    }
  });

  it('that uses TRACE gets no echo of the request', async () => {
    for (const path of [INBOUND, '/', '/metrics']) {
      const text = await exchange(
        `TRACE ${path} HTTP/1.1\r\nHost: ${site.host}\r\nX-Probe: echoed\r\nConnection: close\r\n\r\n`,
      );
      expect(text).toMatch(/^HTTP\/1.1 40[0-9] /);
      expect(text).not.toContain('echoed');
    }
  });

  it('that does not send valid HTTP gets a plain-text 400 and is closed', async () => {
    const heads = [
      'GARBAGE\r\n\r\n',
      '\0\x01\x02\xff\xfe\r\n\r\n',
      '{"email":"jane@example.com"}\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    ];
    heads.push(`POST ${INBOUND} HTTP/9\r\n\r\n`, `POST ${INBOUND} HTTP/1.1\r\nHost : x\r\n\r\n`);
    heads.push(`POST ${INBOUND} HTTP/1.1\r\nHost: x\r\nNo colon\r\n\r\n`, `POST /\0 HTTP/1.1\r\nHost: x\r\n\r\n`);
    heads.push(
      rawPost(site, '{}', { 'Transfer-Encoding': 'chunked' }),
      rawPost(site, '{}', { 'Transfer-Encoding': 'gzip' }),
    );
    heads.push(rawPost(site, '{}', { 'Content-Length': '-1' }), rawPost(site, '{}', { 'Content-Length': '2, 2' }));
    heads.push(
      rawPost(site, '{}', { 'Content-Length': '2\r\nContent-Length: 3' }),
      rawPost(site, '{}', { 'Content-Length': '0x2' }),
    );
    heads.push(rawPost(site, 'zz\r\n', { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }));
    heads.push(rawPost(site, '{}', { 'X-CC-Api-Key': 'a\0b' }));
    for (const head of heads) {
      const text = await exchange(Buffer.from(head, 'latin1'));
      expect([head, text]).toEqual([head, expect.stringMatching(/^HTTP\/1.1 400 .*text\/plain.*not a valid HTTP/s)]);
    }
    expect(await exchange(rawPost(site, good(), { 'X-Padding': 'x'.repeat(20_000) }))).toMatch(
      /^HTTP\/1.1 431 .*text\/plain/s,
    );
    expect((await post(service, site, purchase())).status).toBe(200);
  });

  it('whose Content-Length is too small is answered for the announced bytes, and the rest is rejected', async () => {
    const body = good();
    const cut = await exchange(rawPost(site, body, { 'Content-Length': String(body.length - 1) }));
    expect(statusesIn(cut).every((status) => status === 400)).toBe(true);
    const more = await exchange(
      rawPost(site, body, { 'Content-Length': String(body.length) }).concat('surplus\r\n\r\n'),
    );
    expect(more).toMatch(/^HTTP\/1.1 (200|400) /);
    expect(more).toMatch(/not a valid HTTP/);
  });

  it('aborted before, within or after the body affects no other request', async () => {
    const own = await newSite();
    const whole = rawPost(own, good());
    const head = whole.indexOf('\r\n\r\n') + 4;
    const cuts = [0, 1, 20, head - 2, head, head + 1, whole.length - 1, whole.length];
    const leave = [
      (raw: RawSocket) => raw.socket.destroy(),
      (raw: RawSocket) => raw.socket.resetAndDestroy(),
      (raw: RawSocket) => raw.socket.end(),
    ];
    await runConcurrently(10, Array.from({ length: 12 }, () => cuts).flat(), async (cut, index) => {
      const raw = await openSocket(service);
      raw.write(whole.slice(0, cut));
      if (index % 2 === 0) await sleep(1);
      leave[index % 3]?.(raw);
      await raw.closed;
    });
    expect((await send(service, { path: '/healthz' })).status).toBe(200);
    expect((await post(service, own, whole.slice(head))).status).toBe(200);
    const received = (await operator.conversions(own.host)).filter(({ type }) => type === 'conversion.received.v1');
    expect(received).toHaveLength(1);
  });
});

describe('5,000 generated bodies', () => {
  const MESSAGES = new Set([
    'email or hashed_email required',
    'email is invalid',
    'hashed_email must be a SHA-256 hex digest',
    'event required',
    'event must be 1 to 100 characters',
    'value must be a non-negative number',
    'currency must be an ISO 4217 code',
    'orderId must be 1 to 255 characters',
    'firstName must be text of at most 255 characters',
    'lastName must be text of at most 255 characters',
    'phone must be text of at most 64 characters',
  ]);

  const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 2 });
  const printable = (least: number, most: number) =>
    fc
      .string({ unit: 'binary', minLength: least, maxLength: most })
      .map((text) => text.replaceAll('\0', 'x'))
      .filter((text) => text.trim() !== '');
  const units = fc.array(fc.integer({ min: 0, max: 0xffff })).map((codes) => String.fromCharCode(...codes));
  const digest = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'));
  const valid = fc.record({
    email: optional(fc.emailAddress()),
    hashed_email: digest,
    event: printable(1, 50),
    value: optional(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true })),
    currency: optional(fc.constantFrom('USD', 'eur', 'Gbp', 'JPY', 'chf')),
    orderId: fc.oneof(printable(1, 120), fc.nat(), fc.uuid()),
    firstName: optional(printable(1, 100)),
    lastName: optional(printable(1, 100)),
    phone: optional(fc.string({ unit: 'grapheme', maxLength: 20 })),
  });
  const almostValid = fc
    .tuple(valid, fc.constantFrom('email', 'hashed_email', 'event', 'value', 'currency', 'orderId', 'phone', 'x'))
    .chain(([body, field]) => fc.oneof(fc.jsonValue(), units).map((wrong) => ({ ...body, [field]: wrong })));
  const corrupted = fc.tuple(valid, fc.nat(), fc.uint8Array({ maxLength: 3 })).map(([body, place, bytes]) => {
    const text = Buffer.from(JSON.stringify(body));
    const at = place % text.length;
    return Buffer.concat([text.subarray(0, at), Buffer.from(bytes), text.subarray(at + 1)]);
  });
  const invalid = (body: string | Buffer) => ({ isValid: false, body });
  const anyBody = fc.oneof(
    { weight: 4, arbitrary: valid.map((body) => ({ isValid: true, body: JSON.stringify(body) as string | Buffer })) },
    { weight: 3, arbitrary: almostValid.map((body) => invalid(JSON.stringify(body))) },
    { weight: 2, arbitrary: corrupted.map(invalid) },
    { weight: 1, arbitrary: fc.jsonValue().map((body) => invalid(JSON.stringify(body))) },
    { weight: 1, arbitrary: fc.oneof(units, fc.json()).map(invalid) },
  );

  /** The expected event of an accepted body, computed without the code under test. */
  function expectedOf(body: string | Buffer) {
    const sent = JSON.parse(body.toString().replace(/^\ufeff/, ''));
    const email = typeof sent.email === 'string' ? sent.email.trim().toLowerCase() : '';
    return {
      event: canonical(sent.event),
      value: sent.value === null ? undefined : sent.value === 0 ? 0 : sent.value,
      currency: (sent.currency ?? 'USD').toUpperCase(),
      orderId: sent.orderId === null || sent.orderId === undefined ? undefined : canonical(String(sent.orderId)),
      subject: email === '' ? sent.hashed_email.trim().toLowerCase() : sha256(email),
      firstName: nameOf(sent.firstName),
      lastName: nameOf(sent.lastName),
    };
  }

  /** Orders and event names are stored in the form in which they are compared. */
  function canonical(text: string): string {
    return text.trim().normalize('NFC');
  }

  /** A name of nothing but spaces and punctuation is not stored. */
  function nameOf(sent: string | null | undefined): string | undefined {
    const name = (sent ?? '').trim().toLowerCase();
    return name.replace(/[\s!-/:-@[-`{-~]/g, '') === '' ? undefined : sha256(name);
  }

  function storedOf({ data, personal }: LooseEvent) {
    const { event, value, currency, orderId } = data;
    const { subject, firstName, lastName } = personal ?? {};
    return { event, value, currency, orderId, subject, firstName: firstName, lastName };
  }

  it('are answered according to the contract, and accepted ones are stored', async () => {
    const site = await newSite();
    const samples = fc.sample(anyBody, { numRuns: 5_000, seed: 20_260_101 });
    const replies = await runConcurrently(32, samples, ({ body }) => post(service, site, body));
    const stored = new Map((await operator.conversions(site.host)).map((event) => [event.data['conversionId'], event]));
    let accepted = 0;
    for (const [index, reply] of replies.entries()) {
      const { isValid, body } = samples[index] as (typeof samples)[0];
      const context = { body: body.toString(), reply: [reply.status, reply.type, reply.body] };
      if (reply.status === 200) {
        accepted += 1;
        const event = stored.get(conversionId(reply)) as LooseEvent;
        expect({ ...context, ...storedOf(event) }).toEqual({ ...context, ...expectedOf(body) });
        // The answer names the event as it was sent.
        const { event: sentName } = JSON.parse(body.toString().replace(/^\ufeff/, ''));
        const { ok, event: name, deduped } = JSON.parse(reply.body);
        expect([ok, name ?? deduped]).toEqual([true, event.type === 'conversion.received.v1' ? sentName : true]);
        continue;
      }
      expect({ ...context, status: reply.status, isValid }).toEqual({ ...context, status: 400, isValid: false });
      if (reply.type !== TEXT_TYPE) expect(MESSAGES).toContain(JSON.parse(reply.body).error);
      // JSON for an invalid field of a JSON object, plain text for a malformed body.
      else expect(reply.body).toMatch(/^The body /);
    }
    expect(accepted).toBeGreaterThan(1_500);
    expect(accepted).toBeLessThan(4_500);
    expect(stored.size).toBe(accepted);
  });
});

describe('100 concurrent clients', () => {
  it('post 1,000 orders to two instances: each order is received once and deduplicated otherwise', async () => {
    const site = await newSite();
    const orders = Array.from({ length: 1_000 }, (_, index) => `RACE-${index}`);
    // Six consecutive posts of each order, so that they are in flight at both instances at the same time.
    const posts = orders.flatMap((orderId) => Array.from({ length: 6 }, () => orderId));
    const replies = await runConcurrently(100, posts, (orderId, index) =>
      post(index % 2 ? service : second, site, {
        email: `c${index}@example.com`,
        event: 'purchase',
        orderId,
        value: index,
      }),
    );
    const count = (body: string) => replies.filter((reply) => reply.status === 200 && reply.body === body).length;
    expect(count('{"ok":true,"event":"purchase","results":{}}')).toBe(1_000);
    expect(count('{"ok":true,"deduped":true}')).toBe(5_000);
    const events = await operator.conversions(site.host);
    const received = events.filter(({ type }) => type === 'conversion.received.v1');
    expect(received).toHaveLength(1_000);
    expect(new Set(received.map(({ data }) => data['orderId'])).size).toBe(1_000);
    const firsts = new Map(received.map(({ data }) => [data['orderId'], data['conversionId']]));
    const repeats = events.filter(({ type }) => type === 'conversion.deduplicated.v1');
    expect(repeats).toHaveLength(5_000);
    expect(repeats.filter(({ data }) => data['firstConversionId'] !== firsts.get(data['orderId']))).toEqual([]);
  });
});

// Last, because both await what was started before the first test.
describe('an instance whose connections to PostgreSQL have all stalled', () => {
  it('recovers over new connections', async () => {
    expect(await recovery).toBe(200);
  });
});

describe('slow senders', () => {
  /** Node's own limit for headers. It allows five minutes for a body. */
  const NODE_WAITS_MS = 60_000;

  it('disconnects a client that sends no complete headers or TLS handshake within 10 s', async () => {
    const names = ['nothing', 'a request line', 'headers', 'no handshake', 'a handshake', 'headers over TLS'];
    for (const name of names) {
      const { text, afterMs } = await ended(name);
      expect([name, text]).toEqual([name, expect.stringMatching(/^(HTTP\/1.1 408 .*text\/plain.*)?$/s)]);
      expect(afterMs).toBeLessThan(NODE_WAITS_MS);
    }
  });

  it('disconnects a client that sends no complete body within 15 s, whether the request is accepted or rejected', async () => {
    for (const [name, status] of Object.entries({ 'a body': 408, chunks: 408, ...REFUSED })) {
      const { text, afterMs } = await ended(name);
      expect([name, statusesIn(text)[0]]).toEqual([name, status]);
      expect(afterMs).toBeLessThan(NODE_WAITS_MS);
    }
  });

  function ended(name: string) {
    return slowSenders.get(name) as ReturnType<typeof drip>;
  }
});

/** Stalls every database connection of an instance; resolves with the status of the last post, 200 once it has recovered. */
async function loseAllConnections(): Promise<number> {
  const site = await newSite();
  const proxy = await HoldingProxy.start(sharedServer.host);
  const stalled = await startTestService(proxy.urlOf(databaseUrl));
  // Opens several connections, as under load.
  await runConcurrently(30, Array(60).fill('?orderId=none'), (query: string) => getReceipt(stalled, site, query));
  proxy.stallConnections();
  await eventually(() => stalled.hasFreshSites(), false);
  const { status } = await eventually(
    () => post(stalled, site, purchase()),
    (reply) => reply.status === 200,
  );
  await stalled.stop();
  await proxy.stop();
  return status;
}

/** Sends a few bytes every 200 ms until the service closes the connection. */
async function drip(raw: RawSocket, start: string, bytes: string): Promise<{ text: string; afterMs: number }> {
  raw.write(Buffer.from(start, 'latin1'));
  const timer = setInterval(() => bytes && raw.socket.writable && raw.write(bytes), 200);
  const end = await raw.closed;
  clearInterval(timer);
  return end;
}

async function startSlowSenders(): Promise<Map<string, ReturnType<typeof drip>>> {
  const site = await newSite();
  const long = { 'Content-Length': '1000' };
  const chunked = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
  const starts: Record<string, [start: string, bytes: string]> = {
    nothing: ['', ''],
    'a request line': ['POST /', 'x'],
    headers: [`POST ${INBOUND} HTTP/1.1\r\nHost: ${site.host}\r\nX-Slow: `, 'x'],
    'a body': [rawPost(site, '{', long), ' '],
    chunks: [rawPost(site, '', chunked), '1\r\n \r\n'],
    'a rejected body': [rawPost({ ...site, key: 'cc_wrong' }, '{', long), ' '],
    'an oversized body': [rawPost(site, '{', { 'Content-Length': '1000000' }), ' '],
  };
  const overTcp = Object.entries(starts).map(async ([name, [start, bytes]]) => {
    const raw = await openSocket(service);
    const end = drip(raw, start, bytes);
    // What starts next may block this process for seconds, and Node gives up on an old request before it reads it.
    if (name in REFUSED) await raw.until(/^HTTP/);
    return [name, end] as const;
  });
  const hello = '\x16\x03\x01\x02\x00\x01\x00\x01\xfc';
  return new Map([
    ...(await Promise.all(overTcp)),
    ['no handshake', drip(await openSocket(secure), '', '')],
    ['a handshake', drip(await openSocket(secure), hello, '\x03')],
    ['headers over TLS', drip(await openSocket(secure, 'tls'), 'GET /healthz HTTP/1.1\r\nX-Slow: ', 'x')],
  ]);
}

/** The statuses of pipelined answers, split by their Content-Length. */
function statusesIn(text: string): number[] {
  const statuses: number[] = [];
  for (let rest = text; rest !== ''; ) {
    const head = /^HTTP\/1.1 (\d{3}) .*?\r\n\r\n/s.exec(rest);
    if (!head) throw new Error(`Not an answer: ${JSON.stringify(rest)}`);
    statuses.push(Number(head[1]));
    const length = Number(/content-length: (\d+)/i.exec(head[0])?.[1] ?? 0);
    rest = rest.slice(head[0].length + length);
  }
  return statuses;
}
