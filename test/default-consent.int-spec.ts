import { randomUUID } from 'node:crypto';
import { subjectOf } from '../src/kernel/email.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { statisticsProjection } from '../src/statistics/statistics.projection.js';
import { StateConsent } from '../src/visitors/change-consent.command.js';
import { StateConsentHandler } from '../src/visitors/change-consent.handler.js';
import { findOptOuts } from '../src/visitors/find-opt-outs.js';
import { consentProjection } from '../src/visitors/inline.projections.js';
import { commandLine } from './support/command-line.js';
import type { LooseEvent } from './support/loose-event.js';
import { PLATFORM_CASES } from './support/platform-cases.js';
import { SECRET_KEY } from './support/secret-key.js';
import { conversionId, post, type RequestOptions, type TestSite, useService } from './support/service.js';
import { callTag, visitorCookie } from './support/tag-calls.js';

const GRANTED = { ad_storage: 'granted', ad_user_data: 'granted' };
const DENIED = { ad_storage: 'denied', ad_user_data: 'denied' };
const UNDECIDED = { ...DENIED, undecided: true };
const CLICKS = { gclid: { id: 'G1', t: Date.now() - 60_000 } };

const { databaseUrl, operator, service, openSite } = await useService({
  TRUSTED_PROXIES: '127.0.0.1',
  COUNTRY_HEADER: 'X-Country',
  COLLECT_BURST: '500',
});
const { json } = commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY });

const sandbox = await new Sandbox().start();
afterAll(() => sandbox.stop());

let site: TestSite;
let email: string;

beforeEach(async () => {
  site = await openSite();
  email = `${randomUUID()}@example.com`;
});

const tag = (call: string, message: object, options: RequestOptions = {}) =>
  callTag(service, site, call, { hash: subjectOf(email), ...message }, options);
const state = (consent: object, more: object = {}, options: RequestOptions = {}) =>
  tag('consent', { consent, ...more }, options);

async function decision(fields: object = {}): Promise<Record<string, unknown>> {
  const body = { email, event: 'purchase', value: 1, orderId: randomUUID(), ...fields };
  const reply = await post(service, site, body, { headers: { 'X-Forwarded-Proto': 'https' } });
  const { data } = (await operator.conversion(conversionId(reply))) as LooseEvent;
  return { consent: data['consent'], withheld: data['withheld'], matched: data['matched'] };
}
const isOptedOut = async () => (await findOptOuts(operator.postgres)(site.host, [subjectOf(email)])).size === 1;

const WITHHELD = { consent: 'denied', withheld: 'undecided', matched: undefined };
const OPTED_OUT = { consent: 'denied', withheld: 'opted_out', matched: undefined };

describe('a page that denies consent by default', () => {
  it('withholds like an opt-out while the visitor is undecided', async () => {
    await state(UNDECIDED);
    expect(await decision()).toEqual(WITHHELD);
    expect(await isOptedOut()).toBe(true);
    expect(await json(`visitors show --email ${email} --site ${site.host}`)).toMatchObject({
      consent: { means: 'undecided', undecided: true },
      statements: [{ means: 'undecided' }],
    });
  });

  it('stores nothing of a visit, and neither issues nor deletes a cookie', async () => {
    const first = await tag('collect', { hash: undefined, clicks: CLICKS });
    const cookie = { headers: { Cookie: visitorCookie(first) } };
    for (const call of ['collect', 'identify', 'consent'])
      for (const options of [{}, cookie]) {
        const reply = await tag(call, { clicks: CLICKS, consent: UNDECIDED }, options);
        expect([reply.status, reply.headers['set-cookie']]).toEqual([204, undefined]);
      }
    expect(await decision()).toEqual(WITHHELD);
  });

  it('withholds nothing from conversions after a grant, and not again before', async () => {
    await state(UNDECIDED);
    expect(await decision()).toEqual(WITHHELD);
    await tag('identify', { clicks: CLICKS, consent: GRANTED, statement: randomUUID() });
    expect(await decision()).toEqual({ consent: 'granted', withheld: undefined, matched: true });
    expect(await isOptedOut()).toBe(false);
  });

  it('is followed by an opt-out, which it does not replace', async () => {
    await state(UNDECIDED);
    const statement = randomUUID();
    await state(DENIED, { statement });
    expect(await decision()).toEqual(OPTED_OUT);
    for (const by of [{ statement }, {}]) await state(UNDECIDED, by);
    expect(await decision()).toEqual(OPTED_OUT);
    // The opt-out can be taken back by its maker, and that is newer than the default.
    await state(GRANTED, { statement });
    expect(await decision()).toMatchObject({ withheld: undefined });
  });

  it('does not replace what the same visitor has granted', async () => {
    const statement = randomUUID();
    await state(GRANTED, { statement });
    await state(UNDECIDED, { statement });
    expect(await decision()).toMatchObject({ consent: 'granted', withheld: undefined });
    expect(await isOptedOut()).toBe(false);
  });

  it('does not replace an operator’s grant', async () => {
    const granted = new StateConsent('cli', site.host, subjectOf(email), 'granted');
    await new StateConsentHandler(operator.log).execute(granted);
    await state(UNDECIDED);
    expect(await decision()).toMatchObject({ consent: 'granted', withheld: undefined });
    expect(await isOptedOut()).toBe(false);
  });

  it.each([
    ['DE', true],
    ['US', false],
    ['XX', true],
    [undefined, true],
  ])('in the regions that it names only, where the country is known: %s', async (country, isWithheld) => {
    const headers = country === undefined ? {} : { 'X-Country': country };
    await state(UNDECIDED, { defaultRegions: { denied: ['DE'] } }, { headers });
    expect(await decision()).toMatchObject({ withheld: isWithheld ? 'undecided' : undefined });
  });

  it('is a decision with Global Privacy Control', async () => {
    await state(UNDECIDED, {}, { headers: { 'Sec-GPC': '1' } });
    await state(GRANTED);
    expect(await decision()).toEqual(OPTED_OUT);
  });

  it.each([
    ['of the visitor', 'DE', 'US', true],
    ['of the visitor, not of the site', 'US', 'DE', undefined],
    ['of the site, if that of the visitor is not known', undefined, 'GB', true],
    ['of none', undefined, undefined, undefined],
  ])('is counted by the country %s', async (_, visitor, country, europe) => {
    if (country !== undefined) await operator.set(site.host, 'country', country);
    await service.refreshSites();
    for (const consent of [UNDECIDED, DENIED, GRANTED])
      await state(
        consent,
        { statement: randomUUID() },
        { headers: visitor === undefined ? {} : { 'X-Country': visitor } },
      );
    const stated = await operator.log.read({ types: ['visitor.consent_changed.v1'], site: site.host });
    expect(stated.map(({ data }) => data.europe)).toEqual([europe, europe, europe]);
    const runner = new ProjectionRunner(operator.postgres, [statisticsProjection()]);
    await runner.rebuild('statistics');
    const { rows } = await operator.postgres.pool.query(
      'SELECT denials::int, unknown::int FROM cc.consent_statistics WHERE site = $1',
      [site.host],
    );
    expect(rows).toEqual(europe ? [{ denials: 2, unknown: 0 }] : []);
  });

  it('leaves the same statements after a rebuild', async () => {
    const rows = async () =>
      (await operator.postgres.pool.query<{ row: string }>('SELECT c::text AS row FROM cc.consent c ORDER BY 1')).rows;
    const live = await rows();
    expect(live.length).toBeGreaterThan(5);
    await new ProjectionRunner(operator.postgres, [consentProjection]).rebuild('consent');
    expect(await rows()).toEqual(live);
  });
});

describe('the consent that a sender states', () => {
  it('withholds what the person has granted, for this conversion only', async () => {
    await tag('identify', { clicks: CLICKS, consent: GRANTED, statement: randomUUID() });
    const denied = await decision({ consent: { ad_user_data: 'denied' } });
    expect(denied).toEqual({ consent: 'denied', withheld: 'denied_by_sender', matched: undefined });
    expect(await decision()).toEqual({ consent: 'granted', withheld: undefined, matched: true });
  });

  it('lifts nothing that is withheld, and is known where nothing else is', async () => {
    expect(await decision({ consent: GRANTED })).toMatchObject({ consent: 'granted', withheld: undefined });
    await state(UNDECIDED);
    expect(await decision({ consent: GRANTED })).toEqual(WITHHELD);
    await state(DENIED);
    expect(await decision({ consent: GRANTED })).toEqual(OPTED_OUT);
  });
});

describe('a site that withholds everything personal', () => {
  const person = {
    ...{ phone: '+491701234567', firstName: 'Jane', lastName: 'Doe', externalId: 'customer-of-jane' },
    ...{ city: 'Berlin', region: 'BE', postalCode: '10115', country: 'DE' },
    clickIds: { gclid: 'gclid-of-jane', fbclid: 'fbclid-of-jane', ttclid: 'ttclid-of-jane' },
    ...{ ipAddress: '203.0.113.99', userAgent: 'browser-of-jane', pageUrl: 'https://shop.example/page-of-jane' },
    ...{
      cookies: { _fbp: 'fb.1.1700000000000.5550100', _ga: '1111111111.2222222222' },
      custom: { note: 'custom-of-jane' },
    },
  };

  it('sends to each platform what its contract accepts, without the person', async () => {
    await operator.set(site.host, 'withhold', 'personal');
    const tenant = site.host.split('.')[0];
    for (const { platform, connection } of PLATFORM_CASES.filter(
      ({ name, platform }) => name === platform.name && platform.definition === undefined,
    )) {
      const custom = ['ga4', 'segment', 'webhook'].includes(platform.name) ? { 'field.note': 'custom.note' } : {};
      const set = { ...connection.settings, ...connection.secrets, ...custom };
      await operator.connect(site.host, platform.name, set, `${sandbox.url}/${platform.name}@${tenant}`);
    }
    await service.refreshSites();
    const fields = { ...person, consent: { ...DENIED, ad_personalization: 'denied' } };
    const body = { email, event: 'purchase', value: 1, currency: 'EUR', orderId: randomUUID(), ...fields };
    const reply = await post(service, site, body, { headers: { 'X-Forwarded-Proto': 'https' } });
    const results = JSON.parse(reply.body).results as Record<string, { ok: boolean; reason?: string }>;
    const sentTo = Object.keys(results).filter((name) => results[name]?.ok);
    expect(sentTo.sort()).toEqual(['ga4', 'segment', 'webhook']);
    for (const [name, { ok, reason }] of Object.entries(results))
      if (!ok) expect([name, reason]).toEqual([name, 'consent_denied']);
    const response = await fetch(`${sandbox.url}/ledger?tenant=${tenant}`);
    const { recent } = (await response.json()) as { recent: { platform: string; body: string }[] };
    expect(recent.map(({ platform }) => platform).sort()).toEqual(sentTo);
    const { personal } = (await operator.conversion(conversionId(reply))) as LooseEvent;
    const digests = Object.values(personal ?? {}).filter((value) => /^[0-9a-f]{64}$/.test(String(value))) as string[];
    expect(digests.length).toBeGreaterThan(3);
    for (const { body } of recent) {
      expect(body).not.toMatch(/of-jane|203\.0\.113|Berlin|10115|5550100|1111111111/);
      for (const digest of digests) expect(body).not.toContain(digest);
      expect(body).toMatch(/denied|"ad_storage":false/i);
    }
  });
});
