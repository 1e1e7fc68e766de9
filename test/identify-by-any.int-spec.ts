import { hash, randomUUID } from 'node:crypto';
import { allProjections } from '../src/app/projections.js';
import { findPeople, type NamedBy, subjectsOf } from '../src/conversions/named-person.js';
import { Sealer } from '../src/kernel/sealing.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { StateConsent } from '../src/visitors/change-consent.command.js';
import { StateConsentHandler } from '../src/visitors/change-consent.handler.js';
import { EraseSubject } from '../src/visitors/erasure/erase-subject.command.js';
import { EraseSubjectHandler } from '../src/visitors/erasure/erase-subject.handler.js';
import { Erasure } from '../src/visitors/erasure/erasure.js';
import { openErasureList } from '../src/visitors/erasure/erasure-list.js';
import { expireClicked } from '../src/visitors/erasure/expiry.js';
import { Matcher } from '../src/visitors/matcher.js';
import { temporaryFolder } from './support/folders.js';
import { type LooseEvent, loosely } from './support/loose-event.js';
import { SECRET_KEY } from './support/secret-key.js';
import { conversionId, post, type RequestOptions, send, type TestSite, useService } from './support/service.js';
import { callTag, visitorCookie } from './support/tag-calls.js';
import { eventually } from './support/waiting.js';

const { operator, service, openSite } = await useService({ TRUSTED_PROXIES: '127.0.0.1', COLLECT_BURST: '500' });
const sandbox = await new Sandbox().start();
afterAll(() => sandbox.stop());

const sha256 = (text: string) => hash('sha256', text);
const sealer = new Sealer(Buffer.from(SECRET_KEY, 'hex'));
const secrets = new SiteSecrets(operator.postgres.pool, sealer);
const projections = allProjections(secrets);
const erasure = new Erasure(operator.postgres, projections, async () => {});
const list = openErasureList(`${temporaryFolder('cc-identify-by-any-')}/erasures`, sealer, operator.postgres.pool);
const eraser = new EraseSubjectHandler(erasure, list, { recordKey: async () => {} });

const PHONE = '+49 30 901820';
const openAny = () => openSite({ 'identify-by': 'any' });
let names = 0;
const unique = (name: string) => `${name}-${++names}`;

function convert(site: TestSite, fields: object) {
  const body = { event: 'lead', value: 10, currency: 'EUR', ...fields };
  return post(service, site, body, { headers: { 'X-Forwarded-Proto': 'https' } });
}

async function converted(site: TestSite, fields: object): Promise<LooseEvent> {
  const reply = await convert(site, fields);
  expect([reply.status, reply.body]).toEqual([200, expect.stringContaining('"ok":true')]);
  return (await operator.conversion(conversionId(reply))) as LooseEvent;
}

function land(site: TestSite, gclid: string, message: object = {}, options: RequestOptions = {}) {
  const page = `https://www.${site.host}/landing`;
  return callTag(
    service,
    site,
    'collect',
    { page, clicks: { gclid: { id: gclid, t: Date.now() } }, ...message },
    options,
  );
}

const nameOf = async (site: TestSite, named: NamedBy) => {
  const settings = { country: null, identifyBy: 'any' } as const;
  return { named, site: { host: site.host, settings, secret: await secrets.dedupSecret(site.host) } };
};

async function erase(site: TestSite, named: NamedBy) {
  const naming = (await nameOf(site, named)).site;
  const [subject, ...others] = await findPeople(operator.postgres.pool, named, naming);
  return eraser.execute(new EraseSubject('cli', site.host, subject, undefined, others));
}

async function deny(site: TestSite, named: NamedBy) {
  const naming = (await nameOf(site, named)).site;
  for (const subject of subjectsOf(named, naming))
    await new StateConsentHandler(operator.log).execute(new StateConsent('cli', site.host, subject, 'denied'));
}

describe('a site that identifies people by their email', () => {
  it('refuses a conversion without one, with the text of the specification', async () => {
    const site = await openSite();
    for (const fields of [{ phone: PHONE }, { externalId: 'C-1' }, { clickIds: { gclid: 'G' } }]) {
      const reply = await convert(site, fields);
      expect([reply.status, reply.body]).toEqual([400, '{"ok":false,"error":"email or hashed_email required"}']);
    }
  });

  it('is described so, and a site that knows them by anything with more', async () => {
    const required = async ({ host }: TestSite) => {
      const { body } = await send(service, { path: '/docs/openapi.json', headers: { Host: host } });
      const { schema } = JSON.parse(body).paths['/__cc/inbound'].post.requestBody.content['application/json'];
      return schema.anyOf.map((each: { required: string[] }) => each.required.join());
    };
    const byEmail = ['email', 'hashed_email'];
    expect(await required(await openSite({ 'strict-fields': 'yes' }))).toEqual(byEmail);
    expect(await required(await openSite())).toEqual(byEmail);
    expect(await required(await openAny())).toEqual([...byEmail, 'phone', 'hashed_phone', 'externalId', 'clickIds']);
  });

  it('records a landing once', async () => {
    const site = await openSite();
    await land(site, unique('G'));
    const events = await operator.log.read({ categories: ['visitor'], site: site.host });
    expect(events.map(({ type }) => type)).toEqual(['visitor.visited.v1']);
  });
});

describe('a site that identifies people by anything', () => {
  it.each([
    ['an email', { email: 'jane@example.com' }],
    ['a hashed email', { hashed_email: sha256('jane@example.com') }],
    ['a phone', { phone: PHONE }],
    ['a hashed phone', { hashed_phone: sha256('+4930901820') }],
    ['an external id', { externalId: 'C-1' }],
    ['a click id', { clickIds: { gclid: 'G' } }],
    ['the cookie of a click', { clickIds: { fbc: 'fb.1.1772350000000.F' } }],
    ['the id of a lead form', { clickIds: { lead_id: '1234567890123456' } }],
  ])('accepts a conversion with %s', async (_, fields) => {
    await converted(await openAny(), fields);
  });

  it.each([
    ['nothing', {}],
    ['empty identifiers', { email: '', phone: '', externalId: '', clickIds: {} }],
    ['a phone that is none', { phone: 'unknown' }],
    ['a national phone without a country', { phone: '030 901820' }],
    ['the cookie of a browser', { clickIds: { fbp: 'fb.1.1772350000000.1' } }],
    ['a name', { firstName: 'Jane', lastName: 'Doe' }],
  ])('refuses a conversion with %s', async (_, fields) => {
    const reply = await convert(await openAny(), fields);
    const error = 'email, phone, externalId or a click id required';
    expect([reply.status, JSON.parse(reply.body)]).toEqual([400, { ok: false, error }]);
  });

  it('stores no subject without an email, and no raw value', async () => {
    const site = await openAny();
    const event = await converted(site, { phone: PHONE });
    expect(event.personal).toMatchObject({ phone: sha256('+4930901820'), person: expect.stringMatching(/^01/) });
    expect(event.personal).not.toHaveProperty('subject');
    expect(JSON.stringify(event)).not.toContain('901820');
  });

  it('shows the person as subject where there is an email', async () => {
    const event = await converted(await openAny(), { email: 'jane@example.com', phone: PHONE });
    expect(event.personal).toMatchObject({ subject: sha256('jane@example.com') });
    expect(event.personal).not.toHaveProperty('person');
  });

  it('matches a conversion by click id to the visit that landed with it', async () => {
    const site = await openAny();
    const gclid = unique('G');
    await land(site, gclid, { cookies: { _ga: '1.2' } });
    await land(site, unique('G'), { cookies: { _ga: '3.4' } });
    const event = await converted(site, { phone: PHONE, clickIds: { gclid } });
    expect(event.data).toMatchObject({ matched: true });
    expect(event.personal?.['visit']).toMatchObject({
      cookies: { _ga: '1.2' },
      pageUrl: `https://www.${site.host}/landing`,
    });
  });

  it('matches a conversion with an email to a visit by its click id', async () => {
    const site = await openAny();
    const gclid = unique('G');
    await land(site, gclid);
    expect((await converted(site, { email: 'jane@example.com', clickIds: { gclid } })).data).toMatchObject({
      matched: true,
    });
  });

  it('takes repeats without an order for duplicates, by person', async () => {
    const site = await openAny();
    const externalId = unique('C');
    expect((await converted(site, { externalId })).type).toBe('conversion.received.v1');
    expect((await converted(site, { externalId })).type).toBe('conversion.deduplicated.v1');
    expect((await converted(site, { externalId: unique('C') })).type).toBe('conversion.received.v1');
    expect((await converted(site, { externalId, email: 'jane@example.com' })).type).toBe('conversion.received.v1');
  });

  it('takes repeats of an order for duplicates, whoever the person is', async () => {
    const site = await openAny();
    const orderId = unique('ORD');
    expect((await converted(site, { phone: PHONE, orderId })).type).toBe('conversion.received.v1');
    expect((await converted(site, { externalId: 'C', orderId })).type).toBe('conversion.deduplicated.v1');
  });

  it.each([
    ['phone', { phone: '+49 (0)30 90 18 20' }, { phone: PHONE }],
    ['external id', { externalId: 'C-7' }, { externalId: ' C-7 ' }],
    ['click id', { clickId: 'G-7' }, { clickIds: { gclid: 'G-7' } }],
  ])('withholds after an operator has denied consent by %s', async (_, named, fields) => {
    const site = await openAny();
    await land(site, 'G-7');
    await deny(site, named);
    const denied = { consent: 'denied', withheld: 'opted_out' };
    expect((await converted(site, fields)).data).toMatchObject(denied);
    expect((await converted(site, { email: 'jane@example.com', ...fields })).data).toMatchObject(denied);
  });

  it('withholds after the visitor has denied consent with the click', async () => {
    const site = await openAny();
    const gclid = unique('G');
    const landed = await land(site, gclid);
    const headers = { Cookie: visitorCookie(landed) };
    const clicks = { gclid: { id: gclid, t: Date.now() } };
    await callTag(service, site, 'consent', { consent: { ad_storage: 'denied' }, clicks }, { headers });
    const event = await converted(site, { clickIds: { gclid } });
    expect(event.data).toMatchObject({ consent: 'denied', withheld: 'opted_out' });
    expect(JSON.stringify(event.personal)).not.toContain(gclid);
    // Though nothing is left of the click, the conversion is of its person.
    const again = await converted(site, { clickIds: { gclid } });
    expect(again.type).toBe('conversion.deduplicated.v1');
  });

  it('is not widened by what was granted under another identifier', async () => {
    const site = await openAny();
    const externalId = unique('C');
    await deny(site, { externalId });
    const granted = new StateConsent('cli', site.host, sha256('jane@example.com'), 'granted');
    await new StateConsentHandler(operator.log).execute(granted);
    expect((await converted(site, { email: 'jane@example.com', externalId })).data).toMatchObject({
      withheld: 'opted_out',
    });
  });

  it('knows a person by a click id from the conversion over a late match to the erasure', async () => {
    // The visitor landed before its clicks were recorded.
    const site = await openSite();
    const browser = { visitor: randomUUID(), cookies: { _ga: '5.6' } };
    const landed = await land(site, 'G-8', browser);
    await operator.set(site.host, 'identify-by', 'any');
    const ga4 = { measurement_id: 'G-ABC1234', api_secret: 'secret' };
    await operator.connect(site.host, 'ga4', ga4, `${sandbox.url}/ga4@${site.host}`);
    await service.refreshSites();
    const order = { clickIds: { gclid: 'G-8' }, orderId: unique('ORD') };
    const reply = await convert(site, order);
    expect(JSON.parse(reply.body).results.ga4).toMatchObject({ reason: 'no_client_identifier' });

    const id = conversionId(reply);
    await land(site, 'G-8', browser, { headers: { Cookie: visitorCookie(landed) } });
    const stream = async () => loosely(await operator.log.readStream('conversion', id));
    const events = await eventually(stream, (found) => found.at(-1)?.type === 'conversion.accepted.v1');
    const types = events.map(({ type }) => type.split('.')[1]);
    expect(types).toEqual(['received', 'skipped', 'reopened', 'accepted']);
    const shown = await fetch(`${sandbox.url}/ledger?platform=ga4&tenant=${site.host}`);
    expect(JSON.stringify(await shown.json())).toContain('5.6');

    expect((await converted(site, order)).type).toBe('conversion.deduplicated.v1');
    await erase(site, { clickId: 'G-8' });
    const left = (await operator.log.read({ site: site.host, categories: ['conversion', 'visitor'] })).filter(
      ({ type, personal }) => type !== 'visitor.erased.v1' && personal !== null,
    );
    expect(left).toEqual([]);
    expect((await converted(site, order)).type).toBe('conversion.deduplicated.v1');
    const anew = await converted(site, { ...order, orderId: unique('ORD') });
    expect(anew.data).not.toHaveProperty('matched');
  });

  it.each([
    ['clickIds', (gclid: string) => ({ clickIds: { gclid } })],
    ['the address of the page', (gclid: string) => ({ pageUrl: `https://shop.example/thanks?gclid=${gclid}` })],
    ['the cookies', (gclid: string) => ({ cookies: { _fbc: `fb.1.1772350000000.${gclid}` } })],
  ])('is known by the click that a conversion carries itself in %s', async (_, carriedIn) => {
    const site = await openAny();
    const click = unique('Click');
    const event = await converted(site, carriedIn(click));
    expect(event.personal).toMatchObject({ person: expect.stringMatching(/^03/) });
    expect((await converted(site, carriedIn(click))).type).toBe('conversion.deduplicated.v1');
    await erase(site, { clickId: click });
    expect((await operator.conversion(event.data['conversionId'] as string))?.personal).toBeNull();
  });

  it('decides again if consent is denied under any of the identifiers after the look-up', async () => {
    const site = await openAny();
    const externalId = unique('C');
    await land(site, 'G-9');
    const read = Matcher.prototype.find;
    let lookups = 0;
    const find = jest.spyOn(Matcher.prototype, 'find').mockImplementation(async function (this: Matcher, ...args) {
      const record = await read.apply(this, args);
      lookups += 1;
      if (lookups === 1) await deny(site, { externalId });
      return record;
    });
    try {
      const event = await converted(site, { phone: PHONE, externalId, clickIds: { gclid: 'G-9' } });
      expect([event.data['withheld'], lookups]).toEqual(['opted_out', 2]);
    } finally {
      find.mockRestore();
    }
  });

  it('keeps the landings of a click as long as the record of identifiers, and the conversions longer', async () => {
    const site = await openAny();
    const gclid = unique('G');
    await land(site, gclid);
    await converted(site, { clickIds: { gclid } });
    const { postgres, log } = operator;
    expect(await expireClicked(postgres, log, new Date(Date.now() - 3_600_000))).toBe(0);
    await expireClicked(postgres, log, new Date(Date.now() + 3_600_000));
    const events = await log.read({ site: site.host, categories: ['visitor', 'conversion'] });
    const kept = events
      .filter(({ type }) => type !== 'visitor.erased.v1')
      .map(({ type, personal }) => [type, personal !== null]);
    expect(kept).toEqual([
      ['visitor.visited.v1', true],
      ['visitor.clicked.v1', false],
      ['conversion.received.v1', true],
    ]);
  });

  it('has the same identifier records after a rebuild', async () => {
    const site = await openAny();
    const gclid = unique('G');
    const landed = await land(site, gclid);
    const clicks = { gclid: { id: gclid, t: Date.now() } };
    const headers = { Cookie: visitorCookie(landed) };
    await callTag(service, site, 'consent', { consent: { analytics_storage: 'granted' }, clicks }, { headers });
    const rows = async () => {
      const found = ['identifiers', 'consent'].map(async (table) => {
        const query = `SELECT row_to_json(t)::text AS row FROM cc.${table} t WHERE site = $1 ORDER BY 1`;
        return (await operator.postgres.pool.query<{ row: string }>(query, [site.host])).rows.map(({ row }) => row);
      });
      return (await Promise.all(found)).flat();
    };
    const before = await rows();
    expect(before.length).toBeGreaterThan(3);
    const runner = new ProjectionRunner(operator.postgres, projections);
    for (const name of ['identifiers', 'consent']) await runner.rebuild(name);
    expect(await rows()).toEqual(before);
  });

  describe('erases a person', () => {
    const partsOf = async (site: TestSite) =>
      (await operator.log.read({ site: site.host, categories: ['conversion', 'visitor'] }))
        .filter(({ type }) => type !== 'visitor.erased.v1')
        .map(({ personal }) => personal !== null);
    const rowsOf = async (site: TestSite) => {
      const counts = ['identifiers', 'consent', 'unmatched'].map(async (table) => {
        const { rows } = await operator.postgres.pool.query(`SELECT 1 FROM cc.${table} WHERE site = $1`, [site.host]);
        return rows.length;
      });
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    };

    it.each([
      ['phone', { phone: PHONE }],
      ['external id', { externalId: 'C-1' }],
      ['click id', { clickId: 'G-1' }],
      ['email', { email: 'jane@example.com' }],
    ])('by %s, with everything that is linked', async (_, named) => {
      const site = await openAny();
      await land(site, 'G-1');
      await converted(site, { email: 'jane@example.com', phone: PHONE, externalId: 'C-1', clickIds: { gclid: 'G-1' } });
      await converted(site, { phone: PHONE });
      await converted(site, { externalId: 'C-1' });
      await converted(site, { clickIds: { gclid: 'G-1' } });
      await converted(site, { email: 'john@example.com', phone: '+49 30 999999' });
      const erased = await erase(site, named);
      expect(await partsOf(site)).toEqual([false, false, false, false, false, false, true]);
      expect(erased.events).toBe(6);
      expect(await rowsOf(site)).toBe(0);
    });

    it('and accepts a repeat of an order as the duplicate that it is', async () => {
      const site = await openAny();
      const orderId = unique('ORD');
      await converted(site, { phone: PHONE, orderId });
      await erase(site, { phone: PHONE });
      expect((await converted(site, { phone: PHONE, orderId })).type).toBe('conversion.deduplicated.v1');
    });

    it('again, after a restore', async () => {
      const site = await openAny();
      await converted(site, { phone: PHONE });
      await erase(site, { phone: PHONE });
      await converted(site, { phone: PHONE, value: 11 });
      const listed = (await list.read()).filter((each) => each.site === site.host);
      for (const { subject, position } of listed) await erasure.erase('cli', site.host, subject, position);
      expect(await partsOf(site)).toEqual([false, true]);
    });

    it('and not another who passed on the link', async () => {
      const site = await openAny();
      const gclid = unique('G');
      const first = await land(site, gclid);
      await land(site, gclid, { cookies: { _ga: '3.4' } });
      const headers = { Cookie: visitorCookie(first) };
      const identified = { hash: sha256('jane@example.com'), clicks: { gclid: { id: gclid, t: Date.now() } } };
      await callTag(service, site, 'identify', identified, { headers });
      const conversion = { clickIds: { gclid } };
      await converted(site, conversion);
      await erase(site, { email: 'jane@example.com' });
      // The landing and its click of either visitor, the call with the email, the conversion.
      expect(await partsOf(site)).toEqual([false, false, true, true, false, true]);
      const event = await converted(site, { ...conversion, value: 12 });
      expect(event.personal?.['visit']).toMatchObject({ cookies: { _ga: '3.4' } });
    });

    it('with the click that no one else has', async () => {
      const site = await openAny();
      const gclid = unique('G');
      const headers = { Cookie: visitorCookie(await land(site, gclid)) };
      const identified = { hash: sha256('jane@example.com'), clicks: { gclid: { id: gclid, t: Date.now() } } };
      await callTag(service, site, 'identify', identified, { headers });
      await converted(site, { clickIds: { gclid } });
      await erase(site, { email: 'jane@example.com' });
      expect(await partsOf(site)).toEqual([false, false, false, false]);
      expect(await rowsOf(site)).toBe(0);
    });
  });
});
