import { hash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { allProjections } from '../src/app/projections.js';
import { Sealer } from '../src/kernel/sealing.js';
import type { StoredEvent } from '../src/log/event.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import type { Visit } from '../src/platforms/conversion.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { StateConsent } from '../src/visitors/change-consent.command.js';
import { StateConsentHandler } from '../src/visitors/change-consent.handler.js';
import { EraseSubject } from '../src/visitors/erasure/erase-subject.command.js';
import { EraseSubjectHandler } from '../src/visitors/erasure/erase-subject.handler.js';
import { Erasure } from '../src/visitors/erasure/erasure.js';
import { openErasureList } from '../src/visitors/erasure/erasure-list.js';
import { consentProjection, identifiersProjection } from '../src/visitors/inline.projections.js';
import { matchRateProjection } from '../src/visitors/match-rate.projection.js';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folders.js';
import { type LooseEvent, loosely } from './support/loose-event.js';
import { PLATFORM_CASES, type PlatformCase } from './support/platform-cases.js';
import { SECRET_KEY } from './support/secret-key.js';
import {
  conversionId,
  metrics,
  post,
  type Reply,
  type RequestOptions,
  send,
  startTestService,
  type TestSite,
  useService,
} from './support/service.js';
import { BROWSER, callTag, visitorCookie } from './support/tag-calls.js';
import { eventually, runConcurrently } from './support/waiting.js';

const PERSON_IP = '203.0.113.77';

/** One of each kind, all distinct; in mixed case, which must be preserved. */
const CLICKS = {
  gclid: 'Gclid_One',
  fbclid: 'FbClid_One',
  ttclid: 'TtClid_One',
  // Microsoft's ids have 32 hexadecimal digits; other values are not sent.
  msclkid: 'a1b2c3d4e5f60718293a4b5c6d7e8f90',
  twclid: 'TwClid_One',
  li_fat_id: 'LiFatId_One',
  sccid: 'ScCid_One',
  rdt_cid: 'RdtCid_One',
  epik: 'Epik_One',
};
/** Each platform receives only its own click ids; the customer's webhook receives all of them. */
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

/** The innermost first field as JSON text. */
function firstLeaf(value: object): string {
  const [[name, inner]] = Object.entries(value) as [[string, unknown]];
  const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
  return isObject ? firstLeaf(inner) : JSON.stringify({ [name]: inner }).slice(1, -1);
}

/** Each platform once, with its default settings. */
const PLATFORMS = PLATFORM_CASES.filter(
  ({ name, platform }) => name === platform.name && platform.definition === undefined,
);
const COOKIES = { _fbp: 'fb.1.1700000000000.123456789', _ga: '111111111.1700000000', _ttp: 'TtpCookieOne' };

const { databaseUrl, operator, service, openSite } = await useService({
  // So that tests can choose the client address.
  TRUSTED_PROXIES: '127.0.0.1',
  COUNTRY_HEADER: 'X-Country',
  COLLECT_BURST: '500',
});
const sandbox = await new Sandbox().start();
afterAll(() => sandbox.stop());

const subject = (email: string) => hash('sha256', email.trim().toLowerCase());
let people = 0;
const newEmail = () => `person-${++people}@example.com`;

const tag = (site: TestSite, call: string, message: object = {}, options: RequestOptions = {}) =>
  callTag(service, site, call, message, options);

/** The options with which the same browser sends its next request. */
function cookieOf(reply: Reply): { headers: Record<string, string> } {
  return { headers: { Cookie: visitorCookie(reply) } };
}

const clicksAt = (timeMs: number) =>
  Object.fromEntries(Object.entries(CLICKS).map(([kind, id]) => [kind, { id, t: timeMs }]));

/** A visitor with clicks enters an email. */
function identify(site: TestSite, email: string, message: object = {}, options: RequestOptions = {}): Promise<Reply> {
  const clicks = clicksAt(Date.now() - 60_000);
  const page = `https://www.${site.host}/landing?gclid=x&email=jane%40example.com#top`;
  const first = { t: Date.now() - 90_000, page, utm: { source: 'newsletter' } };
  const visit = { page, first, clicks, cookies: COOKIES, utm: { source: 'google', campaign: 'Spring' } };
  return tag(site, 'identify', { hash: subject(email), ...visit, ...message }, options);
}

let orders = 0;
async function convert(
  site: TestSite,
  email: string,
  fields: object = {},
): Promise<{ reply: Reply; id: string; results: Results }> {
  const body = { email, event: 'purchase', value: 10, currency: 'EUR', orderId: `V-${++orders}`, ...fields };
  const reply = await post(service, site, body, { headers: { 'X-Forwarded-Proto': 'https' } });
  return { reply, id: conversionId(reply), results: JSON.parse(reply.body).results };
}
type Results = Record<string, { ok: boolean; status: string; reason?: string }>;

async function connect(site: TestSite, cases: readonly PlatformCase[]): Promise<void> {
  for (const { platform, connection } of cases) {
    const set = { ...connection.settings, ...connection.secrets };
    await operator.connect(site.host, platform.name, set, `${sandbox.url}/${platform.name}@${tenantOf(site)}`);
  }
  await service.refreshSites();
}

const tenantOf = (site: TestSite) => site.host.split('.')[0];

/** The request bodies that each platform received, concatenated. */
async function sentTo(site: TestSite): Promise<Record<string, string>> {
  const response = await fetch(`${sandbox.url}/ledger?tenant=${tenantOf(site)}`);
  const ledger = (await response.json()) as { recent: { platform: string; body: string }[] };
  const bodies: Record<string, string> = {};
  for (const { platform, body } of ledger.recent) bodies[platform] = (bodies[platform] ?? '') + body;
  return bodies;
}

const visitorEvents = async (site: TestSite) =>
  loosely(await operator.log.read({ categories: ['visitor'], site: site.host }));
const types = (events: readonly LooseEvent[]) => events.map(({ type }) => type);
const opening = async (id: string) => (await operator.conversion(id)) as LooseEvent;

describe('GET /__cc/tag.js', () => {
  const get = (site: TestSite, headers: Record<string, string> = {}, method = 'GET', path = '/__cc/tag.js') =>
    send(service, {
      method,
      path,
      headers: { Host: site.host, 'X-Forwarded-Proto': 'https', ...headers },
    });

  it('returns the tag with the site’s settings, cacheable by browsers', async () => {
    const site = await openSite();
    const reply = await get(site);
    expect(reply.status).toBe(200);
    expect(reply.type).toBe('text/javascript; charset=utf-8');
    expect(reply.headers['cache-control']).toMatch(/^public, max-age=\d+$/);
    expect(reply.body).toContain('"required":false,"capture":true,"days":90');
    const again = await get(site, { 'If-None-Match': reply.headers.etag as string });
    expect([again.status, again.body]).toEqual([304, '']);

    await operator.set(site.host, 'consent-required', 'yes');
    await operator.set(site.host, 'email-capture', 'no');
    await service.refreshSites();
    const changed = await get(site, { 'If-None-Match': reply.headers.etag as string });
    expect(changed.status).toBe(200);
    expect(changed.body).toContain('"required":true,"capture":false,"days":90');
  });

  it('is at most 6 kB with gzip', async () => {
    const reply = await get(await openSite(), { 'Accept-Encoding': 'gzip, br' });
    expect(reply.headers['content-encoding']).toBe('gzip');
    expect(Number(reply.headers['content-length'])).toBeLessThanOrEqual(6_000);
    expect(reply.headers.vary).toContain('Accept-Encoding');
  });

  it('exists only at the host of a site, over HTTPS, for GET', async () => {
    const site = await openSite();
    expect((await get({ ...site, host: 'unknown.example' })).status).toBe(404);
    expect((await get(site, { 'X-Forwarded-Proto': 'http' })).status).toBe(403);
    expect((await get(site, {}, 'POST')).status).toBe(405);
  });

  it.each(['tag.js/x', 'collect/x', 'identify/', 'consent/x'])(
    'and the tag’s endpoints have nothing below them: %s',
    async (path) => {
      const site = await openSite();
      for (const method of ['GET', 'POST']) expect((await get(site, {}, method, `/__cc/${path}`)).status).toBe(404);
      expect((await get(site, {}, 'GET', '/__cc/tag.js?v=2')).status).toBe(200);
    },
  );
});

describe('the tag’s endpoints', () => {
  it('accept calls of the site’s own pages and echo their origin', async () => {
    const site = await openSite({ origin: 'partner.example' });
    for (const origin of [
      `https://${site.host}`,
      `https://www.${site.host}`,
      'https://partner.example',
      'https://eu.partner.example:8443',
    ]) {
      const reply = await tag(site, 'collect', {}, { headers: { Origin: origin } });
      expect([reply.status, reply.headers['access-control-allow-origin'], reply.body]).toEqual([204, origin, '']);
      expect(reply.headers.vary).toContain('Origin');
      expect(reply.headers['access-control-allow-credentials']).toBe('true');
    }
  });

  it.each([
    ['another site', 'https://evil.example'],
    ['a host with the same suffix', 'https://evilpartner.example'],
    ['the site without TLS', 'http://partner.example'],
    ['a local file', 'null'],
    ['a host in the userinfo part', 'https://partner.example@evil.example'],
    ['no origin', undefined],
  ])('reject %s without CORS headers', async (_, origin) => {
    const site = await openSite({ origin: 'partner.example' });
    const reply = await identify(site, newEmail(), {}, { headers: { Origin: origin } });
    expect(reply.status).toBe(403);
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    expect(reply.headers).not.toHaveProperty('access-control-allow-credentials');
    expect(reply.headers).not.toHaveProperty('set-cookie');
    if (origin) expect(reply.body).not.toContain(origin);
    expect(await visitorEvents(site)).toEqual([]);
  });

  it('answer a preflight only of the site’s pages', async () => {
    const site = await openSite();
    const preflight = (Origin: string) =>
      tag(site, 'identify', {}, { method: 'OPTIONS', body: '', headers: { Origin } });
    const reply = await preflight(`https://${site.host}`);
    expect([reply.status, reply.headers['access-control-allow-methods']]).toEqual([204, 'POST']);
    expect((await preflight('https://evil.example')).headers).not.toHaveProperty('access-control-allow-methods');
  });

  it.each([
    ['405 to another method', 405, { method: 'GET', body: '' }],
    ['415 to another content type', 415, { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }],
    ['415 to a compressed body', 415, { headers: { 'Content-Encoding': 'gzip' } }],
    ['413 to a body that is too large', 413, { body: JSON.stringify({ v: 1, page: 'x'.repeat(9_000) }) }],
    ['400 to a body that is not JSON', 400, { body: '{"v":1' }],
    ['400 to another message version', 400, { body: '{"v":2}' }],
    ['400 to a NUL character', 400, { body: '{"v":1,"page":"\\u0000"}' }],
  ])('answer %s', async (_, status, options) => {
    const site = await openSite();
    const reply = await tag(site, 'collect', {}, options);
    expect(reply.status).toBe(status);
    expect(reply.type).toBe('text/plain; charset=utf-8');
    expect(await visitorEvents(site)).toEqual([]);
  });

  it('throttle each client address separately', async () => {
    const limited = await startTestService(databaseUrl, {
      TRUSTED_PROXIES: '127.0.0.1',
      COLLECT_RATE: '1',
      COLLECT_BURST: '5',
    });
    try {
      const site = await openSite();
      await limited.refreshSites();
      const call = (ip: string) => callTag(limited, site, 'collect', {}, { headers: { 'X-Forwarded-For': ip } });
      const replies = [];
      for (let each = 0; each < 8; each += 1) replies.push((await call('198.51.100.1')).status);
      expect(replies.slice(0, 5)).toEqual([204, 204, 204, 204, 204]);
      expect(replies.slice(6)).toEqual([429, 429]);
      expect((await call('198.51.100.2')).status).toBe(204);
    } finally {
      await limited.stop();
    }
  });

  it('answer 429 once a daily budget is used up, store nothing then, and count it', async () => {
    const limited = await startTestService(databaseUrl, {
      TRUSTED_PROXIES: '127.0.0.1',
      TAG_BUDGET_ADDRESS: '2/100/1',
      TAG_BUDGET_PERSON: '3',
    });
    try {
      const site = await openSite();
      await limited.refreshSites();
      const call = async (email: string, ip: string) => {
        const headers = { 'X-Forwarded-For': ip };
        const reply = await callTag(limited, site, 'identify', { hash: subject(email) }, { headers });
        return [reply.status, reply.headers['retry-after'] !== undefined];
      };
      const [jane, ...others] = [newEmail(), newEmail(), newEmail()] as [string, string, string];
      for (const email of [jane, others[0]]) expect(await call(email, '198.51.100.1')).toEqual([204, false]);
      expect(await call(others[1], '198.51.100.1')).toEqual([429, true]);
      for (const ip of ['198.51.100.2', '198.51.100.3']) expect(await call(jane, ip)).toEqual([204, false]);
      expect(await call(jane, '198.51.100.4')).toEqual([429, true]);
      const identified = (await visitorEvents(site)).filter(({ type }) => type === 'visitor.identified.v1');
      expect(identified).toHaveLength(4);
      const counted = await metrics(limited);
      expect(counted.get('cc_tag_budget_exceeded_total{scope="address",limit="emails"}')).toBe(1);
      expect(counted.get('cc_tag_budget_exceeded_total{scope="person",limit="calls"}')).toBe(1);
    } finally {
      await limited.stop();
    }
  });

  it('store no raw email and no query of a page', async () => {
    const site = await openSite();
    await identify(site, newEmail(), {
      utm: { source: 'jane@example.com', medium: 'cpc' },
      referrer: 'https://mail.example/inbox/jane%40example.com?q=1',
    });
    const [event] = await visitorEvents(site);
    expect(JSON.stringify(event)).not.toMatch(/jane|%40|\?/);
    expect(event?.personal).toMatchObject({
      page: `https://www.${site.host}/landing`,
      referrer: 'https://mail.example/',
      utm: { medium: 'cpc' },
    });
    expect(JSON.stringify(event?.data)).not.toMatch(/203\.0\.113|Mozilla|One|[0-9a-f]{64}/);
  });

  it('store a page view with click ids or campaign fields, and no other', async () => {
    const site = await openSite();
    await tag(site, 'collect');
    expect(await visitorEvents(site)).toEqual([]);
    await tag(site, 'collect', { utm: { source: 'google' } });
    await tag(site, 'collect', { clicks: { gclid: { id: 'G', t: Date.now() } } });
    expect(types(await visitorEvents(site))).toEqual(['visitor.visited.v1', 'visitor.visited.v1']);
  });
});

describe('a conversion of a known visitor', () => {
  it('contains the click as soon as the tag’s call is answered', async () => {
    const site = await openSite();
    const email = newEmail();
    expect((await identify(site, email)).status).toBe(204);
    const { id } = await convert(site, email);
    const { data, personal } = await opening(id);
    expect(data).toMatchObject({ matched: true, consent: 'unknown' });
    expect(personal?.['visit']).toMatchObject({
      pageUrl: `https://www.${site.host}/landing`,
      ip: PERSON_IP,
      userAgent: BROWSER,
      clicks: { gclid: { id: CLICKS.gclid } },
      cookies: COOKIES,
      utm: { source: 'google', campaign: 'Spring' },
    });
  });

  it('uses the newest click of each kind in any order of arrival, and drops expired ones', async () => {
    const site = await openSite();
    const email = newEmail();
    const visitor = cookieOf(await tag(site, 'collect'));
    const DAY_MS = 24 * 60 * 60 * 1_000;
    const now = Date.now();
    const click = (kind: string, id: string, ageDays: number) => ({
      clicks: { [kind]: { id, t: now - ageDays * DAY_MS } },
    });
    const report = (fields: object) => identify(site, email, fields, visitor);
    await report(click('gclid', 'newer', 3));
    await report(click('gclid', 'older', 5));
    await report(click('msclkid', 'expired', 91));
    await report(click('ttclid', 'expired at TikTok', 29));
    await report(click('fbclid', 'from the future', -2));
    const { personal } = await opening((await convert(site, email)).id);
    const { clicks } = (personal as unknown as { visit: Visit }).visit;
    expect(clicks.gclid).toEqual({ id: 'newer', timeMs: now - 3 * DAY_MS });
    expect(Object.keys(clicks).sort()).toEqual(['fbclid', 'gclid']);
    // Not later than its arrival: a wrong clock must not extend the lifetime of a click.
    expect(clicks.fbclid?.timeMs).toBeLessThan(now + DAY_MS);
  });

  it('is not matched to a visit after it occurred', async () => {
    const site = await openSite();
    const email = newEmail();
    await identify(site, email);
    const secondsAgo = async (seconds: number) =>
      opening((await convert(site, email, { occurredAt: Date.now() / 1_000 - seconds })).id);
    expect((await secondsAgo(3_600)).data).not.toHaveProperty('matched');
    expect((await secondsAgo(1)).personal?.['visit']).toMatchObject({ clicks: { gclid: { id: CLICKS.gclid } } });
  });

  it('is not matched to a visit of another site', async () => {
    const [site, other] = [await openSite(), await openSite()];
    const email = newEmail();
    await identify(other, email);
    expect((await opening((await convert(site, email)).id)).data).not.toHaveProperty('matched');
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
  const CONSENT = {
    granted: GRANTED,
    denied: DENIED,
    gpc: { gpc: true },
    absent: undefined,
    unreadable: GRANTED,
  } as const;
  const { sccid, ...others } = CLICKS;
  const BY_SENDER = {
    clickIds: { ...others, ScCid: sccid },
    ipAddress: '203.0.113.77',
    userAgent: 'Mozilla/5.0 (X11)',
  };
  type Case = keyof typeof CONSENT;
  const cases = (Object.keys(CONSENT) as Case[]).flatMap((consentCase) =>
    (['tag', 'sender', 'none'] as const).map((statedBy) => [consentCase, statedBy] as const),
  );

  /** Makes the table of consent unreadable while `work` runs. */
  async function withoutConsentTable(work: () => Promise<void>): Promise<void> {
    await operator.postgres.pool.query('SELECT 1');
    const owner = await operator.postgres.connectAsOwner('test');
    try {
      await owner.query('ALTER TABLE cc.consent RENAME TO consent_renamed');
      await work();
    } finally {
      await owner.query('ALTER TABLE cc.consent_renamed RENAME TO consent');
      await owner.end();
    }
  }

  it.each(cases)(
    '%s, with clicks stated by: %s — every platform receives what consent permits',
    async (consentCase, statedBy) => {
      const site = await openSite();
      await connect(site, PLATFORMS);
      const email = newEmail();
      await identify(site, email, statedBy === 'tag' ? {} : { clicks: {} });
      const consent = CONSENT[consentCase];
      if (consent) await tag(site, 'consent', { hash: subject(email), consent });
      let results: Results = {};
      let id = '';
      const work = async () => {
        ({ results, id } = await convert(site, email, statedBy === 'sender' ? BY_SENDER : {}));
      };
      await (consentCase === 'unreadable' ? withoutConsentTable(work) : work());
      const sent = await sentTo(site);
      const isWithheld = consentCase !== 'granted' && consentCase !== 'absent';
      const isDenied = consentCase === 'denied' || consentCase === 'gpc';
      const { data, personal } = await opening(id);
      expect(data['withheld']).toBe(
        isDenied ? 'opted_out' : consentCase === 'unreadable' ? 'consent_unreadable' : undefined,
      );
      expect(personal?.['visit'] !== undefined).toBe(!isWithheld);
      for (const { platform, optOut } of PLATFORMS) {
        const body = sent[platform.name] ?? '';
        const carried = Object.values(CLICKS).filter((click) => body.includes(click));
        const own = OWN_CLICKS[platform.name] ?? [];
        expect([platform.name, carried]).toEqual([platform.name, statedBy !== 'none' && !isWithheld ? own : []]);
        if (isWithheld) expect(body).not.toMatch(/203\.0\.113|Mozilla|TtpCookieOne|1700000000000|landing|Spring/);
        const optOutField = optOut && firstLeaf(optOut);
        if (optOutField) expect([platform.name, body.includes(optOutField)]).toEqual([platform.name, isDenied]);
        else if (isDenied) expect([platform.name, body.includes(subject(email))]).toEqual([platform.name, false]);
        const result = results[platform.name];
        if (isDenied && platform.name === 'google_ads')
          expect(result).toMatchObject({ status: 'skipped', reason: 'consent_denied' });
      }
    },
  );

  it('applies as the same browser last changed it', async () => {
    const site = await openSite();
    const email = newEmail();
    await identify(site, email);
    const withheld = async () => (await opening((await convert(site, email)).id)).data['withheld'];
    const state = (consent: object, statement?: string) =>
      tag(site, 'consent', { hash: subject(email), consent, statement });
    const statement = randomUUID();
    await state(DENIED, statement);
    expect(await withheld()).toBe('opted_out');
    await state(GRANTED, statement);
    expect(await withheld()).toBeUndefined();
    await identify(site, email, { consent: { gpc: true } });
    expect(await withheld()).toBe('opted_out');
  });

  it('that was denied is not lifted by any other caller, only by the same browser or an operator', async () => {
    const site = await openSite();
    const email = newEmail();
    const statement = randomUUID();
    const data = async () => (await opening((await convert(site, email)).id)).data;
    await identify(site, email);
    await tag(site, 'consent', { hash: subject(email), consent: DENIED, statement });
    // With a cookie, with a statement id of its own, and with neither.
    const other = cookieOf(await tag(site, 'collect'));
    for (const options of [{}, other]) {
      await tag(site, 'consent', { hash: subject(email), consent: GRANTED }, options);
      await tag(site, 'consent', { hash: subject(email), consent: GRANTED, statement: randomUUID() }, options);
      await identify(site, email, { consent: GRANTED }, options);
    }
    expect(await data()).toMatchObject({ consent: 'denied', withheld: 'opted_out' });
    const operatorsStatement = new StateConsent('cli', site.host, subject(email), 'granted');
    await new StateConsentHandler(operator.log).execute(operatorsStatement);
    expect(await data()).toMatchObject({ consent: 'granted', matched: true });
    await tag(site, 'consent', { hash: subject(email), consent: DENIED });
    expect(await data()).toMatchObject({ consent: 'denied', withheld: 'opted_out' });
  });

  it('that a site requires is denied until granted, and nothing is stored before', async () => {
    const site = await openSite({ 'consent-required': 'yes' });
    const email = newEmail();
    await identify(site, email);
    await tag(site, 'collect', { clicks: clicksAt(Date.now()) });
    await tag(site, 'collect', { clicks: clicksAt(Date.now()), consent: { analytics_storage: 'granted' } });
    await tag(site, 'collect', { clicks: clicksAt(Date.now()), consent: DENIED });
    expect(await visitorEvents(site)).toEqual([]);
    expect((await opening((await convert(site, email)).id)).data).toMatchObject({
      consent: 'denied',
      withheld: 'consent_missing',
    });
    await identify(site, email, { consent: GRANTED });
    expect((await opening((await convert(site, email)).id)).data).toMatchObject({ consent: 'granted', matched: true });
  });

  it('withholds everything if the site is configured so', async () => {
    const site = await openSite({ withhold: 'everything' });
    await connect(site, PLATFORMS);
    const email = newEmail();
    await identify(site, email, { consent: DENIED });
    const { results } = await convert(site, email);
    for (const result of Object.values(results))
      expect(result).toEqual({ ok: false, status: 'skipped', reason: 'consent_denied' });
    expect(await sentTo(site)).toEqual({});
  });
});

describe('bots', () => {
  const CRAWLER = {
    headers: { 'User-Agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' },
  };

  it('are counted once per visit and filtered, but never by the CRM’s User-Agent', async () => {
    const site = await openSite();
    const email = newEmail();
    const visit = randomUUID();
    await tag(site, 'collect', { visit }, CRAWLER);
    await identify(site, email, { visit }, CRAWLER);
    await identify(site, email, { visit, clicks: {} }, CRAWLER);
    const detected = (await visitorEvents(site)).filter(({ type }) => type === 'visitor.bot_detected.v1');
    expect(detected).toHaveLength(1);
    expect(detected[0]?.data).toMatchObject({
      visit: expect.stringMatching(/^[0-9a-f-]{36}$/),
      mode: 'enforce',
      score: 90,
      reasons: ['declared_crawler'],
      list: expect.any(String),
    });
    const { reply, id } = await convert(site, email, { event: 'lead', orderId: undefined });
    expect(JSON.parse(reply.body)).toEqual({ ok: true, filtered: true });
    expect(await opening(id)).toMatchObject({
      type: 'conversion.filtered.v1',
      data: { reason: 'bot', bot: { score: 90 }, judged: true },
    });
    // Bots place no orders: the sale counts, without their identifiers.
    const order = await opening((await convert(site, email)).id);
    expect(order).toMatchObject({ type: 'conversion.received.v1', data: { judged: true, botVisitors: 2 } });
    expect(order.personal).not.toHaveProperty('visit');
    await operator.set(site.host, 'bot-filter', 'all');
    await service.refreshSites();
    expect((await opening((await convert(site, email)).id)).type).toBe('conversion.filtered.v1');
    // The sender is an HTTP client; the person has no verdict.
    const headers = { 'User-Agent': 'curl/8.0', 'X-Forwarded-Proto': 'https' };
    const person = await post(service, site, { email: newEmail(), event: 'lead' }, { headers });
    expect(JSON.parse(person.body)).toMatchObject({ ok: true, event: 'lead' });
  });

  it('do not have the conversions of a person filtered by calling with the hash of the email', async () => {
    const site = await openSite();
    const [seen, unseen] = [newEmail(), newEmail()];
    await identify(site, seen);
    for (const email of [seen, unseen]) {
      await identify(site, email, { clicks: { gclid: { id: 'Hostile', t: Date.now() } } }, CRAWLER);
      expect((await opening((await convert(site, email)).id)).type).toBe('conversion.received.v1');
    }
    const lead = await opening((await convert(site, seen, { event: 'lead', orderId: undefined })).id);
    expect(lead).toMatchObject({ type: 'conversion.received.v1', data: { matched: true, botVisitors: 1 } });
    expect(lead.personal?.['visit']).toMatchObject({ clicks: { gclid: { id: CLICKS.gclid } } });
  });

  it('are received in observe mode and counted as false positives', async () => {
    const site = await openSite({ 'bot-mode': 'observe' });
    const email = newEmail();
    await identify(site, email, {}, CRAWLER);
    const { reply, id } = await convert(site, email);
    expect(JSON.parse(reply.body)).toEqual({ ok: true, event: 'purchase', results: {} });
    expect((await opening(id)).data).toMatchObject({ matched: true, bot: { score: 90 }, judged: true });
    const [rate] = await matchRates(site);
    expect(rate).toMatchObject({ conversions: 1, matched: 1, judged: 1 });
  });

  it.each([
    ['an address', { 'block-ip': '203.0.113.0/24' }, {}, 'blocked_ip'],
    ['a User-Agent', { 'block-ua': 'firefox/115' }, {}, 'blocked_user_agent'],
    ['a country, from the proxy’s header', { 'block-country': 'NZ' }, { 'X-Country': 'nz' }, 'blocked_country'],
  ])('are detected by the site’s own rules: %s', async (_, settings, headers, reason) => {
    const site = await openSite(settings);
    await identify(site, newEmail(), {}, { headers });
    const events = await visitorEvents(site);
    expect(events.find(({ type }) => type === 'visitor.bot_detected.v1')?.data['reasons']).toContain(reason);
  });

  it('are not detected at an allow-listed address', async () => {
    const site = await openSite({ 'allow-ip': PERSON_IP });
    await identify(site, newEmail(), {}, CRAWLER);
    expect(types(await visitorEvents(site))).toEqual(['visitor.identified.v1']);
  });
});

async function matchRates(site: TestSite) {
  const runner = new ProjectionRunner(operator.postgres, [matchRateProjection]);
  await runner.catchUp('match_rate');
  const { rows } = await operator.postgres.pool.query(
    'SELECT conversions::int, matched::int, late::int, judged::int FROM cc.match_rate WHERE site = $1',
    [site.host],
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

  /** Resolves once the late-match scan has passed the current head of the log. The lease row holds its position. */
  async function lateMatchesCaughtUp(): Promise<void> {
    const head = await operator.log.head();
    await eventually(
      async () => {
        const { rows } = await operator.postgres.pool.query<{ reached: string }>(
          `SELECT reached FROM cc.leases WHERE name = 'late-matches'`,
        );
        return Number(rows[0]?.reached);
      },
      (reached) => reached >= head,
    );
  }

  /** `visitor`: the cookie of a visitor that landed before the conversion. */
  async function skippedSite(): Promise<{ site: TestSite; email: string; id: string; visitor: RequestOptions }> {
    const site = await openSite();
    await connect(site, GA4);
    const email = newEmail();
    const visitor = cookieOf(await tag(site, 'collect'));
    const { results, id } = await convert(site, email);
    expect(results['ga4']).toEqual({ ok: false, status: 'skipped', reason: 'no_client_identifier' });
    expect(results['meta']).toMatchObject({ ok: true });
    return { site, email, id, visitor };
  }

  it('reopens deliveries skipped without it, and none that a platform accepted', async () => {
    const { site, email, id, visitor } = await skippedSite();
    await identify(site, email, {}, visitor);
    const chain = await eventually(
      async () => loosely(await operator.log.readStream('conversion', id)),
      (events) => events.some(({ type, data }) => type === 'conversion.accepted.v1' && data['platform'] === 'ga4'),
    );
    const reopened = chain.filter(({ type }) => type === 'conversion.reopened.v1');
    const visited = (await visitorEvents(site)).find(({ type }) => type === 'visitor.identified.v1');
    expect(reopened.map(({ data }) => data)).toEqual([
      expect.objectContaining({ conversionId: id, platform: 'ga4', by: visited?.position, attempt: 1 }),
    ]);
    expect(chain.filter(({ data }) => data['platform'] === 'meta')).toHaveLength(1);
    expect((await sentTo(site))['ga4']).toContain(COOKIES._ga);
    expect((await matchRates(site))[0]).toMatchObject({ conversions: 1, matched: 1, late: 1 });
    // A second visit reopens nothing.
    await identify(site, email, {}, visitor);
    await lateMatchesCaughtUp();
    expect(await operator.log.readStream('conversion', id)).toHaveLength(chain.length);
  });

  it('reopens deliveries skipped after the visit was scanned', async () => {
    const { site, email, id, visitor } = await skippedSite();
    // A copy of the conversion whose outcome is stored late, as by a slow instance.
    const [received, ...outcomes] = loosely(await operator.log.readStream('conversion', id));
    const skipped = outcomes.find(({ data }) => data['platform'] === 'ga4');
    const conversionId = randomUUID();
    const append = ({ type, data, personal }: StoredEvent, expected: 'new' | number) =>
      operator.log.append({
        ...{ category: 'conversion', stream: conversionId, expected, site: site.host, actor: 'system' },
        events: [{ type, data: { ...data, conversionId, instance: 'slow' }, ...(personal && { personal }) }],
      });
    const reopened = (stream: string) =>
      eventually(
        () => operator.log.readStream('conversion', stream),
        (events) => events.some(({ type }) => type === 'conversion.reopened.v1'),
      );
    await append(received as StoredEvent, 'new');
    await identify(site, email, {}, visitor);
    // Once the first conversion is reopened, the scan has passed the visit.
    await reopened(id);
    await append(skipped as StoredEvent, 1);
    const visited = (await visitorEvents(site)).find(({ type }) => type === 'visitor.identified.v1');
    expect((await reopened(conversionId))[2]?.data).toMatchObject({ platform: 'ga4', by: visited?.position });
  });

  it('reopens nothing if the service saw it only after the conversion, it lacks consent, or was a bot’s', async () => {
    const [later, unknown, denied, bot] = [
      await skippedSite(),
      await skippedSite(),
      await skippedSite(),
      await skippedSite(),
    ];
    // The browser states times before the conversion, which prove nothing.
    const earlier = {
      clicks: clicksAt(Date.now() - 3_600_000),
      first: { t: Date.now() - 3_600_000, page: 'https://x.example/' },
    };
    await identify(later.site, later.email, earlier, cookieOf(await tag(later.site, 'collect', earlier)));
    await identify(unknown.site, unknown.email, earlier);
    await identify(denied.site, denied.email, { ...earlier, consent: { gpc: true } }, denied.visitor);
    const headers = { ...bot.visitor.headers, 'User-Agent': 'curl/8.0' };
    await identify(bot.site, bot.email, earlier, { headers });
    await lateMatchesCaughtUp();
    for (const { id } of [later, unknown, denied, bot])
      expect(types(loosely(await operator.log.readStream('conversion', id)))).not.toContain('conversion.reopened.v1');
  });

  it('adds nothing to a conversion that was withheld, whatever the visitor grants later', async () => {
    const granted = { ad_storage: 'granted', ad_user_data: 'granted' };
    const undecided = { ad_storage: 'denied', ad_user_data: 'denied', undecided: true };
    const withheld: string[] = [];
    for (const [consent, sent] of [
      [undecided, {}],
      [undefined, { consent: { ad_storage: 'denied' } }],
    ] as const) {
      const site = await openSite();
      await connect(site, GA4);
      const email = newEmail();
      const visitor = cookieOf(await tag(site, 'collect'));
      if (consent) await tag(site, 'consent', { hash: subject(email), consent });
      const { results, id } = await convert(site, email, sent);
      expect(results['ga4']).toMatchObject({ status: 'skipped', reason: 'no_client_identifier' });
      withheld.push(id);
      await identify(site, email, { consent: granted, statement: randomUUID() }, visitor);
      const next = await convert(site, email);
      expect((await opening(next.id)).data).toMatchObject({ consent: 'granted', matched: true });
    }
    await lateMatchesCaughtUp();
    for (const id of withheld)
      expect(types(loosely(await operator.log.readStream('conversion', id)))).not.toContain('conversion.reopened.v1');
  });

  it('does not change the visit that a conversion was matched to', async () => {
    const site = await openSite();
    await connect(site, GA4);
    const email = newEmail();
    const other = cookieOf(await tag(site, 'collect', { clicks: clicksAt(Date.now()) }));
    await identify(site, email, { cookies: {}, clicks: {} });
    const { id, results } = await convert(site, email);
    expect(results['ga4']).toMatchObject({ status: 'skipped' });
    await identify(site, email, {}, other);
    await lateMatchesCaughtUp();
    expect(types(loosely(await operator.log.readStream('conversion', id)))).not.toContain('conversion.reopened.v1');
  });
});

describe('the visitor cookie', () => {
  it('is issued by the service, and by it alone is a visitor recognised', async () => {
    const site = await openSite();
    const first = await tag(site, 'collect', { clicks: clicksAt(Date.now()) });
    const visitor = cookieOf(first);
    expect(String(first.headers['set-cookie'])).toMatch(
      /^_ccv=1\.[\w-]+\.[\w-]+; Path=\/__cc\/; Max-Age=7776000; HttpOnly; SameSite=Lax; Secure$/,
    );
    const forged = { headers: { Cookie: String(visitor.headers?.['Cookie']).replace(/.$/, '!') } };
    const known = async (options: RequestOptions) => {
      await identify(site, newEmail(), {}, options);
      return (await visitorEvents(site)).at(-1)?.personal;
    };
    const identified = await known(visitor);
    expect(identified).toMatchObject({ known: true, clicks: { gclid: { landedMs: expect.any(Number) } } });
    expect((await known(visitor))?.['visitor']).toBe(identified?.['visitor']);
    for (const options of [forged, {}]) {
      const unknown = await known(options);
      expect(unknown?.['known']).toBe(false);
      expect(unknown?.['visitor']).not.toBe(identified?.['visitor']);
    }
  });

  it.each([
    ['before a required consent', { 'consent-required': 'yes' }, {}, {}],
    ['after a denial', {}, { consent: { ad_storage: 'denied' } }, {}],
    [
      'under Global Privacy Control',
      {},
      { consent: { ad_storage: 'granted', ad_user_data: 'granted' } },
      { 'Sec-GPC': '1' },
    ],
  ])('is not issued, and is deleted, %s', async (_, settings, message, headers) => {
    const [site, other] = [await openSite(settings), await openSite()];
    const existing = cookieOf(await tag(other, 'collect'));
    for (const call of ['collect', 'identify', 'consent']) {
      expect((await tag(site, call, message, { headers })).headers).not.toHaveProperty('set-cookie');
      const reply = await tag(site, call, message, { headers: { ...headers, ...existing.headers } });
      expect(String(reply.headers['set-cookie'])).toMatch(/^_ccv=; Path=\/__cc\/; Max-Age=0;/);
    }
  });

  it('is not needed to deny consent', async () => {
    const site = await openSite();
    const email = newEmail();
    await identify(site, email);
    await tag(site, 'collect', { hash: subject(email) }, { headers: { 'Sec-GPC': '1' } });
    expect((await opening((await convert(site, email)).id)).data).toMatchObject({ withheld: 'opted_out' });
  });
});

describe('erasure', () => {
  const dataDir = temporaryFolder('cc-erasures-');
  const listFile = join(dataDir, 'cli-erasures');
  const environment = { DATABASE_URL: databaseUrl, SECRET_KEY, DATA_DIR: dataDir, ERASURE_LIST: listFile };
  const { run, json } = commandLine(environment);

  /** The text of every row of every table. */
  async function allRows(): Promise<string> {
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

  it('has no id to look for that the browser keeps: events hold a digest of the visit', async () => {
    const site = await openSite();
    const [email, visit] = [newEmail(), randomUUID()];
    await tag(site, 'collect', { visit, clicks: { gclid: { id: 'Landing', t: Date.now() } } });
    await identify(site, email, { visit });
    const visits = (await visitorEvents(site)).map(({ data }) => data['visit']);
    expect(visits).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), visits[0]]);
    expect(await allRows()).not.toContain(visit);
  });

  it('of 30 of 300 people, under load and during rebuilds, leaves no trace of them and all totals', async () => {
    const site = await openSite();
    const emails = Array.from({ length: 300 }, newEmail);
    const visitors = new Map(emails.map((email) => [email, randomUUID()] as const));
    await runConcurrently(20, emails, async (email, index) => {
      const ip = `198.18.${index >> 8}.${index & 255}`;
      const headers = { 'X-Forwarded-For': ip };
      const visitor = visitors.get(email);
      // Anonymous first, then identified: the erasure must include the anonymous visit.
      const before = { visitor, clicks: { gclid: { id: `Before-${index}`, t: Date.now() - 1_000 } } };
      await tag(site, 'collect', before, { headers });
      await identify(
        site,
        email,
        { visitor, clicks: { fbclid: { id: `Click-${index}`, t: Date.now() } } },
        { headers },
      );
      // Some without an order, so that their dedup key is derived from the person.
      await convert(site, email, index % 2 ? { orderId: undefined } : {});
    });
    const before = await visitorEvents(site);
    const conversions = await operator.conversions(site.host);
    const erased = emails.filter((_, index) => index % 10 === 0);
    let loading = true;
    const load = (async () => {
      for (let each = 0; loading; each += 1) {
        const email = emails[(each * 10 + 5) % 300] as string;
        await identify(site, email, { visitor: visitors.get(email) });
        await convert(site, email);
      }
    })();
    const projections = allProjections(new SiteSecrets(operator.postgres.pool, new Sealer(Buffer.alloc(32))));
    // Without the service's key the dedup secrets cannot be read.
    const runner = new ProjectionRunner(
      operator.postgres,
      projections.filter(({ name }) => name !== 'dedup'),
    );
    let rebuilding = true;
    const rebuild = (async () => {
      while (rebuilding) {
        for (const name of ['identifiers', 'consent', 'unmatched']) await runner.rebuild(name);
        await sleep(100);
      }
    })();
    const { pool } = operator.postgres;
    const list = openErasureList(join(dataDir, 'erasures'), new Sealer(Buffer.alloc(32)), pool);
    const handler = new EraseSubjectHandler(new Erasure(operator.postgres, projections, async () => {}), list, {
      recordKey: async () => {},
    });
    const erase = (email: string) => handler.execute(new EraseSubject('cli', site.host, subject(email)));
    const counts = await runConcurrently(4, erased, erase);
    expect(new Set(counts.map(({ events }) => events))).toEqual(new Set([3]));
    loading = false;
    rebuilding = false;
    await Promise.all([load, rebuild]);
    for (const name of ['identifiers', 'consent', 'unmatched']) await runner.rebuild(name);

    const readable = await allRows();
    const index = new Map(emails.map((email, index) => [email, index] as const));
    for (const email of erased) {
      const number = index.get(email);
      for (const trace of [subject(email), `Before-${number}"`, `Click-${number}"`, visitors.get(email) as string])
        expect(readable).not.toContain(trace);
    }
    const other = emails.find((_, index) => index % 10 === 1) as string;
    expect(readable).toContain(subject(other));
    expect(readable).not.toMatch(/person-\d+@/);
    // All events and totals remain, without the person.
    const now = await visitorEvents(site);
    expect(now.slice(0, before.length).map(({ id, data }) => ({ id, data }))).toEqual(
      before.map(({ id, data }) => ({ id, data })),
    );
    expect(now.filter(({ type }) => type === 'visitor.erased.v1')).toHaveLength(30);
    const after = await operator.conversions(site.host);
    expect(after.slice(0, conversions.length).map(({ id }) => id)).toEqual(conversions.map(({ id }) => id));
    expect(after.filter(({ personal }) => personal === null).length).toBe(30);
    // An erased person starts without a visit.
    const again = await convert(site, erased[0] as string);
    expect((await opening(again.id)).data).not.toHaveProperty('matched');
  });

  it('is not the only command about a person: who denied consent is shown, and an operator replaces it', async () => {
    const site = await openSite();
    const email = newEmail();
    await identify(site, email);
    await tag(site, 'consent', { hash: subject(email), consent: { gpc: true } });
    const show = () => json(`visitors show --site ${site.host} --email ${email}`);
    expect(await show()).toMatchObject({
      visitors: [{ since: null, clicks: expect.arrayContaining(['gclid']), withheld: false }],
      consent: { means: 'denied', by: 'unrecognised visitor', gpc: true },
      statements: [{ by: 'unrecognised visitor', means: 'denied', time: expect.stringMatching(/Z$/) }],
    });
    const stated = await json(`visitors consent ${email} granted --site ${site.host}`);
    expect(stated).toMatchObject({ consent: { means: 'granted', by: 'operator' } });
    expect(await show()).toMatchObject({ consent: { means: 'granted' }, statements: [{ by: 'operator' }, {}] });
    expect((await run(`visitors consent ${email} maybe --site ${site.host}`)).code).toBe(2);
  });

  // The consent of a phone is stated twice: a sender may have hashed it with its `+` or without.
  it.each([
    ['a phone', '--phone', '+16502530000', { phone: '+1 (650) 253-0000' }, 4],
    ['an external id', '--external-id', 'C-20817', { externalId: 'C-20817' }, 3],
    ['a click id', '--click-id', 'Cj0KCQiA', { clickIds: { gclid: 'Cj0KCQiA' } }, 3],
  ])(
    'finds a person without an email by %s, as the other commands about a person do',
    async (_, option, name, stated, events) => {
      const site = await openSite({ 'identify-by': 'any' });
      const { id } = await convert(site, '', stated);
      const named = `--site ${site.host} ${option} ${name}`;
      expect(await json(`visitors consent denied ${named}`)).toMatchObject({
        consent: { means: 'denied', by: 'operator' },
      });
      expect(await json(`visitors show ${named}`)).toMatchObject({ consent: { means: 'denied' } });
      const later = await convert(site, '', stated);
      expect((await opening(later.id)).data).toMatchObject({ consent: 'denied' });
      expect(await json(`visitors erase ${named}`)).toMatchObject({ site: site.host, events });
      expect((await opening(id)).personal).toBeNull();
      expect((await run(`visitors show ${named}`)).code).toBe(1);
    },
  );

  it('is repeated from its list, without what the person did afterwards', async () => {
    const site = await openSite();
    const email = newEmail();
    await identify(site, email);
    const first = await json(`visitors erase --site ${site.host} --email`, ` ${email.toUpperCase()}`);
    expect(first).toMatchObject({ site: site.host, events: 1 });
    expect((await run(`visitors show --site ${site.host} --email ${email}`)).code).toBe(1);
    await identify(site, email);
    const printed = await json(`visitors show --site ${site.host} --email ${email}`);
    expect(printed).toMatchObject({ subject: subject(email), clicks: { gclid: { id: CLICKS.gclid } }, consent: null });
    expect(await json('visitors erase --rerun')).toMatchObject({ events: 0, identifiers: 0, claims: 0 });
    expect(await json(`visitors show --site ${site.host} --email ${email}`)).toEqual(printed);
    // The list is encrypted.
    expect(readFileSync(listFile, 'utf8')).not.toContain(subject(email));
  });
});

describe('identifiers and consent', () => {
  it('are the same after a rebuild', async () => {
    const runner = new ProjectionRunner(operator.postgres, [identifiersProjection, consentProjection]);
    const rows = async () => {
      const { rows } = await operator.postgres.pool.query<{ row: string }>(
        // Older identifiers are deleted once a minute.
        `SELECT i::text AS row FROM cc.identifiers i WHERE at > now() - interval '90 days'
         UNION ALL SELECT c::text FROM cc.consent c ORDER BY 1`,
      );
      return rows.map(({ row }) => row);
    };
    const live = await rows();
    expect(live.length).toBeGreaterThan(50);
    for (const name of runner.names()) await runner.rebuild(name);
    expect(await rows()).toEqual(live);
  });
});
