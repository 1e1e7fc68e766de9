import { attributionOf } from './carried-identifiers.js';

const subject = 'ab'.repeat(32);
const visit = {
  ip: '192.0.2.1',
  clicks: { gclid: { id: 'a', timeMs: 1 }, fbclid: { id: 'b', timeMs: 2 } },
  cookies: { _fbp: 'fb.1.1.1' },
  utm: { source: 'google', medium: 'cpc', campaign: '🙂'.repeat(120) },
};

describe('attributionOf', () => {
  it('has the campaign, the newest click and the identifiers of the visit', () => {
    expect(attributionOf({ subject, phone: subject, address: { city: 'Berlin' }, visit }, 0)).toEqual({
      source: 'google',
      medium: 'cpc',
      campaign: '🙂'.repeat(100),
      click: 'fbclid',
      identifiers: ['email', 'phone', 'city', 'ip_address', 'gclid', 'fbclid', '_fbp'],
    });
  });

  it('has what the sender stated, without a visit too', () => {
    const stated = { subject, clickIds: { ttclid: 'c' }, userAgent: 'Mozilla' };
    expect(attributionOf(stated, 0)).toMatchObject({
      source: '',
      click: 'ttclid',
      identifiers: ['email', 'user_agent', 'ttclid'],
    });
    expect(attributionOf({ subject }, 0)).toMatchObject({ click: '', identifiers: ['email'] });
  });

  it('has only texts that PostgreSQL can store', () => {
    const utm = { source: 'a\ud800b', campaign: 'a\0b' };
    expect(attributionOf({ subject, visit: { ...visit, utm } }, 0)).toMatchObject({
      source: 'a\ufffdb',
      medium: '',
      campaign: 'a\ufffdb',
    });
  });

  it('does not depend on the order in which clicks of the same time are stored', () => {
    const click = { id: 'a', timeMs: 1 };
    const withClicks = (clicks: object) => attributionOf({ subject, visit: { ...visit, clicks } }, 0).click;
    expect(withClicks({ gclid: click, fbclid: click })).toBe('fbclid');
    expect(withClicks({ fbclid: click, gclid: click })).toBe('fbclid');
  });
});
