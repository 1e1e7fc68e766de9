import { hash, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { allProjections } from '../src/app/projections.js';
import { runCli } from '../src/cli/run-cli.js';
import { Sealer } from '../src/kernel/sealing.js';
import type { StoredEvent } from '../src/log/event.js';
import { ProjectionRunner } from '../src/log/projection-runner.js';
import type { Visit } from '../src/platforms/conversion.js';
import type { Platform } from '../src/platforms/platform.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { Erasure } from '../src/visitors/erasure.js';
import { ErasureList } from '../src/visitors/erasure-list.js';
import { consentProjection, identifiersProjection, matchRateProjection } from '../src/visitors/visitor-projections.js';
import { createDatabase } from './support/databases.js';
import { PLATFORM_CASES, type PlatformCase } from './support/platform-cases.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import {
  conversionId,
  eventually,
  type Operator,
  openOperator,
  post,
  type Reply,
  type RequestOptions,
  runConcurrently,
  send,
  startTestService,
  type TestService,
  type TestSite,
} from './support/service.js';

jest.setTimeout(120_000);

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36';
const PERSON_IP = '203.0.113.77';
/** As a browser with a person before it shows itself. */
const SIGNALS = {
  webdriver: false,
  languages: 2,
  screen: [1920, 1080],
  viewport: [1200, 800],
  touch: 0,
  plugins: 5,
  loadedMs: 900,
};

/** One of each kind, each told from all others; in mixed case, which must be kept. */
const CLICKS = {
  gclid: 'Gclid_One',
  fbclid: 'FbClid_One',
  ttclid: 'TtClid_One',
  // Microsoft's own are 32 hexadecimal digits, and nothing else is told as one.
  msclkid: 'a1b2c3d4e5f60718293a4b5c6d7e8f90',
  twclid: 'TwClid_One',
  li_fat_id: 'LiFatId_One',
  sccid: 'ScCid_One',
  rdt_cid: 'RdtCid_One',
  epik: 'Epik_One',
};
/** Nobody is told another one's; the customer's own receiver is told all of them. */
const OWN_CLICKS: Readonly<Record<string, readonly string[]>> = {
  google_ads: [CLICKS.gclid],
  meta: [CLICKS.fbclid],
  tiktok: [CLICKS.ttclid],
  microsoft_ads: [CLICKS.msclkid],
  x: [CLICKS.twclid],
  linkedin: [CLICKS.li_fat_id],
  snapchat: [CLICKS.sccid],
  reddit: [CLICKS.rdt_cid],
  pinterest: [CLICKS.epik],
  webhook: Object.values(CLICKS),
};

/** The innermost first field, as JSON spells it. */
function firstLeaf(value: object): string {
  const [[name, inner]] = Object.entries(value) as [[string, unknown]];
  const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
  return isObject ? firstLeaf(inner) : JSON.stringify({ [name]: inner }).slice(1, -1);
}

/** Each platform once, in its usual form. */
const PLATFORMS = PLATFORM_CASES.filter(({ name, platform }) => name === platform.name);
const COOKIES = { _fbp: 'fb.1.1700000000000.123456789', _ga: '111111111.1700000000', _ttp: 'TtpCookieOne' };

let server: TestServer;
let databaseUrl: string;
let operator: Operator;
let service: TestService;
let sandbox: RunningSandbox;

beforeAll(async () => {
  server = await startTestServer();
  databaseUrl = await createDatabase(server);
  operator = await openOperator(databaseUrl);
  service = await startTestService(databaseUrl, {
    // So that a test can say from which address somebody comes.
    TRUSTED_PROXIES: '127.0.0.1',
    COUNTRY_HEADER: 'X-Country',
    COLLECT_BURST: '500',
  });
  sandbox = await new Sandbox().start();
});
afterAll(async () => {
  await service.stop();
  await operator.close();
  await sandbox.stop();
  await server.stop();
});

const subject = (email: string) => hash('sha256', email.trim().toLowerCase());
let people = 0;
const somebody = () => `person-${++people}@example.com`;

interface Told {
  readonly [name: string]: unknown;
}

/** A call of the tag, as a browser of the site sends it. */
function tell(door: TestSite, what: string, message: Told = {}, sending: RequestOptions = {}): Promise<Reply> {
  const headers = {
    Host: door.host,
    Origin: `https://www.${door.host}`,
    'X-Forwarded-Proto': 'https',
    'X-Forwarded-For': PERSON_IP,
    'Content-Type': 'text/plain;charset=UTF-8',
    'User-Agent': BROWSER,
    'Accept-Language': 'de',
    'Sec-Fetch-Mode': 'no-cors',
    ...sending.headers,
  };
  const body = JSON.stringify({ v: 1, visitor: randomUUID(), visit: randomUUID(), signals: SIGNALS, ...message });
  return send(service, { method: 'POST', path: `/__cc/${what}`, body, ...sending, headers });
}

const clicksAt = (timeMs: number) =>
  Object.fromEntries(Object.entries(CLICKS).map(([kind, id]) => [kind, { id, t: timeMs }]));

/** Somebody clicks, lands and tells an email. */
function identify(door: TestSite, email: string, message: Told = {}, sending: RequestOptions = {}): Promise<Reply> {
  const clicks = clicksAt(Date.now() - 60_000);
  const page = `https://www.${door.host}/landing?gclid=x&email=jane%40example.com#top`;
  const first = { t: Date.now() - 90_000, page, utm: { source: 'newsletter' } };
  const seen = { page, first, clicks, cookies: COOKIES, utm: { source: 'google', campaign: 'Spring' } };
  return tell(door, 'identify', { hash: subject(email), ...seen, ...message }, sending);
}

let orders = 0;
async function convert(
  door: TestSite,
  email: string,
  fields: object = {},
): Promise<{ reply: Reply; id: string; results: Results }> {
  const body = { email, event: 'purchase', value: 10, currency: 'EUR', orderId: `V-${++orders}`, ...fields };
  const reply = await post(service, door, body, { headers: { 'X-Forwarded-Proto': 'https' } });
  return { reply, id: conversionId(reply), results: JSON.parse(reply.body).results };
}
type Results = Record<string, { ok: boolean; status: string; reason?: string }>;

async function connect(door: TestSite, cases: readonly PlatformCase[]): Promise<void> {
  for (const { platform, connection } of cases) {
    const set = { ...connection.settings, ...connection.secrets };
    const endpoint = `${sandbox.url}/${platform.name}@${tenantOf(door)}`;
    await operator.sites.connectPlatform(door.host, platform as Platform, { set, endpoint });
  }
  await service.refreshSites();
}

const tenantOf = (door: TestSite) => door.host.split('.')[0];

/** What each platform was told, as text. */
async function toldTo(door: TestSite): Promise<Record<string, string>> {
  const response = await fetch(`${sandbox.url}/ledger?tenant=${tenantOf(door)}`);
  const ledger = (await response.json()) as { recent: { platform: string; body: string }[] };
  const told: Record<string, string> = {};
  for (const { platform, body } of ledger.recent) told[platform] = (told[platform] ?? '') + body;
  return told;
}

async function openSite(settings: Record<string, string> = {}): Promise<TestSite> {
  const door = await operator.openSite();
  for (const [flag, value] of Object.entries(settings)) await operator.set(door.host, flag, value);
  await service.refreshSites();
  return door;
}

const visitorEvents = (door: TestSite) => operator.log.read({ categories: ['visitor'], site: door.host });
const types = (events: readonly StoredEvent[]) => events.map(({ type }) => type);
const opening = async (id: string) => (await operator.conversion(id)) as StoredEvent;

describe('GET /__cc/tag.js', () => {
  const get = (door: TestSite, headers: Record<string, string> = {}, method = 'GET') =>
    send(service, {
      method,
      path: '/__cc/tag.js',
      headers: { Host: door.host, 'X-Forwarded-Proto': 'https', ...headers },
    });

  it('is the tag with the site’s own settings, which browsers may keep for a while', async () => {
    const door = await openSite();
    const reply = await get(door);
    expect(reply.status).toBe(200);
    expect(reply.type).toBe('text/javascript; charset=utf-8');
    expect(reply.headers['cache-control']).toMatch(/^public, max-age=\d+$/);
    expect(reply.body).toContain('"required":false,"capture":true,"days":90');
    const again = await get(door, { 'If-None-Match': reply.headers.etag as string });
    expect([again.status, again.body]).toEqual([304, '']);

    await operator.set(door.host, 'consent-required', 'yes');
    await operator.set(door.host, 'email-capture', 'no');
    await service.refreshSites();
    const changed = await get(door, { 'If-None-Match': reply.headers.etag as string });
    expect(changed.status).toBe(200);
    expect(changed.body).toContain('"required":true,"capture":false,"days":90');
  });

  it('comes compressed to whoever takes it so, in at most 5 kB', async () => {
    const reply = await get(await openSite(), { 'Accept-Encoding': 'gzip, br' });
    expect(reply.headers['content-encoding']).toBe('gzip');
    expect(Number(reply.headers['content-length'])).toBeLessThanOrEqual(5_000);
    expect(reply.headers.vary).toContain('Accept-Encoding');
  });

  it('is nowhere but at a site', async () => {
    const door = await openSite();
    expect((await get({ ...door, host: 'nobody.example' })).status).toBe(404);
    expect((await get(door, { 'X-Forwarded-Proto': 'http' })).status).toBe(403);
    expect((await get(door, {}, 'POST')).status).toBe(405);
  });
});

describe('the tag’s endpoints', () => {
  it('take calls of the site’s own pages, and say so to those by name', async () => {
    const door = await openSite({ origin: 'partner.example' });
    for (const origin of [
      `https://${door.host}`,
      `https://www.${door.host}`,
      'https://partner.example',
      'https://eu.partner.example:8443',
    ]) {
      const reply = await tell(door, 'collect', {}, { headers: { Origin: origin } });
      expect([reply.status, reply.headers['access-control-allow-origin'], reply.body]).toEqual([204, origin, '']);
      expect(reply.headers.vary).toContain('Origin');
      expect(reply.headers).not.toHaveProperty('access-control-allow-credentials');
    }
  });

  it.each([
    ['another site’s', 'https://evil.example'],
    ['one that only ends alike', 'https://evilpartner.example'],
    ['the site’s without TLS', 'http://partner.example'],
    ['a page from a file', 'null'],
    ['one that tries to be two', 'https://partner.example@evil.example'],
    ['none', undefined],
  ])('refuse a page that is %s, without a word to its script', async (_, origin) => {
    const door = await openSite({ origin: 'partner.example' });
    const reply = await identify(door, somebody(), {}, { headers: { Origin: origin } });
    expect(reply.status).toBe(403);
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    if (origin) expect(reply.body).not.toContain(origin);
    expect(await visitorEvents(door)).toEqual([]);
  });

  it('answer a preflight of the site’s pages only', async () => {
    const door = await openSite();
    const ask = (Origin: string) => tell(door, 'identify', {}, { method: 'OPTIONS', body: '', headers: { Origin } });
    const reply = await ask(`https://${door.host}`);
    expect([reply.status, reply.headers['access-control-allow-methods']]).toEqual([204, 'POST']);
    expect((await ask('https://evil.example')).headers).not.toHaveProperty('access-control-allow-methods');
  });

  it.each([
    ['405 for another method', 405, { method: 'GET', body: '' }],
    ['415 for another type', 415, { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }],
    ['415 for what is compressed', 415, { headers: { 'Content-Encoding': 'gzip' } }],
    ['413 for what is too large', 413, { body: JSON.stringify({ v: 1, page: 'x'.repeat(9_000) }) }],
    ['400 for what is no JSON', 400, { body: '{"v":1' }],
    ['400 for what is not ours', 400, { body: '{"v":2}' }],
    ['400 for what would break a reader', 400, { body: '{"v":1,"page":"\\u0000"}' }],
  ])('answer %s', async (_, status, sending) => {
    const door = await openSite();
    const reply = await tell(door, 'collect', {}, sending);
    expect(reply.status).toBe(status);
    expect(reply.type).toBe('text/plain; charset=utf-8');
    expect(await visitorEvents(door)).toEqual([]);
  });

  it('let one address call so often, and another one still', async () => {
    const hasty = await startTestService(databaseUrl, {
      TRUSTED_PROXIES: '127.0.0.1',
      COLLECT_RATE: '1',
      COLLECT_BURST: '5',
    });
    try {
      const door = await openSite();
      await hasty.refreshSites();
      const call = (ip: string) => {
        const headers = {
          Host: door.host,
          Origin: `https://${door.host}`,
          'X-Forwarded-Proto': 'https',
          'X-Forwarded-For': ip,
          'Content-Type': 'text/plain',
        };
        return send(hasty, { method: 'POST', path: '/__cc/collect', body: '{"v":1}', headers });
      };
      const replies = [];
      for (let each = 0; each < 8; each += 1) replies.push((await call('198.51.100.1')).status);
      expect(replies.slice(0, 5)).toEqual([204, 204, 204, 204, 204]);
      expect(replies.slice(6)).toEqual([429, 429]);
      expect((await call('198.51.100.2')).status).toBe(204);
    } finally {
      await hasty.stop();
    }
  });

  it('keep nothing raw, and nothing of a page’s query', async () => {
    const door = await openSite();
    await identify(door, somebody(), {
      utm: { source: 'jane@example.com', medium: 'cpc' },
      referrer: 'https://mail.example/inbox/jane%40example.com?q=1',
    });
    const [event] = await visitorEvents(door);
    expect(JSON.stringify(event)).not.toMatch(/jane|%40|\?/);
    expect(event?.personal).toMatchObject({
      page: `https://www.${door.host}/landing`,
      referrer: 'https://mail.example/',
      utm: { medium: 'cpc' },
    });
    expect(JSON.stringify(event?.data)).not.toMatch(/203\.0\.113|Mozilla|One|[0-9a-f]{64}/);
  });

  it('store a landing that brought something, and none that did not', async () => {
    const door = await openSite();
    await tell(door, 'collect');
    expect(await visitorEvents(door)).toEqual([]);
    await tell(door, 'collect', { utm: { source: 'google' } });
    await tell(door, 'collect', { clicks: { gclid: { id: 'G', t: Date.now() } } });
    expect(types(await visitorEvents(door))).toEqual(['visitor.visited.v1', 'visitor.visited.v1']);
  });
});

describe('a conversion of somebody who was here', () => {
  it('carries the click that brought him, the moment the tag’s call is answered', async () => {
    const door = await openSite();
    const email = somebody();
    expect((await identify(door, email)).status).toBe(204);
    const { id } = await convert(door, email);
    const { data, personal } = await opening(id);
    expect(data).toMatchObject({ matched: true, consent: 'unknown' });
    expect(personal?.['visit']).toMatchObject({
      pageUrl: `https://www.${door.host}/landing`,
      ip: PERSON_IP,
      userAgent: BROWSER,
      clicks: { gclid: { id: CLICKS.gclid } },
      cookies: COOKIES,
      utm: { source: 'google', campaign: 'Spring' },
    });
  });

  it('goes by the newest click of each kind, whatever order they are told in, and forgets those past their life', async () => {
    const door = await openSite();
    const email = somebody();
    const DAY_MS = 24 * 60 * 60 * 1_000;
    const now = Date.now();
    const click = (kind: string, id: string, ageDays: number) => ({
      clicks: { [kind]: { id, t: now - ageDays * DAY_MS } },
    });
    await identify(door, email, click('gclid', 'newer', 3));
    await identify(door, email, click('gclid', 'older', 5));
    await identify(door, email, click('msclkid', 'past', 91));
    await identify(door, email, click('ttclid', 'past at TikTok', 29));
    await identify(door, email, click('fbclid', 'from the future', -2));
    const { personal } = await opening((await convert(door, email)).id);
    const { clicks } = (personal as unknown as { visit: Visit }).visit;
    expect(clicks.gclid).toEqual({ id: 'newer', timeMs: now - 3 * DAY_MS });
    expect(Object.keys(clicks).sort()).toEqual(['fbclid', 'gclid']);
    // Not later than it was told: nobody's clock keeps a click young for ever.
    expect(clicks.fbclid?.timeMs).toBeLessThanOrEqual(Date.now());
  });

  it('knows nobody by another site’s visits', async () => {
    const [door, other] = [await openSite(), await openSite()];
    const email = somebody();
    await identify(other, email);
    expect((await opening((await convert(door, email)).id)).data).not.toHaveProperty('matched');
  });
});

describe('consent', () => {
  const GRANTED = {
    ad_storage: 'granted',
    ad_user_data: 'granted',
    ad_personalization: 'granted',
    analytics_storage: 'granted',
  };
  const DENIED = {
    ad_storage: 'denied',
    ad_user_data: 'denied',
    ad_personalization: 'denied',
    analytics_storage: 'denied',
  };
  const SAID = {
    granted: GRANTED,
    denied: DENIED,
    gpc: { gpc: true },
    absent: undefined,
    unreadable: GRANTED,
  } as const;
  type Said = keyof typeof SAID;
  const cases = (Object.keys(SAID) as Said[]).flatMap((said) =>
    [true, false].map((clicked) => [said, clicked] as const),
  );

  /** For the time of the work the table of what people said cannot be read. */
  async function withoutConsentTable(work: () => Promise<void>): Promise<void> {
    await operator.postgres.pool.query('SELECT 1');
    const owner = await operator.postgres.connectAsOwner('test');
    try {
      await owner.query('ALTER TABLE cc.consent RENAME TO consent_away');
      await work();
    } finally {
      await owner.query('ALTER TABLE cc.consent_away RENAME TO consent');
      await owner.end();
    }
  }

  it.each(cases)('%s, with a click: %s — every platform is told what it may be told', async (said, clicked) => {
    const door = await openSite();
    await connect(door, PLATFORMS);
    const email = somebody();
    await identify(door, email, clicked ? {} : { clicks: {} });
    const consent = SAID[said];
    if (consent) await tell(door, 'consent', { hash: subject(email), consent });
    let results: Results = {};
    let id = '';
    const work = async () => {
      ({ results, id } = await convert(door, email));
    };
    await (said === 'unreadable' ? withoutConsentTable(work) : work());
    const told = await toldTo(door);
    const isWithheld = said !== 'granted' && said !== 'absent';
    const isDenied = said === 'denied' || said === 'gpc';
    const { data, personal } = await opening(id);
    expect(data['withheld']).toBe(isDenied ? 'opted_out' : said === 'unreadable' ? 'consent_unreadable' : undefined);
    expect(personal?.['visit'] !== undefined).toBe(!isWithheld);
    for (const { platform, optOut } of PLATFORMS) {
      const body = told[platform.name] ?? '';
      const carried = Object.values(CLICKS).filter((click) => body.includes(click));
      const own = OWN_CLICKS[platform.name] ?? [];
      expect([platform.name, carried]).toEqual([platform.name, clicked && !isWithheld ? own : []]);
      if (isWithheld) expect(body).not.toMatch(/203\.0\.113|Mozilla|TtpCookieOne|1700000000000|landing|Spring/);
      // As it stands in what was sent.
      const mark = optOut && firstLeaf(optOut);
      if (mark) expect([platform.name, body.includes(mark)]).toEqual([platform.name, isDenied]);
      const result = results[platform.name];
      if (isDenied && platform.name === 'google_ads')
        expect(result).toMatchObject({ status: 'skipped', reason: 'consent_denied' });
    }
  });

  it('that was changed counts as it was changed last', async () => {
    const door = await openSite();
    const email = somebody();
    await identify(door, email);
    const withheld = async () => (await opening((await convert(door, email)).id)).data['withheld'];
    await tell(door, 'consent', { hash: subject(email), consent: DENIED });
    expect(await withheld()).toBe('opted_out');
    await tell(door, 'consent', { hash: subject(email), consent: GRANTED });
    expect(await withheld()).toBeUndefined();
    await identify(door, email, { consent: { gpc: true } });
    expect(await withheld()).toBe('opted_out');
  });

  it('that a site requires is a no until somebody said yes, and nothing is kept before', async () => {
    const door = await openSite({ 'consent-required': 'yes' });
    const email = somebody();
    await identify(door, email);
    await tell(door, 'collect', { clicks: clicksAt(Date.now()) });
    await tell(door, 'collect', { clicks: clicksAt(Date.now()), consent: { analytics_storage: 'granted' } });
    await tell(door, 'collect', { clicks: clicksAt(Date.now()), consent: DENIED });
    expect(await visitorEvents(door)).toEqual([]);
    expect((await opening((await convert(door, email)).id)).data).toMatchObject({
      consent: 'denied',
      withheld: 'consent_missing',
    });
    await identify(door, email, { consent: GRANTED });
    expect((await opening((await convert(door, email)).id)).data).toMatchObject({ consent: 'granted', matched: true });
  });

  it('withholds everything where the site says so', async () => {
    const door = await openSite({ withhold: 'everything' });
    await connect(door, PLATFORMS);
    const email = somebody();
    await identify(door, email, { consent: DENIED });
    const { results } = await convert(door, email);
    for (const result of Object.values(results))
      expect(result).toEqual({ ok: false, status: 'skipped', reason: 'consent_denied' });
    expect(await toldTo(door)).toEqual({});
  });
});

describe('bots', () => {
  const CRAWLER = {
    headers: { 'User-Agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' },
  };

  it('are counted once a visit, and what they convert is filtered, never by the CRM’s own User-Agent', async () => {
    const door = await openSite();
    const email = somebody();
    const visit = randomUUID();
    await tell(door, 'collect', { visit }, CRAWLER);
    await identify(door, email, { visit }, CRAWLER);
    await identify(door, email, { visit, clicks: {} }, CRAWLER);
    const detected = (await visitorEvents(door)).filter(({ type }) => type === 'visitor.bot_detected.v1');
    expect(detected).toHaveLength(1);
    expect(detected[0]?.data).toMatchObject({
      visit,
      mode: 'enforce',
      score: 90,
      reasons: ['declared_crawler'],
      list: expect.any(String),
    });
    const { reply, id } = await convert(door, email);
    expect(JSON.parse(reply.body)).toEqual({ ok: true, filtered: true });
    expect(await opening(id)).toMatchObject({
      type: 'conversion.filtered.v1',
      data: { reason: 'bot', bot: { score: 90 }, judged: true },
    });
    // An HTTP client posts for somebody who was never judged.
    const headers = { 'User-Agent': 'curl/8.0', 'X-Forwarded-Proto': 'https' };
    const honest = await post(service, door, { email: somebody(), event: 'lead' }, { headers });
    expect(JSON.parse(honest.body)).toMatchObject({ ok: true, event: 'lead' });
  });

  it('are only observed where the site says so, and a conversion then counts as a false positive', async () => {
    const door = await openSite({ 'bot-mode': 'observe' });
    const email = somebody();
    await identify(door, email, {}, CRAWLER);
    const { reply, id } = await convert(door, email);
    expect(JSON.parse(reply.body)).toEqual({ ok: true, event: 'purchase', results: {} });
    expect((await opening(id)).data).toMatchObject({ matched: true, bot: { score: 90 }, judged: true });
    const [rate] = await matchRates(door);
    expect(rate).toMatchObject({ conversions: 1, matched: 1, judged: 1 });
  });

  it.each([
    ['an address', { 'block-ip': '203.0.113.0/24' }, {}, 'blocked_ip'],
    ['a User-Agent', { 'block-ua': 'chrome/150' }, {}, 'blocked_user_agent'],
    ['a country, where the proxy tells it', { 'block-country': 'NZ' }, { 'X-Country': 'nz' }, 'blocked_country'],
  ])('are whoever the site says: %s', async (_, settings, headers, reason) => {
    const door = await openSite(settings);
    await identify(door, somebody(), {}, { headers });
    const events = await visitorEvents(door);
    expect(events.find(({ type }) => type === 'visitor.bot_detected.v1')?.data['reasons']).toContain(reason);
  });

  it('are nobody whose address the site allows', async () => {
    const door = await openSite({ 'allow-ip': PERSON_IP });
    await identify(door, somebody(), {}, CRAWLER);
    expect(types(await visitorEvents(door))).toEqual(['visitor.identified.v1']);
  });
});

async function matchRates(door: TestSite) {
  const runner = new ProjectionRunner(operator.postgres, [matchRateProjection]);
  await runner.catchUp('match_rate');
  const { rows } = await operator.postgres.pool.query(
    'SELECT conversions::int, matched::int, late::int, judged::int FROM cc.match_rate WHERE site = $1',
    [door.host],
  );
  return rows;
}

describe('a visit that is identified after its conversion', () => {
  const GA4 = PLATFORM_CASES.filter(({ platform }) => ['ga4', 'meta'].includes(platform.name)).map((about) => ({
    ...about,
    connection: { ...about.connection, settings: withoutSynthetic(about.connection.settings) },
  }));

  function withoutSynthetic({ synthetic_client_id: _, ...settings }: Readonly<Record<string, string>>) {
    return settings;
  }

  async function skippedSite(): Promise<{ door: TestSite; email: string; id: string }> {
    const door = await openSite();
    await connect(door, GA4);
    const email = somebody();
    const { results, id } = await convert(door, email);
    expect(results['ga4']).toEqual({ ok: false, status: 'skipped', reason: 'no_client_identifier' });
    expect(results['meta']).toMatchObject({ ok: true });
    return { door, email, id };
  }

  it('opens what was skipped for want of it, and nothing that a platform took', async () => {
    const { door, email, id } = await skippedSite();
    await identify(door, email, { first: { t: Date.now() - 3_600_000, page: `https://${door.host}/` } });
    const chain = await eventually(
      () => operator.log.readStream('conversion', id),
      (events) => events.some(({ type, data }) => type === 'conversion.accepted.v1' && data['platform'] === 'ga4'),
    );
    const reopened = chain.filter(({ type }) => type === 'conversion.reopened.v1');
    const visited = (await visitorEvents(door)).find(({ type }) => type === 'visitor.identified.v1');
    expect(reopened.map(({ data }) => data)).toEqual([
      expect.objectContaining({ conversionId: id, platform: 'ga4', by: visited?.position, attempt: 1 }),
    ]);
    expect(chain.filter(({ data }) => data['platform'] === 'meta')).toHaveLength(1);
    expect((await toldTo(door))['ga4']).toContain(COOKIES._ga);
    expect((await matchRates(door))[0]).toMatchObject({ conversions: 1, matched: 1, late: 1 });
    // Once more the same: nothing is wanting any more.
    await identify(door, email);
    await sleep(2_500);
    expect(await operator.log.readStream('conversion', id)).toHaveLength(chain.length);
  });

  it('opens also what was skipped only after the visit had been looked at', async () => {
    const { door, email, id } = await skippedSite();
    // The same once more, as by an instance that is slow to write down what became of it.
    const [received, ...outcomes] = await operator.log.readStream('conversion', id);
    const skipped = outcomes.find(({ data }) => data['platform'] === 'ga4');
    const conversionId = randomUUID();
    const write = ({ type, data, personal }: StoredEvent, expected: 'new' | number) =>
      operator.log.append({
        ...{ category: 'conversion', stream: conversionId, expected, site: door.host, actor: 'system' },
        events: [{ type, data: { ...data, conversionId, instance: 'slow' }, ...(personal && { personal }) }],
      });
    const reopened = (stream: string) =>
      eventually(
        () => operator.log.readStream('conversion', stream),
        (events) => events.some(({ type }) => type === 'conversion.reopened.v1'),
      );
    await write(received as StoredEvent, 'new');
    await identify(door, email, { first: { t: Date.now() - 3_600_000, page: `https://${door.host}/` } });
    // The first one is open again: whoever looks for visits has been past this one.
    await reopened(id);
    await write(skipped as StoredEvent, 1);
    const visited = (await visitorEvents(door)).find(({ type }) => type === 'visitor.identified.v1');
    expect((await reopened(conversionId))[2]?.data).toMatchObject({ platform: 'ga4', by: visited?.position });
  });

  it('does not when it began after the conversion, when the person said no, or when it was a bot’s', async () => {
    const later = await skippedSite();
    const denied = await skippedSite();
    const bot = await skippedSite();
    const then = { first: { t: Date.now() - 3_600_000, page: 'https://x.example/' } };
    await identify(later.door, later.email, { clicks: clicksAt(Date.now()), first: undefined });
    await identify(denied.door, denied.email, { ...then, consent: { gpc: true } });
    await identify(bot.door, bot.email, then, { headers: { 'User-Agent': 'curl/8.0' } });
    await sleep(3_500);
    for (const { id } of [later, denied, bot])
      expect(types(await operator.log.readStream('conversion', id))).not.toContain('conversion.reopened.v1');
  });
});

describe('erasure', () => {
  const run = (...argv: string[]) => {
    const stdout = new PassThrough();
    const env = { DATABASE_URL: databaseUrl, SECRET_KEY: '0'.repeat(64), DATA_DIR: dataDir, ERASURE_LIST: listed };
    const said = text(stdout);
    return runCli([...argv, '--json'], { env, stdout, stderr: new PassThrough().resume() }).then(async (exitCode) => {
      stdout.end();
      return { exitCode, printed: JSON.parse((await said) || 'null') };
    });
  };
  const dataDir = mkdtempSync(join(tmpdir(), 'cc-erasures-'));
  const listed = join(dataDir, 'of the command line');
  afterAll(() => rmSync(dataDir, { recursive: true }));

  /** Everything that can be read in any row of any table. */
  async function everything(): Promise<string> {
    const { rows } = await operator.postgres.pool.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c WHERE c.relnamespace IN ('cc'::regnamespace, 'cc_shadow'::regnamespace)
          AND c.relkind = 'r'`,
    );
    const owner = await operator.postgres.connectAsOwner('test');
    try {
      let all = '';
      for (const { name } of rows) {
        const { rows } = await owner.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
        all += rows.map(({ row }) => row).join('\n');
      }
      return all;
    } finally {
      await owner.end();
    }
  }

  it('of 100 of 1,000 people, under load and beside rebuilds, leaves nothing of them to read, and all totals', async () => {
    const door = await openSite();
    const crowd = Array.from({ length: 1_000 }, somebody);
    const visitors = new Map(crowd.map((email) => [email, randomUUID()] as const));
    await runConcurrently(20, crowd, async (email, index) => {
      const ip = `198.18.${index >> 8}.${index & 255}`;
      const headers = { 'X-Forwarded-For': ip };
      const visitor = visitors.get(email);
      // First unknown, then known: the first visit goes with the second.
      const before = { visitor, clicks: { gclid: { id: `Before-${index}`, t: Date.now() - 1_000 } } };
      await tell(door, 'collect', before, { headers });
      await identify(
        door,
        email,
        { visitor, clicks: { fbclid: { id: `Click-${index}`, t: Date.now() } } },
        { headers },
      );
      // Some without an order, so that the duplicate's key is made of the person.
      await convert(door, email, index % 2 ? { orderId: undefined } : {});
    });
    const before = await visitorEvents(door);
    const conversions = await operator.conversions(door.host);
    const erased = crowd.filter((_, index) => index % 10 === 0);
    let loading = true;
    const load = (async () => {
      for (let each = 0; loading; each += 1) {
        const email = crowd[(each * 10 + 5) % 1_000] as string;
        await identify(door, email, { visitor: visitors.get(email) });
        await convert(door, email);
      }
    })();
    const runner = new ProjectionRunner(
      operator.postgres,
      allProjections(new SiteSecrets(operator.postgres.pool, new Sealer(Buffer.alloc(32)))).filter(
        ({ name }) => name !== 'dedup',
      ),
    );
    let rebuilding = true;
    const rebuild = (async () => {
      while (rebuilding) {
        for (const name of ['identifiers', 'consent', 'unmatched']) await runner.rebuild(name);
        await sleep(100);
      }
    })();
    const list = new ErasureList(join(dataDir, 'erasures'), new Sealer(Buffer.alloc(32)));
    const erasure = new Erasure(operator.postgres, operator.log, list);
    const taken = await runConcurrently(4, erased, (email) => erasure.erase(door.host, subject(email)));
    expect(new Set(taken.map(({ events }) => events))).toEqual(new Set([3]));
    loading = false;
    rebuilding = false;
    await Promise.all([load, rebuild]);
    for (const name of ['identifiers', 'consent', 'unmatched']) await runner.rebuild(name);

    const readable = await everything();
    const index = new Map(crowd.map((email, index) => [email, index] as const));
    for (const email of erased) {
      const number = index.get(email);
      for (const trace of [subject(email), `Before-${number}"`, `Click-${number}"`, visitors.get(email) as string])
        expect(readable).not.toContain(trace);
    }
    const kept = crowd.find((_, index) => index % 10 === 1) as string;
    expect(readable).toContain(subject(kept));
    expect(readable).not.toMatch(/person-\d+@/);
    // What happened stands, without whom: the same events, and their totals.
    const now = await visitorEvents(door);
    expect(now.slice(0, before.length).map(({ id, data }) => ({ id, data }))).toEqual(
      before.map(({ id, data }) => ({ id, data })),
    );
    expect(now.filter(({ type }) => type === 'visitor.erased.v1')).toHaveLength(100);
    const after = await operator.conversions(door.host);
    expect(after.slice(0, conversions.length).map(({ id }) => id)).toEqual(conversions.map(({ id }) => id));
    expect(after.filter(({ personal }) => personal === null).length).toBe(100);
    // Erased people begin anew.
    const again = await convert(door, erased[0] as string);
    expect((await opening(again.id)).data).not.toHaveProperty('matched');
  });

  it('is run again from its list after a backup brought somebody back', async () => {
    const door = await openSite();
    const email = somebody();
    await identify(door, email);
    const first = await run('visitors', 'erase', '--site', door.host, '--email', ` ${email.toUpperCase()}`);
    expect(first).toMatchObject({ exitCode: 0, printed: { site: door.host, events: 1 } });
    expect((await run('visitors', 'show', '--site', door.host, '--email', email)).exitCode).toBe(1);
    await identify(door, email);
    const { printed } = await run('visitors', 'show', '--site', door.host, '--email', email);
    expect(printed).toMatchObject({ subject: subject(email), clicks: { gclid: { id: CLICKS.gclid } }, consent: null });
    const rerun = await run('visitors', 'erase', '--rerun');
    expect(rerun.printed).toMatchObject({ events: 1, identifiers: expect.any(Number) });
    expect((await run('visitors', 'show', '--site', door.host, '--email', email)).exitCode).toBe(1);
    // The list names nobody to whoever finds it.
    expect(readFileSync(listed, 'utf8')).not.toContain(subject(email));
  });
});

describe('what is kept of visitors', () => {
  it('can be thrown away and is the same again', async () => {
    const runner = new ProjectionRunner(operator.postgres, [identifiersProjection, consentProjection]);
    const rows = async () => {
      const { rows } = await operator.postgres.pool.query<{ row: string }>(
        'SELECT i::text AS row FROM cc.identifiers i UNION ALL SELECT c::text FROM cc.consent c ORDER BY 1',
      );
      return rows.map(({ row }) => row);
    };
    const live = await rows();
    expect(live.length).toBeGreaterThan(50);
    for (const name of runner.names()) await runner.rebuild(name);
    expect(await rows()).toEqual(live);
  });
});
