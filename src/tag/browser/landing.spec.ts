import * as fc from 'fast-check';
import { addressOf, isClickId, landingOf } from './landing.js';

const landing = (query: string) => landingOf(`https://shop.example/p?${query}`);

describe('a click id', () => {
  it('is taken as it was written, decoded exactly once', () => {
    expect(landing('gclid=CjwK_aB-9&FBCLID=IwAR%252B&msclkid=a+b&ScCid=Xy%20').ids).toEqual({
      gclid: 'CjwK_aB-9',
      fbclid: 'IwAR%2B',
      // A plus that nobody encoded is the id's own.
      msclkid: 'a+b',
    });
  });

  it('comes back from any address it was put into', () => {
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
    ['an empty one', 'gclid='],
    ['one without a value', 'gclid'],
    ['a template that was not filled in', 'gclid={gclid}'],
    ['another template', 'gclid=__CLICKID__'],
    ['text', 'gclid=two%20words'],
    ['a control character', 'gclid=a%00b'],
    ['an address', 'gclid=jo@shop.example'],
    ['one that is too long', `gclid=${'x'.repeat(501)}`],
    ['one in the fragment', '#gclid=x'],
    ['another parameter', 'xgclid=x&gclidx=x&constructor=x&__proto__=x'],
  ])('is not %s', (_, query) => {
    expect(landing(query).ids).toEqual({});
  });

  it('is the first of several', () => {
    expect(landing('gclid=&gclid=one&gclid=two').ids).toEqual({ gclid: 'one' });
  });
});

describe('UTM fields', () => {
  it('keep their case and lose what is no value', () => {
    const query =
      'utm_source=News+Letter&UTM_Medium=E-Mail&utm_campaign={{campaign.id}}&utm_term=(not set)&utm_content=%00%20&utm_id=7&utm_x=1';
    expect(landing(query).utm).toEqual({ source: 'News Letter', medium: 'E-Mail', id: '7' });
  });

  it('are cut to 500 characters and stay well-formed text', () => {
    const { source } = landing(`utm_source=${encodeURIComponent(`${'x'.repeat(499)}😀`)}`).utm;
    expect(source).toBe('x'.repeat(499));
    expect(landing('utm_source=%ff&utm_medium=100%').utm).toEqual({ source: '%ff', medium: '100%' });
  });

  it('never tell an email address', () => {
    expect(landing('utm_term=jo%40shop.example&utm_content=jo%2540shop.example').utm).toEqual({});
  });
});

describe('an address', () => {
  it('loses its fragment and stays otherwise as it is', () => {
    expect(addressOf('https://shop.example/@us/p?a=1&b&c=%20#x?y')).toBe('https://shop.example/@us/p?a=1&b&c=%20');
    expect(addressOf('')).toBe('');
  });

  it('loses every part that tells an email address, however it is encoded', () => {
    expect(addressOf('https://shop.example/?email=am9AZXhhbXBsZQ&a=1')).toBe('https://shop.example/?a=1');
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
        const address = addressOf(place(written));
        expect(decodeURIComponent(decodeURIComponent(address))).not.toContain('@');
        expect(address).toMatch(/^https:\/\/shop\.example\//);
      }),
    );
  });
});

function escapeAll(letter: string): string {
  return `%${letter.charCodeAt(0).toString(16)}`;
}
