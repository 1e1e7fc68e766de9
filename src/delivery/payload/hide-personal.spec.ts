import { hash } from 'node:crypto';
import type { ConversionPersonal } from '../../events/conversion.events.js';
import { hidePersonal } from './hide-personal.js';

const SUBJECT = hash('sha256', 'jane@example.com');
const PERSONAL: ConversionPersonal = {
  subject: SUBJECT,
  externalId: 'C-20817',
  address: { city: 'Bad Köln', postalCode: '10115', country: 'DE' },
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
  visit: {
    pageUrl: 'https://shop.example/cart',
    clicks: { fbclid: { id: 'IwAR0abcdef', timeMs: 1 } },
    cookies: {},
    utm: { campaign: 'spring sale' },
  },
};

function answered(text: string) {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {}
  return hidePersonal({ status: 400, headers: {}, text, json }, [PERSONAL, null]);
}

describe('what a platform repeats of a person', () => {
  it.each([
    ['the external id', 'Unknown customer c-20817.', 'Unknown customer ….'],
    ['the city', 'city "BAD KÖLN" is not plain', 'city "…" is not plain'],
    ['the city as it is normalised', 'city badköln', 'city …'],
    ['the city as JSON escapes it', '{"message":"Bad K\\u00f6ln"}', '{"message":"…"}'],
    ['a postal code', 'zip 10115?', 'zip …?'],
    ['the browser', 'bad agent Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0', 'bad agent …'],
    ['a page with escaped slashes', '"https:\\/\\/shop.example\\/cart?a=1"', '"…?a=1"'],
    ['a page in an address', 'url=https%3A%2F%2Fshop.example%2Fcart', 'url=…'],
    ['a click id in a cookie', 'fbc fb.1.1700000000000.IwAR0abcdef is old', 'fbc fb.1.1700000000000.… is old'],
    ['a digest in base64', `user ${Buffer.from(SUBJECT, 'hex').toString('base64')}`, 'user …'],
  ])('is not kept of its answer: %s', (_, text, kept) => {
    expect(answered(text).text).toBe(kept);
  });

  it.each([
    ['a country in a word', 'DE is not a mode of delivery'],
    ['a postal code in a longer number', 'request 1011599'],
    ['nothing about the person', '{"error":{"message":"Invalid \\"value\\"","path":"\\/v1"}}'],
  ])('is hidden without a change of other text: %s', (_, text) => {
    expect(answered(text).text).toBe(text);
  });

  it('is hidden in what the verdict is made of', () => {
    const { json } = answered('{"errors":[{"code":7,"message":"city Bad K\\u00f6ln"}]}');
    expect(json).toEqual({ errors: [{ code: 7, message: 'city …' }] });
  });
});
