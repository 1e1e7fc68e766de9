import { hash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { publishedData } from '../src/kafka/cloud-event.js';
import { Sealer } from '../src/kernel/sealing.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { type AdminReply, startTestAdmin } from './support/admin.js';
import { captureLog } from './support/captured-log.js';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folders.js';
import { SECRET_KEY } from './support/secret-key.js';
import { conversionId, metrics, post, useService } from './support/service.js';
import { callTag, visitorCookie } from './support/tag-calls.js';
import { eventually } from './support/waiting.js';

const DOCUMENT = fileURLToPath(new URL('../docs/privacy.md', import.meta.url));
const EMAIL = 'Canary.Person+shop@gmail.com';
const NORMALISED = EMAIL.toLowerCase();
const PHONE = '+49 151 70099887';
const BROWSER = 'Mozilla/5.0 (CanaryOS; rv:115.0) Gecko/20100101 Firefox/115.0';
const VISITOR = randomUUID();
const UTM = { source: 'canary-source', medium: 'canary-medium', campaign: 'canary-campaign' };
const ADDRESS = '203.0.113.77';
const sealer = new Sealer(Buffer.from(SECRET_KEY, 'hex'));
const folder = temporaryFolder('cc-places-');
const SENT = {
  ...{ email: EMAIL, firstName: 'Canarina', lastName: 'Placebird', phone: PHONE },
  ...{ externalId: 'Customer-C4711', city: 'Canarytown', postalCode: 'PLZ-90210', country: 'DE' },
  ...{
    ipAddress: '198.51.100.23',
    userAgent: `${BROWSER} Sent`,
    clickIds: { fbc: 'fb.1.1700000000000.SentFbclidCanary' },
    pageUrl: 'https://shop.example/sent-canary-page',
    referrer: 'https://shop.example/sent-canary-referrer',
    cookies: { _ttp: 'SentTtpCanary' },
    custom: { note: 'SentCustomCanary' },
    hashed_region: hash('sha256', 'sent-canary-region'),
  },
};

/** In each form in which a platform or a table may have it: as it is, hashed, and the hash as hex, base64 and base64url. */
function forms(...texts: string[]): string[] {
  return texts.flatMap((text) => [
    text,
    ...(['hex', 'base64', 'base64url'] as const).map((encoding) => hash('sha256', text, encoding)),
  ]);
}

const CANARIES: Readonly<Record<string, readonly string[]>> = {
  email: [
    ...forms(EMAIL, NORMALISED),
    ...forms('canaryperson@gmail.com', 'canary.person@gmail.com', 'canaryperson+shop@gmail.com'),
  ],
  phone: forms(PHONE, '+4915170099887', '4915170099887', '004915170099887', '15170099887'),
  'first name': forms('Canarina', 'canarina'),
  'last name': forms('Placebird', 'placebird'),
  'external id': forms(SENT.externalId, SENT.externalId.toLowerCase()),
  city: forms('Canarytown', 'canarytown'),
  'postal code': forms('PLZ-90210', 'plz-90210', 'plz90210'),
  'sent address': [SENT.ipAddress],
  'sent browser': [SENT.userAgent],
  'sent click': ['SentFbclidCanary'],
  'sent page': ['/sent-canary-page'],
  'sent referrer': ['/sent-canary-referrer'],
  'sent cookie': ['SentTtpCanary'],
  'sent custom': ['SentCustomCanary'],
  'sent region': [SENT.hashed_region],
  'visit address': [ADDRESS],
  'visit browser': ['CanaryOS'],
  'visit click': ['GclidOfTheCanary1'],
  page: ['/canary-page/of-the-visit'],
  source: [UTM.source],
  medium: [UTM.medium],
  campaign: [UTM.campaign],
  trace: ['4bf92f3577b34da6a3ce929d0e0eca0a'],
  visitor: [VISITOR],
};

const log = captureLog();
const environment = { DATA_DIR: folder, LOG_LEVEL: 'debug' };
const { databaseUrl, operator, service, openSite } = await useService({
  ...environment,
  TRUSTED_PROXIES: '127.0.0.1',
  COLLECT_BURST: '1000',
});
const sandbox = await new Sandbox().start();
const admin = await startTestAdmin(databaseUrl, environment);
const boss = await admin.signedIn('admin');
const site = await openSite();
/** Sees all tables, unlike the service. */
const owner = new Client({ connectionString: databaseUrl });
const printed: string[] = [];
let echo: http.Server;
/** Id of a conversion. */
let planted: string;

beforeAll(async () => {
  await owner.connect();
  echo = await startEcho();
  const echoUrl = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
  const ga4 = { measurement_id: 'G-ABC1234', api_secret: 'secret', refund_event: 'refund' };
  await operator.connect(site.host, 'ga4', ga4, `${sandbox.url}/ga4`);
  await operator.connect(
    site.host,
    'meta',
    { pixel_id: '900000000000101', access_token: 'token' },
    `${sandbox.url}/meta`,
  );
  await operator.connect(site.host, 'tiktok', { pixel_code: 'CODE', access_token: 'token' }, echoUrl);
  await operator.connect(site.host, 'snapchat', { pixel_id: 'pixel', access_token: 'token' }, 'http://127.0.0.1:9');
  await service.refreshSites();
});
afterAll(async () => {
  await admin.stop();
  await owner.end();
  await sandbox.stop();
  echo?.close();
  log.stop();
});

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** A platform that refuses what it is sent, and repeats it. */
async function startEcho(): Promise<http.Server> {
  let requests = 0;
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const texts = textsIn(JSON.parse(body));
      const repeated = texts.filter((text) =>
        Object.values(CANARIES).some((values) => values.some((one) => text.includes(one))),
      );
      const [first, ...rest] = repeated.slice(requests % repeated.length);
      requests += 1;
      const message = `Bad value ${first}, and ${rest.join(', ')}`;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ code: 40002, message, request_id: randomUUID() }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function cli(command: string): Promise<void> {
  const env = { DATABASE_URL: databaseUrl, SECRET_KEY, DATA_DIR: folder, ERASURE_LIST: join(folder, 'erasures') };
  const { code, stderr } = await commandLine(env).run(command);
  expect([command, code, code === 0 || stderr]).toEqual([command, 0, true]);
  printed.push(stderr);
}

/** Another person, who is not erased: `ANALYZE` keeps its statistics of a table that has become empty. */
const OTHER = {
  ...{ visitor: randomUUID(), clicks: {}, utm: { source: 'a', medium: 'b', campaign: 'c' } },
  page: 'https://other.example/',
};

const OTHER_BROWSER = {
  'User-Agent': 'Mozilla/5.0 (X11; rv:115.0) Gecko/20100101 Firefox/115.0',
  'X-Forwarded-For': '192.0.2.1',
};
const OTHER_PURCHASE = { email: 'john@example.com', event: 'purchase' };
const OTHER_LEAD = { ...OTHER_PURCHASE, event: 'lead' };

async function tag(call: string, fields: object, cookie?: string): Promise<string> {
  const isOther = 'page' in fields;
  const headers = { 'User-Agent': BROWSER, 'X-Forwarded-For': ADDRESS, ...(isOther && OTHER_BROWSER), Cookie: cookie };
  const message = {
    ...{ visitor: VISITOR, page: `https://${site.host}/canary-page/of-the-visit?q=1` },
    ...{ clicks: { gclid: { id: 'GclidOfTheCanary1', t: Date.now() } }, utm: UTM },
    ...fields,
  };
  const reply = await callTag(service, site, call, message, { headers });
  expect([call, reply.status]).toEqual([call, 204]);
  return cookie ?? visitorCookie(reply);
}

async function inbound(body: object, path?: string): Promise<string> {
  const headers = {
    'X-Forwarded-Proto': 'https',
    'Idempotency-Key': 'inbound-1',
    ...(!('email' in body && body.email === OTHER_LEAD.email) && {
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0eca0a-00f067aa0ba902b7-01',
    }),
  };
  const reply = await post(service, site, body, { headers, ...(path && { path }) });
  expect([reply.status, reply.body]).toEqual([200, expect.stringContaining('"ok":true')]);
  return conversionId(reply);
}

const keyed = (name: string) => ({ 'idempotency-key': `key-${name}` });
const write = async (path: string, method: string, body: object, key: string) => {
  const reply = await boss(`/sites/${site.host}${path}`, { method, body, headers: keyed(key) });
  expect([path, reply.status < 300 || JSON.stringify(reply.body)]).toEqual([path, true]);
  return reply.body;
};
const finished = ({ id }: { id: string }) =>
  eventually(
    async () => (await boss(`/jobs/${id}`)).body,
    ({ state }: AdminReply['body']) => state !== 'queued' && state !== 'running',
  );

/** Through every door. */
async function plant(): Promise<string> {
  const cookie = await tag('collect', {});
  const purchase = { ...SENT, event: 'purchase', value: 129.9, currency: 'EUR' };
  const id = await inbound({ ...purchase, orderId: 'ORD-1' });
  await inbound([{ ...purchase, orderId: 'ORD-2' }], '/__cc/inbound/batch');
  await inbound({ ...purchase, event: 'lead' });
  // Identified after the conversions: they are matched late.
  await tag('identify', { hash: hash('sha256', NORMALISED) }, cookie);
  await tag('consent', { consent: { ad_storage: 'granted', ad_user_data: 'granted' } }, cookie);
  await inbound({ ...purchase, orderId: 'ORD-3' });
  await inbound({ ...SENT, event: 'refund', value: 10, currency: 'EUR', orderId: 'ORD-3' });
  await inbound({ ...purchase, orderId: 'ORD-3' });
  await inbound({ ...purchase, event: 'unfinished', orderId: 'ORD-5' });
  const other = { hash: hash('sha256', 'john@example.com') };
  await inbound(OTHER_PURCHASE);
  const otherCookie = await tag('identify', { ...OTHER, ...other });
  await tag('consent', { ...OTHER, consent: { ad_storage: 'granted', ad_user_data: 'granted' } }, otherCookie);
  await inbound(OTHER_LEAD);
  const file = join(folder, 'import.csv');
  writeFileSync(file, `email,event,value,currency,orderId,phone\n${EMAIL},purchase,5,EUR,ORD-4,${PHONE}\n`);
  await cli(`conversions import ${file} --site ${site.host}`);
  rmSync(file);
  await cli(`visitors consent ${EMAIL} granted --site ${site.host}`);

  await write('/settings', 'PATCH', { blocked: { add: [EMAIL] }, blockIps: { add: ['192.0.2.0/24'] } }, 'block');
  await service.refreshSites();
  await inbound({ ...purchase, event: 'blocked', orderId: undefined });
  await write('/connections/meta/preview', 'POST', { conversion: id }, 'preview');
  await write('/settings/preview', 'POST', { blocked: { add: [EMAIL] } }, 'settings-preview').catch(() => {});
  await write('/erasures', 'POST', { email: EMAIL, dryRun: true }, 'dry-run');
  await write('/deliveries/retry', 'POST', { conversion: id, platform: 'meta', force: true }, 'retry').catch(() => {});
  for (const format of ['ndjson', 'csv', 'parquet'])
    await finished(await write('/jobs', 'POST', { kind: 'export', format }, `export-${format}`));
  await finished(await write('/jobs', 'POST', { kind: 'replay', platform: 'tiktok', from: '0' }, 'replay'));
  await finished(await write('/jobs', 'POST', { kind: 'shadow', from: '0', to: '1000000' }, 'shadow'));
  await eventually(
    async () => (await operator.postgres.pool.query('SELECT FROM cc.identifier_statistics')).rowCount,
    (rows) => rows !== 0,
  );
  await cli('projections status');
  return id;
}

/** By place, the canaries that were found there. */
type Places = Record<string, string[]>;

function look(places: Places, place: string, texts: readonly string[], canaries = CANARIES): void {
  const text = texts.join('\n');
  for (const [canary, values] of Object.entries(canaries)) {
    if (!values.some((value) => text.includes(value))) continue;
    places[place] = [...new Set([...(places[place] ?? []), canary])].sort();
  }
}

/** Every column of every table, in every schema, and what is sealed. */
async function walk(canaries = CANARIES): Promise<Places> {
  const { rows: columns } = await owner.query<{ schema: string; table: string; column: string; type: string }>(
    `SELECT c.table_schema AS schema, c.table_name AS table, c.column_name AS column, c.data_type AS type
       FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
      WHERE t.table_type = 'BASE TABLE'`,
  );
  expect(columns.length).toBeGreaterThan(800);
  const places: Places = {};
  for (const { schema, table, column, type } of columns) {
    if (['boolean', 'bigint', 'integer', 'smallint', 'oid'].includes(type)) continue;
    const text = type === 'bytea' ? `encode("${column}", 'hex')` : `"${column}"::text`;
    const { rows } = await owner.query<{ text: string | null }>(`SELECT ${text} AS text FROM "${schema}"."${table}"`);
    const texts = rows.map((row) => row.text ?? '');
    const contents = type === 'bytea' ? texts.map((hex) => Buffer.from(hex, 'hex').toString('latin1')) : [];
    look(
      places,
      `${table.replace(/_\d+$/, '')}.${column.replace(/^(stavalues)\d$/, '$1')}`,
      [...texts, ...contents],
      canaries,
    );
  }
  await walkAnswers(places, canaries);
  return places;
}

/** What the holder of the key can read. */
async function walkAnswers(places: Places, canaries: typeof CANARIES): Promise<void> {
  const { rows } = await operator.postgres.pool.query<{ actor: string; key: string; answer: Buffer }>(
    'SELECT actor, key, answer FROM cc.idempotency_keys WHERE answer IS NOT NULL',
  );
  for (const { actor, key, answer } of rows)
    look(places, 'idempotency_keys.answer', [sealer.open(answer, `idempotency ${actor} ${key}`).toString()], canaries);
}

function walkFolder(): Places {
  const places: Places = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const content = readFileSync(join(entry.parentPath, entry.name), 'latin1');
    look(places, entry.name, [content]);
    if (entry.name !== 'erasures') continue;
    for (const line of content.trim().split('\n'))
      look(places, 'erasures, opened', [sealer.open(Buffer.from(line, 'base64'), 'erasure').toString()]);
  }
  return places;
}

/** The columns in the first cells of the table after this heading of the page. */
function documented(heading: string): string[] {
  const section = readFileSync(DOCUMENT, 'utf8').split(`\n### ${heading}\n`)[1]?.split('\n### ')[0] ?? '';
  const cells = section.split('\n').flatMap((line) => /^\| ([^|]*) \|/.exec(line)?.[1] ?? []);
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+\.\w+)`/g)].map(([, column]) => column as string)).sort();
}

const ADDRESSED = ['email'];
const HASHED = ['first name', 'last name', 'phone'];
const STATED = [
  ...['city', 'external id', 'postal code', 'sent address', 'sent browser', 'sent click'],
  ...['sent page', 'sent referrer', 'sent cookie', 'sent custom', 'sent region'],
];
const VISITED = ['campaign', 'medium', 'page', 'source', 'visit address', 'visit browser', 'visit click', 'visitor'];
const EVERYTHING = [...ADDRESSED, ...HASHED, ...STATED, ...VISITED, 'trace'].sort();
const KEPT: Places = {
  'attributions.campaign': ['campaign'],
  'attributions.medium': ['medium'],
  'attributions.source': ['source'],
  'consent.subject': ADDRESSED,
  // Payloads of previews.
  'idempotency_keys.answer': [
    ...['city', 'email', 'external id', 'first name', 'last name', 'phone', 'sent address', 'sent browser'],
    ...['sent page', 'sent region', 'visit browser'],
  ],
  'identifiers.subject': ADDRESSED,
  'identifiers.value': VISITED,
  'job_chunks.bytes': EVERYTHING,
  'personal.data': EVERYTHING,
  'personal.subject': ADDRESSED,
  'unmatched.subject': ADDRESSED,
};

const withoutStatistics = ({ 'pg_statistic.stavalues': _, ...places }: Places) => places;

describe('what is known of a person who came through every door', () => {
  beforeAll(async () => {
    planted = await plant();
  });

  it('is in the documented places, and in no other', async () => {
    await owner.query('ANALYZE');
    const found = await walk();
    expect(found['pg_statistic.stavalues']).toEqual(expect.arrayContaining(['campaign', 'email']));
    expect(withoutStatistics(found)).toEqual(KEPT);
    expect(Object.keys(KEPT).sort()).toEqual(documented('Every place'));
    expect(walkFolder()).toEqual({});
  });

  it('is in no published record, log line, metric or error', async () => {
    const { rows } = await operator.postgres.pool.query<{ type: string; data: string }>(
      'SELECT type, data::text AS data FROM cc.events ORDER BY position',
    );
    const failed = rows.filter(({ data }) => data.includes('Bad value'));
    expect(failed.length).toBeGreaterThan(2);
    expect(log.text()).toContain('"level":20');
    const places: Places = {};
    look(
      places,
      'records',
      rows.map(({ type, data }) => publishedData(type, data)),
    );
    look(places, 'logs', [log.text(), ...printed]);
    look(places, 'metrics', [...(await metrics(service)).keys()]);
    expect(places).toEqual({});
  });

  it('is nowhere after an erasure', async () => {
    await cli(`visitors erase --site ${site.host} --email ${EMAIL} --yes`);
    expect(withoutStatistics(await walk())).toEqual({});
    await owner.query('ANALYZE');
    expect(await walk()).toEqual({});
    expect(walkFolder()).toEqual({ 'erasures, opened': ADDRESSED });
    expect(log.text().length).toBeGreaterThan(0);
    await cli('history verify');
  });

  it('is not repeated to a client after an erasure, nor is a write carried out again', async () => {
    const again = (key: string, path: string, body: object) =>
      boss.post(`/sites/${site.host}${path}`, body, keyed(key));
    expect(await again('preview', '/connections/meta/preview', { conversion: planted })).toMatchObject({
      ...{ status: 409, body: { detail: expect.stringContaining('was deleted') } },
    });
    const jobs = (await boss('/jobs')).body.items.length;
    expect((await again('export-csv', '/jobs', { kind: 'export', format: 'csv' })).status).toBe(409);
    expect((await boss('/jobs')).body.items).toHaveLength(jobs);
  });
});

describe('what is known of a user of the dashboard', () => {
  it('is in the documented places, and in no other', async () => {
    const user = { email: 'canary.user@team.example', name: 'Canary Userina' };
    const attempts = ['account', 'both'].map((kind) =>
      hash('sha256', JSON.stringify([kind, user.email, ...(kind === 'both' ? ['127.0.0.0/24'] : [])])),
    );
    const body = { ...user, role: 'analyst', sites: null };
    expect((await boss.post('/users', body, keyed('user'))).status).toBe(201);
    const guess = { email: user.email, password: 'a guess of the password' };
    expect((await admin.anonymous.post('/session', guess)).status).toBe(401);
    const found = await walk({ user: [...forms(user.email), user.name, ...attempts] });
    const random = ['api_tokens.hash', 'user_sessions.hash'];
    expect(Object.keys(withoutStatistics(found)).sort()).toEqual(
      documented('Users of the dashboard').filter((place) => !random.includes(place)),
    );
    expect(log.text()).not.toContain(user.email);
  });
});
