import * as fc from 'fast-check';
import { TAG_NAMES } from '../../platforms/click-ids.js';
import { isClickId, parseLanding, sanitiseUrl } from './landing.js';

const landing = (query: string) => parseLanding(`https://shop.example/p?${query}`, TAG_NAMES.clicks);

describe('a click id', () => {
  it('keeps its case and is decoded exactly once', () => {
    expect(landing('gclid=CjwK_aB-9&FBCLID=IwAR%252B&msclkid=a+b&ScCid=Xy%20').ids).toEqual({
      gclid: 'CjwK_aB-9',
      fbclid: 'IwAR%2B',
      // A literal plus is part of the id, not an encoded space.
      msclkid: 'a+b',
    });
  });

  it('is read from any query string that contains it', () => {
    const id = fc.string({ minLength: 1, maxLength: 500, unit: 'grapheme' }).filter(isClickId);
    const other = fc.webQueryParameters().filter((query) => !/clid|braid/i.test(query));
    return fc.assert(
      fc.property(id, other, other, (value, before, after) => {
        const query = `${before}&ttclid=${encodeURIComponent(value)}&${after}#ttclid=no`;
        expect(landing(query).ids['ttclid']).toBe(value);
      }),
    );
  });

  it.each([
    ['an empty value', 'gclid='],
    ['a parameter without a value', 'gclid'],
    ['an unreplaced template parameter', 'gclid={gclid}'],
    ['an unreplaced placeholder', 'gclid=__CLICKID__'],
    ['text with a space', 'gclid=two%20words'],
    ['a control character', 'gclid=a%00b'],
    ['an email address', 'gclid=jo@shop.example'],
    ['longer than 500 characters', `gclid=${'x'.repeat(501)}`],
    ['a parameter in the fragment', '#gclid=x'],
    ['a parameter with a similar name', 'xgclid=x&gclidx=x&constructor=x&__proto__=x'],
  ])('is not %s', (_, query) => {
    expect(landing(query).ids).toEqual({});
  });

  it('is the first valid one of several', () => {
    expect(landing('gclid=&gclid=one&gclid=two').ids).toEqual({ gclid: 'one' });
  });
});

describe('UTM fields', () => {
  it('keep their case and drop placeholders and empty values', () => {
    const query =
      'utm_source=News+Letter&UTM_Medium=E-Mail&utm_campaign={{campaign.id}}&utm_term=(not set)&utm_content=%00%20&utm_id=7&utm_x=1';
    expect(landing(query).utm).toEqual({ source: 'News Letter', medium: 'E-Mail', id: '7' });
  });

  it('are truncated to 500 characters without splitting a surrogate pair', () => {
    const { source } = landing(`utm_source=${encodeURIComponent(`${'x'.repeat(499)}😀`)}`).utm;
    expect(source).toBe('x'.repeat(499));
    expect(landing('utm_source=%ff&utm_medium=100%').utm).toEqual({ source: '%ff', medium: '100%' });
  });

  it('never contain an email address', () => {
    expect(landing('utm_term=jo%40shop.example&utm_content=jo%2540shop.example').utm).toEqual({});
  });
});

describe('a URL', () => {
  it('loses its fragment and is otherwise unchanged', () => {
    expect(sanitiseUrl('https://shop.example/@us/p?a=1&b&c=%20#x?y')).toBe('https://shop.example/@us/p?a=1&b&c=%20');
    expect(sanitiseUrl('')).toBe('');
  });

  it('loses every part that contains an email address, however it is encoded', () => {
    expect(sanitiseUrl('https://shop.example/?email=am9AZXhhbXBsZQ&a=1')).toBe('https://shop.example/?a=1');
    const encodings = fc.array(
      fc.constantFrom(encodeURIComponent, (text: string) => text.replace(/[@.]/g, escapeAll)),
      {
        maxLength: 2,
      },
    );
    const places = fc.constantFrom(
      (email: string) => `https://shop.example/u/${email}/x`,
      (email: string) => `https://shop.example/?a=1&u=${email}`,
      (email: string) => `https://shop.example/?${email}`,
      (email: string) => `https://shop.example/?a=1#${email}`,
    );
    return fc.assert(
      fc.property(fc.emailAddress(), encodings, places, (email, encode, place) => {
        const written = encode.reduce((text, step) => step(text), email.replace(/[/?#&%]/g, 'x'));
        const address = sanitiseUrl(place(written));
        expect(decodeURIComponent(decodeURIComponent(address))).not.toContain('@');
        expect(address).toMatch(/^https:\/\/shop\.example\//);
      }),
    );
  });
});

function escapeAll(letter: string): string {
  return `%${letter.charCodeAt(0).toString(16)}`;
}
