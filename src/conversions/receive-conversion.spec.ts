import { type SiteSettings } from '../events/site.events.js';
import type { SiteKey } from '../sites/site.js';
import type { LoadedSite } from '../sites/site-directory.js';
import { DEFAULT_SITE_SETTINGS } from '../sites/site-settings.js';
import type { Match } from '../visitors/matcher.js';
import { hashPersonal } from './hash-personal.js';
import type { InboundFields } from './inbound-fields.js';
import { decide, ReceiveConversion } from './receive-conversion.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const RULES = { dedupWindowMs: DAY_MS, identifierTtlMs: 90 * DAY_MS };
const NOBODY: Match = { consent: 'unknown' };
const JANE = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';
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
  match: Match = NOBODY,
) {
  const site = { host: 'shop.example', settings: { ...DEFAULT_SITE_SETTINGS, ...settings } };
  const open = { site, dedupSecret: 'secret' } as LoadedSite;
  const sent = { ...purchase, ...fields };
  for (const [name, value] of Object.entries(sent)) if (value === undefined) delete sent[name as keyof typeof sent];
  const command = new ReceiveConversion(open, { id: 'k1', trial: false, ...key } as SiteKey, sent, RULES);
  const personal = hashPersonal(sent, undefined);
  return decide(command, personal, match, 'c1', { platforms: ['meta'], settings: 7, instance: 'i1' });
}

describe('deciding on a conversion', () => {
  it('receives it, with the person beside the facts', () => {
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

  it('leaves out what was not sent', () => {
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

  describe('when the site does not want to hear of somebody', () => {
    it.each([
      ['blocked_address', { blocked: [JANE] }],
      ['blocked_domain', { blocked: ['@example.com'] }],
    ])('filters it (%s) and claims weakly', (reason, settings) => {
      const { opening, claim } = decided({}, settings);
      expect(opening).toMatchObject({ type: 'conversion.filtered.v1', data: { reason } });
      // It is not sent anywhere.
      expect(opening.data).not.toHaveProperty('platforms');
      expect(claim.weak).toBe(true);
    });

    it('filters disposable addresses where the site says so', () => {
      const email = 'x@mailinator.com';
      expect(decided({ email }, { blockDisposable: true }).opening.type).toBe('conversion.filtered.v1');
      expect(decided({ email }).opening.type).toBe('conversion.received.v1');
    });

    it('knows a blocked address also by its hash, and no domain of it', () => {
      const hashed = { email: undefined as never, hashedEmail: JANE };
      expect(decided(hashed, { blocked: [JANE] }).opening.type).toBe('conversion.filtered.v1');
      expect(decided(hashed, { blocked: ['@example.com'] }).opening.type).toBe('conversion.received.v1');
    });
  });

  describe('when the person has been seen before', () => {
    const visit = { clicks: { gclid: { id: 'Cj0', timeMs: 1 } }, cookies: {}, utm: {} };
    const bot = { score: 60, reasons: ['headless' as const], list: 'v1' };

    it('joins it to the visit, which stands beside the facts', () => {
      const { opening } = decided({}, {}, {}, { visit, consent: 'granted' });
      expect(opening).toMatchObject({
        data: { matched: true, consent: 'granted' },
        personal: { subject: JANE, visit },
      });
      expect(JSON.stringify(opening.data)).not.toContain('Cj0');
    });

    it('says why a visit is withheld, and keeps nothing of it', () => {
      const { opening } = decided({}, {}, {}, { consent: 'denied', withheld: 'opted_out' });
      expect(opening.data).toMatchObject({ consent: 'denied', withheld: 'opted_out' });
      expect(opening.data).not.toHaveProperty('matched');
      expect(opening.personal).not.toHaveProperty('visit');
    });

    it('filters what a bot left behind, from the site’s threshold on, and claims weakly', () => {
      const { opening, claim } = decided({}, { botThreshold: 60 }, {}, { visit, consent: 'unknown', bot });
      expect(opening).toMatchObject({ type: 'conversion.filtered.v1', data: { reason: 'bot', bot: { score: 60 } } });
      expect(opening.personal).not.toHaveProperty('visit');
      expect(claim.weak).toBe(true);
      expect(decided({}, { botThreshold: 61 }, {}, { visit, consent: 'unknown', bot }).opening.type).toBe(
        'conversion.received.v1',
      );
    });

    it('lets it through where the site only observes, and marks the judgement as a false one', () => {
      const { opening } = decided({}, { botMode: 'observe' }, {}, { visit, consent: 'unknown', bot });
      expect(opening).toMatchObject({ type: 'conversion.received.v1', data: { bot, judged: true } });
    });
  });

  describe('the key it claims', () => {
    const key = (fields: Partial<InboundFields> = {}, siteKey: Partial<SiteKey> = {}) =>
      decided(fields, {}, siteKey).claim.key;

    it('is the order and the event, whatever else was sent', () => {
      expect(key({ value: 99, email: 'other@example.com', currency: 'USD' })).toBe(key());
      expect(key({ orderId: 'B' })).not.toBe(key());
      expect(key({ event: 'lead' })).not.toBe(key());
    });

    it('is person, event, value and currency where there is no order', () => {
      const walkIn = { orderId: undefined as never };
      expect(key({ ...walkIn, firstName: 'Jane' })).toBe(key(walkIn));
      for (const other of [
        { value: 13 },
        { currency: 'USD' },
        { email: 'x@example.com' },
        { event: 'lead' },
        { value: undefined as never },
      ]) {
        expect(key({ ...walkIn, ...other })).not.toBe(key(walkIn));
      }
    });

    it('is another one for trial keys', () => {
      expect(key({}, { trial: true })).not.toBe(key());
    });

    it('counts for the site’s own window where it has one', () => {
      expect(decided({}, { dedupWindow: '2s' }).claim.windowMs).toBe(2_000);
      expect(decided({}, { dedupWindow: '0s' }).claim.windowMs).toBe(0);
    });
  });
});
