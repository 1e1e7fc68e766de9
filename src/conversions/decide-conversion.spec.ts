import { checkData } from '../events/check-data.js';
import { type SiteSettings } from '../events/site.events.js';
import type { Settings } from '../platforms/platform.js';
import type { SiteKey } from '../sites/site.js';
import type { LoadedSite } from '../sites/site-directory.js';
import { DEFAULT_SITE_SETTINGS } from '../sites/site-settings.js';
import type { Match } from '../visitors/matcher.js';
import { correctionProblem } from './correction.js';
import { decide } from './decide-conversion.js';
import { hashPersonal } from './hash-personal.js';
import type { InboundFields } from './inbound/inbound-field.js';
import { ReceiveConversion } from './receive-conversion.command.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const RULES = { dedupWindowMs: DAY_MS, identifierTtlMs: 90 * DAY_MS };
const NO_MATCH: Match = { consent: 'unknown' };
const JANE = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';
const UUID = '019535d0-6b10-7000-8000-000000001001';
const purchase: InboundFields = {
  email: 'jane.doe@example.com',
  event: 'purchase',
  value: 12,
  currency: 'EUR',
  orderId: 'A',
};

function decided(
  fields: Partial<InboundFields> = {},
  settings: Partial<SiteSettings> = {},
  key: Partial<SiteKey> = {},
  match: Match = NO_MATCH,
  connected: Settings = {},
) {
  const site = { host: 'shop.example', settings: { ...DEFAULT_SITE_SETTINGS, ...settings } };
  const connections = new Map([['ga4', { connection: { settings: connected } }]]);
  const open = { site, dedupSecret: 'secret', connections } as unknown as LoadedSite;
  const sent = { ...purchase, ...fields };
  for (const [name, value] of Object.entries(sent)) if (value === undefined) delete sent[name as keyof typeof sent];
  const command = new ReceiveConversion(open, { id: 'k1', trial: false, ...key } as SiteKey, sent, RULES);
  const personal = hashPersonal(sent, undefined);
  return decide(
    command,
    { hashes: personal, subject: personal.subject as string },
    match,
    'c1',
    { platforms: ['meta'], settings: 7, instance: 'i1' },
    'k1',
  );
}

describe('decide', () => {
  it('receives the conversion with personal data in the personal part only', () => {
    const { opening, claim } = decided();
    expect(opening).toMatchObject({
      type: 'conversion.received.v1',
      data: {
        conversionId: 'c1',
        event: 'purchase',
        value: 12,
        currency: 'EUR',
        orderId: 'A',
        keyId: 'k1',
        trial: false,
      },
      personal: { subject: JANE },
      reference: 'A',
    });
    expect(claim).toEqual({ key: expect.stringMatching(/^[0-9a-f]{32}$/), windowMs: DAY_MS, weak: false });
    expect(JSON.stringify(opening)).not.toContain('jane');
  });

  it('stores a digest in place of an event or order that contains an email address, and warns', () => {
    const { opening, warnings } = decided({ orderId: 'jane.doe@example.com-7' });
    expect(opening).toMatchObject({ data: { event: 'purchase', orderId: expect.stringMatching(/^hmac_/) } });
    expect(opening.reference).toBe(opening.data.orderId);
    expect(warnings).toEqual([expect.stringMatching(/^orderId contains an email address/)]);
    expect(JSON.stringify([opening, warnings])).not.toContain('jane');
    expect(decided({ orderId: 'jane.doe@example.com-7' }).claim.key).not.toBe(decided({ orderId: 'A' }).claim.key);
    expect(decided().warnings).toBeUndefined();
  });

  describe('a conversion with fields beyond the specification', () => {
    const browser = {
      clickIds: { gclid: 'Cj0' },
      ipAddress: '203.0.113.10',
      userAgent: 'Mozilla/5.0',
      pageUrl: 'https://shop.example/page-of-jane',
      referrer: 'https://www.google.com/',
      cookies: { _ga: '1.2' },
      utm: { source: 'news' },
    };
    const all: Partial<InboundFields> = {
      ...browser,
      occurredAt: '2026-03-01T10:15:30.000Z',
      source: 'crm',
      items: [{ id: 'SKU-1', quantity: 2, price: 6 }],
      externalId: 'C-1',
      address: { city: 'Berlin', country: 'DE' },
      eventId: 'evt-1',
      consent: { ad_storage: 'granted' },
      custom: { profit: 3 },
      warnings: [
        { kind: 'dropped', field: 'region', text: 'a' },
        { kind: 'dropped', field: 'region', text: 'b' },
        { kind: 'unknown', field: 'other', text: 'c' },
        { kind: 'assumed', field: 'currency', text: 'd' },
      ],
    };

    it('keeps what is about the person in the personal part only', () => {
      const { opening } = decided(all);
      const { occurredAt, source, items, externalId, address, eventId, consent, custom } = all;
      expect(opening.data).toMatchObject({
        occurredAt,
        source,
        items,
        eventId,
        sentConsent: consent,
        dropped: ['region'],
        unknown: ['other'],
      });
      expect(opening.personal).toEqual({
        subject: JANE,
        emailBare: expect.any(String),
        payloadKey: 'k1',
        externalId,
        address,
        custom,
        ...browser,
      });
      expect(JSON.stringify(opening.data)).not.toMatch(/Cj0|203\.0|Mozilla|C-1|Berlin|jane|google|news|profit/);
      const ids = { conversionId: UUID, keyId: UUID };
      const stored = JSON.parse(JSON.stringify({ ...opening.data, ...ids }));
      expect(checkData(opening.type, stored)).toBeUndefined();
    });

    it.each(['opted_out', 'consent_missing', 'consent_unreadable'] as const)(
      'has nothing about the browser if visits are withheld (%s)',
      (withheld) => {
        const { personal } = decided(all, {}, {}, { consent: 'denied', withheld }).opening;
        expect(personal).toMatchObject({ externalId: 'C-1', address: { city: 'Berlin' } });
        for (const name of Object.keys(browser)) expect(personal).not.toHaveProperty(name);
      },
    );

    it('has a digest in place of an external id or item that contains an email address, and a warning', () => {
      const { opening, warnings } = decided({ externalId: 'jane@example.com', items: [{ id: 'jane@example.com' }] });
      expect(opening.personal.externalId).toMatch(/^hmac_/);
      expect(opening.data.items).toEqual([{ id: expect.stringMatching(/^hmac_/) }]);
      expect(warnings).toEqual([expect.stringMatching(/^externalId and items contain an email address/)]);
    });
  });

  it('omits fields that were not sent', () => {
    const { opening } = decided({ value: undefined as never, orderId: undefined as never });
    expect(JSON.parse(JSON.stringify(opening.data))).toEqual({
      conversionId: 'c1',
      event: 'purchase',
      currency: 'EUR',
      keyId: 'k1',
      trial: false,
      platforms: ['meta'],
      settings: 7,
      instance: 'i1',
    });
  });

  describe('an event that a connection names in refund_event', () => {
    const refund = (fields: Partial<InboundFields> = {}, settings: Partial<SiteSettings> = {}, match = NO_MATCH) =>
      decided({ event: 'refund', ...fields }, settings, {}, match, { refund_event: 'refund' });

    it('is a correction, and a conversion without the setting', () => {
      expect(refund().opening).toMatchObject({
        ...{ type: 'conversion.received.v1', data: { event: 'refund', correction: true }, reference: 'A' },
      });
      expect(decided({ event: 'refund' }).opening.data.correction).toBeUndefined();
      expect(refund({ event: 'purchase' }).opening.data.correction).toBeUndefined();
    });

    it('is not filtered: its conversion may have been counted', () => {
      const bot: Match = { consent: 'unknown', bot: { score: 60, reasons: ['headless'], list: 'v1' }, isBot: true };
      expect(refund({}, { blocked: [JANE] }).opening.type).toBe('conversion.received.v1');
      expect(refund({}, { botFilter: 'all', botMode: 'enforce' }, bot).opening.type).toBe('conversion.received.v1');
    });

    it('is a duplicate only with the same order, amount, currency and time', () => {
      const keys = [
        ...[{}, { value: 5 }, { value: undefined as never }, { currency: 'USD' }, { orderId: 'B' }],
        { occurredAt: '2026-03-01T10:15:30.000Z' },
      ].map((fields) => refund(fields).claim.key);
      expect(new Set(keys).size).toBe(keys.length);
      expect(refund().claim.key).toBe(keys[0]);
      expect(refund({ email: 'other@example.com' }).claim.key).toBe(keys[0]);
      expect(decided({ event: 'refund' }).claim.key).not.toBe(keys[0]);
    });

    it('requires an order', () => {
      const site = (connected: Settings) =>
        ({ connections: new Map([['ga4', { connection: { settings: connected } }]]) }) as unknown as LoadedSite;
      const { orderId: _, ...fields } = { ...purchase, event: 'refund' };
      const enabled = site({ refund_event: 'refund' });
      expect(correctionProblem(enabled, fields)).toBe('orderId is required for refund');
      expect(correctionProblem(enabled, { ...fields, orderId: 'A' })).toBeUndefined();
      expect(correctionProblem(enabled, { ...fields, event: 'purchase' })).toBeUndefined();
      expect(correctionProblem(site({}), fields)).toBeUndefined();
    });
  });

  describe('when the site blocks the person', () => {
    it.each([
      ['blocked_address', { blocked: [JANE] }],
      ['blocked_domain', { blocked: ['@example.com'] }],
    ])('filters the conversion (%s) with a weak claim', (reason, settings) => {
      const { opening, claim } = decided({}, settings);
      expect(opening).toMatchObject({ type: 'conversion.filtered.v1', data: { reason } });
      expect(opening.data).not.toHaveProperty('platforms');
      expect(claim.weak).toBe(true);
    });

    it('filters disposable addresses only if the site enables it', () => {
      const email = 'x@mailinator.com';
      expect(decided({ email }, { blockDisposable: true }).opening.type).toBe('conversion.filtered.v1');
      expect(decided({ email }).opening.type).toBe('conversion.received.v1');
    });

    it('filters a hashed email by its hash but not by its domain', () => {
      const hashed = { email: undefined as never, hashedEmail: JANE };
      expect(decided(hashed, { blocked: [JANE] }).opening.type).toBe('conversion.filtered.v1');
      expect(decided(hashed, { blocked: ['@example.com'] }).opening.type).toBe('conversion.received.v1');
    });
  });

  describe('when the person has a visit', () => {
    const visit = { clicks: { gclid: { id: 'Cj0', timeMs: 1 } }, cookies: {}, utm: {} };
    const bot = { score: 60, reasons: ['headless' as const], list: 'v1' };

    it('stores the visit in the personal part', () => {
      const { opening } = decided({}, {}, {}, { visit, consent: 'granted' });
      expect(opening).toMatchObject({
        data: { matched: true, consent: 'granted' },
        personal: { subject: JANE, visit },
      });
      expect(JSON.stringify(opening.data)).not.toContain('Cj0');
    });

    it('records why the visit is withheld and stores nothing of it', () => {
      const { opening } = decided({}, {}, {}, { consent: 'denied', withheld: 'opted_out' });
      expect(opening.data).toMatchObject({ consent: 'denied', withheld: 'opted_out' });
      expect(opening.data).not.toHaveProperty('matched');
      expect(opening.personal).not.toHaveProperty('visit');
    });

    const ofBots: Match = { consent: 'unknown', bot, isBot: true, botVisitors: 1 };
    const lead = { orderId: undefined as never };

    it('filters a lead if every visitor is a bot, with a weak claim', () => {
      const { opening, claim } = decided(lead, {}, {}, ofBots);
      expect(opening).toMatchObject({
        type: 'conversion.filtered.v1',
        data: { reason: 'bot', bot: { score: 60 }, judged: true },
      });
      expect(opening.personal).not.toHaveProperty('visit');
      expect(claim.weak).toBe(true);
    });

    it('receives an order of bots without their identifiers and shows the verdict', () => {
      const { opening, claim } = decided({}, {}, {}, ofBots);
      expect(opening).toMatchObject({ type: 'conversion.received.v1', data: { bot, judged: true, botVisitors: 1 } });
      expect(opening.data).not.toHaveProperty('matched');
      expect(claim.weak).toBe(false);
    });

    it.each([
      ['all', {}, 'conversion.filtered.v1'],
      ['all', lead, 'conversion.filtered.v1'],
      ['none', {}, 'conversion.received.v1'],
      ['none', lead, 'conversion.received.v1'],
    ] as const)('follows the site’s bot filter %s', (botFilter, fields, type) => {
      expect(decided(fields, { botFilter }, {}, ofBots).opening.type).toBe(type);
    });

    it('receives a lead if one visitor is not a bot', () => {
      const { opening } = decided(lead, {}, {}, { visit, consent: 'unknown', botVisitors: 3 });
      expect(opening).toMatchObject({ type: 'conversion.received.v1', data: { matched: true, botVisitors: 3 } });
    });

    it('receives a bot’s conversion in observe mode and records that the threshold was reached', () => {
      const { opening } = decided(lead, { botMode: 'observe' }, {}, { visit, consent: 'unknown', bot, isBot: true });
      expect(opening).toMatchObject({ type: 'conversion.received.v1', data: { bot, judged: true } });
    });
  });

  describe('the dedup key', () => {
    const key = (fields: Partial<InboundFields> = {}, siteKey: Partial<SiteKey> = {}) =>
      decided(fields, {}, siteKey).claim.key;

    it('depends only on the order and the event if there is an order', () => {
      expect(key({ value: 99, email: 'other@example.com', currency: 'USD' })).toBe(key());
      expect(key({ orderId: 'B' })).not.toBe(key());
      expect(key({ event: 'lead' })).not.toBe(key());
    });

    it('depends on person, event, value and currency without an order', () => {
      const withoutOrder = { orderId: undefined as never };
      expect(key({ ...withoutOrder, firstName: 'Jane' })).toBe(key(withoutOrder));
      for (const other of [
        { value: 13 },
        { value: 0 },
        { currency: 'USD' },
        { email: 'x@example.com' },
        { event: 'lead' },
        { value: undefined as never },
      ]) {
        expect(key({ ...withoutOrder, ...other })).not.toBe(key(withoutOrder));
      }
    });

    it('depends on the time of occurrence without an order', () => {
      const at = (occurredAt: string) => ({ occurredAt, orderId: undefined as never });
      const lead = at('2026-03-01T10:15:30.000Z');
      expect(key(lead)).toBe(key({ ...lead }));
      expect(key(lead)).not.toBe(key(at('2026-03-01T10:15:31.000Z')));
      expect(key(lead)).not.toBe(key({ orderId: undefined as never }));
      expect(key({ occurredAt: '2026-03-01T10:15:30.000Z' })).toBe(key());
    });

    it('differs for trial keys', () => {
      expect(key({}, { trial: true })).not.toBe(key());
    });

    it('uses the site’s own window if it has one', () => {
      expect(decided({}, { dedupWindow: '2s' }).claim.windowMs).toBe(2_000);
      expect(decided({}, { dedupWindow: '0s' }).claim.windowMs).toBe(0);
    });
  });
});
