import { SENT_CLICK_IDS } from '../../platforms/click-ids.js';
import type { Visit } from '../../platforms/conversion.js';
import { withSentIdentifiers } from './sent-identifiers.js';

const TIME_MS = Date.parse('2026-03-01T10:15:30Z');
const click = (id: string) => ({ id, timeMs: 5 });
const VISIT: Visit = {
  pageUrl: 'https://shop.example/',
  ip: '198.51.100.1',
  userAgent: 'stored',
  clicks: { gclid: click('G'), fbclid: click('F'), msclkid: click('M') },
  cookies: { _fbp: 'fb.1.5.6', _ga: '1.2' },
  utm: { source: 'google' },
};

describe('withSentIdentifiers', () => {
  it('changes nothing if nothing was stated', () => {
    expect(withSentIdentifiers(VISIT, {}, TIME_MS)).toBe(VISIT);
    expect(withSentIdentifiers(undefined, {}, TIME_MS)).toBeUndefined();
  });

  it('puts stated identifiers in place of stored ones and keeps the rest', () => {
    const sent = { clickIds: { msclkid: 'M2', fbp: 'fb.1.7.8' }, ipAddress: '203.0.113.10', userAgent: 'stated' };
    expect(withSentIdentifiers(VISIT, sent, TIME_MS)).toEqual({
      ...VISIT,
      ip: '203.0.113.10',
      userAgent: 'stated',
      clicks: { ...VISIT.clicks, msclkid: { id: 'M2', timeMs: TIME_MS } },
      cookies: { _fbp: 'fb.1.7.8', _ga: '1.2' },
    });
  });

  it('keeps the stored IP address and User-Agent if only click ids were stated', () => {
    expect(withSentIdentifiers(VISIT, { clickIds: { epik: 'E' } }, TIME_MS)).toMatchObject({
      ip: '198.51.100.1',
      userAgent: 'stored',
    });
  });

  it.each(['gclid', 'gbraid', 'wbraid'] as const)('drops the stored click of Google if a %s was stated', (name) => {
    const visit = withSentIdentifiers(VISIT, { clickIds: { [name]: 'stated' } }, TIME_MS);
    const { gclid, gbraid, wbraid, fbclid } = visit?.clicks ?? {};
    expect({ gclid, gbraid, wbraid, fbclid }).toEqual({
      gclid: undefined,
      gbraid: undefined,
      wbraid: undefined,
      [name]: { id: 'stated', timeMs: TIME_MS },
      fbclid: click('F'),
    });
  });

  it('reads click id and time from the cookie of Meta, which ranks before the parameter', () => {
    const clickIds = { fbc: 'fb.2.1772359000000.IwAR0_x.AQ', fbclid: 'other' };
    expect(withSentIdentifiers(undefined, { clickIds }, TIME_MS)?.clicks).toEqual({
      fbclid: { id: 'IwAR0_x.AQ', timeMs: 1_772_359_000_000 },
    });
  });

  it('puts the stated page and cookies in place of stored ones, without parameters', () => {
    const sent = { pageUrl: 'https://shop.example/thanks?gclid=G2', cookies: { _ga: '3.4', _ttp: 'T' } };
    const stored = { ...VISIT, referrer: 'https://www.google.com/', cookies: { _ga: '1.2', _ga_session: '5' } };
    expect(withSentIdentifiers(stored, sent, TIME_MS)).toEqual({
      ...VISIT,
      pageUrl: 'https://shop.example/thanks',
      cookies: { _ga: '3.4', _ttp: 'T' },
    });
    const referrer = 'https://shop.example/cart?utm_source=x';
    expect(withSentIdentifiers(VISIT, { referrer }, TIME_MS)).toEqual({
      ...VISIT,
      referrer: 'https://shop.example/cart',
    });
  });

  it('uses a stated campaign only where there is no stored visit', () => {
    const utm = { source: 'news' };
    expect(withSentIdentifiers(undefined, { utm }, TIME_MS)?.utm).toEqual(utm);
    expect(withSentIdentifiers(VISIT, { utm }, TIME_MS)?.utm).toEqual(VISIT.utm);
  });

  it('makes no visit of the ids of a lead form and of a WhatsApp advertisement', () => {
    const clickIds = { lead_id: '123456789012345', ctwa_clid: 'x' };
    expect(withSentIdentifiers(undefined, { clickIds }, TIME_MS)).toBeUndefined();
  });

  it('uses every name that a sender may state', () => {
    for (const name of SENT_CLICK_IDS.filter((each) => each !== 'lead_id' && each !== 'ctwa_clid')) {
      const value = name.startsWith('fb') && name !== 'fbclid' ? 'fb.1.1772359000000.x' : 'x';
      const visit = withSentIdentifiers(undefined, { clickIds: { [name]: value } }, TIME_MS);
      expect([name, Object.keys({ ...visit?.clicks, ...visit?.cookies }).length]).toEqual([name, 1]);
    }
  });
});
