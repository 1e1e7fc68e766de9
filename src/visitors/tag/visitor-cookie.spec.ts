import {
  cookieKey,
  deleteCookie,
  hasVisitorCookie,
  landedMs,
  readVisitorCookie,
  setCookie,
  type VisitorCookie,
  withLandings,
} from './visitor-cookie.js';

const NOW = Date.parse('2026-11-15T12:00:00Z');
const KEY = cookieKey('ab'.repeat(32));
const NEW: VisitorCookie = { id: '5f0c7c1e-8f0a-4a5e-9d3b-0c9a4b1d2e3f', sinceMs: NOW - 1_000, landings: {} };
const headerOf = (cookie: VisitorCookie) => setCookie(cookie, KEY, 90 * 86_400_000, true).split(';')[0] as string;

describe('the visitor cookie', () => {
  it('has a key of the site, derived once', () => {
    expect(cookieKey('ab'.repeat(32))).toBe(KEY);
    expect(cookieKey('cd'.repeat(32))).not.toEqual(KEY);
    // Another derivation would make every cookie in use invalid.
    expect(KEY.toString('hex')).toBe('d6d62dfbb602eaea7c3f8303557c498ab77022460f59b341e3e09bd85b447973');
  });

  it('can be read by no script and is sent to the tag’s endpoints of the same site only', () => {
    const [pair, ...attributes] = setCookie(NEW, KEY, 90 * 86_400_000, true).split('; ');
    expect(pair).toMatch(/^_ccv=1\.[\w-]+\.[\w-]{22}$/);
    expect(attributes).toEqual(['Path=/__cc/', 'Max-Age=7776000', 'HttpOnly', 'SameSite=Lax', 'Secure']);
    expect(setCookie(NEW, KEY, 1_000, false)).not.toContain('Secure');
    expect(deleteCookie(true)).toBe('_ccv=; Path=/__cc/; Max-Age=0; HttpOnly; SameSite=Lax; Secure');
  });

  it('holds the id, its time, and the time of each landing', () => {
    const landed = withLandings(NEW, { gclid: { id: 'Cj0' }, epik: { id: 'e' }, other: { id: 'x' } }, NOW);
    const later = withLandings(landed, { gclid: { id: 'Cj0' }, epik: { id: 'e2' } }, NOW + 5_000);
    const read = readVisitorCookie(`a=b; ${headerOf(later)}; c=d`, KEY, NOW + 5_000) as VisitorCookie;
    expect(read).toEqual(later);
    expect(landedMs(read, 'gclid', 'Cj0')).toBe(NOW);
    expect(landedMs(read, 'epik', 'e2')).toBe(NOW + 5_000);
    expect(landedMs(read, 'epik', 'e')).toBeUndefined();
    expect(landedMs(read, 'fbclid', 'Cj0')).toBeUndefined();
  });

  it.each([
    ['changed content', headerOf(NEW).replace(/^_ccv=1\../, '_ccv=1.A')],
    ['a cut signature', headerOf(NEW).slice(0, -2)],
    ['another version', headerOf(NEW).replace('=1.', '=2.')],
    ['an additional part', `${headerOf(NEW)}.x`],
    ['nothing', '_ccv='],
    ['another name', headerOf(NEW).replace('_ccv', '_ccw')],
  ])('is not accepted with %s', (_, header) => {
    expect(readVisitorCookie(header, KEY, NOW)).toBeUndefined();
  });

  it('is not accepted from the future, from another site, or without a header', () => {
    expect(readVisitorCookie(headerOf(NEW), KEY, NEW.sinceMs - 5_001)).toBeUndefined();
    expect(readVisitorCookie(headerOf(NEW), cookieKey('cd'.repeat(32)), NOW)).toBeUndefined();
    expect(readVisitorCookie(undefined, KEY, NOW)).toBeUndefined();
  });

  it('is accepted from an instance whose time is a little ahead', () => {
    expect(readVisitorCookie(headerOf(NEW), KEY, NEW.sinceMs - 5_000)).toEqual(NEW);
  });

  it('is found beside an invalid one of the same name', () => {
    expect(readVisitorCookie(`_ccv=1.x.y; ${headerOf(NEW)}`, KEY, NOW)).toEqual(NEW);
    expect([hasVisitorCookie('_ccv=x'), hasVisitorCookie('a=_ccv=x'), hasVisitorCookie(undefined)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
