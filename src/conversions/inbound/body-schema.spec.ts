import { isIP } from 'node:net';
import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import { MalformedBody, parseStrictJson } from '../../http/strict-json.js';
import { isEmail } from '../../kernel/email.js';
import { SENT_CLICK_IDS } from '../../platforms/click-ids.js';
import { bodySchema } from './body-schema.js';
import { COOKIE_NAMES } from './fields/cookies.js';
import { readTimeMs } from './fields/occurred-at.js';
import { OPTIONAL_FIELDS } from './fields/optional-fields.js';
import { ANY_VALUES } from './fields/texts.js';
import type { BodyReading } from './inbound-field.js';
import { readInboundFields } from './inbound-fields.js';

type Sites = Pick<BodyReading, 'isStrict' | 'withoutEmail'>;

const digest = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';
const NOW_MS = Date.parse('2026-03-01T10:15:30Z');
const valid = { email: 'jane.doe@example.com', event: 'purchase' };
const LENIENT: Sites = { isStrict: false };
const STRICT: Sites = { isStrict: true };
const ANYONE: Sites = { isStrict: false, withoutEmail: true };

/** Why the endpoint of a site refuses a body; undefined if it accepts it. */
function refusal(body: unknown, site: Sites): string | undefined {
  const rawBody = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  try {
    const reading = readInboundFields(parseStrictJson(rawBody), { rawBody, clock: { nowMs: () => NOW_MS }, ...site });
    return reading.ok ? undefined : reading.error;
  } catch (error) {
    if (error instanceof MalformedBody) return error.kind;
    throw error;
  }
}

/** It depends on the clock, so that no schema describes it. */
const TOO_FAR_AHEAD = 'occurredAt must not be more than 10 minutes ahead';

const properties = bodySchema(LENIENT).properties;

/** Whether the document of a site allows a body. */
function documentOf(site: Sites) {
  const ajv = new Ajv({
    strict: false,
    formats: {
      email: isEmail,
      'date-time': (text: string) => readTimeMs(text) !== undefined,
      ipv4: (text: string) => isIP(text) === 4,
      ipv6: (text: string) => isIP(text) === 6 && !text.includes('%'),
    },
  });
  return ajv.compile({ ...bodySchema(site), components: { schemas: ANY_VALUES } });
}

describe('bodySchema', () => {
  it('describes every field of the body', () => {
    expect(Object.keys(bodySchema({ isStrict: false }).properties)).toEqual([
      'email',
      'hashed_email',
      'event',
      'value',
      'currency',
      'orderId',
      'firstName',
      'lastName',
      'phone',
      'occurredAt',
      'items',
      'externalId',
      'city',
      'region',
      'postalCode',
      'country',
      'source',
      'clickIds',
      'ipAddress',
      'userAgent',
      'eventId',
      'consent',
      'pageUrl',
      'referrer',
      'cookies',
      'utm',
      'custom',
      'hashed_phone',
      'hashed_first_name',
      'hashed_last_name',
      'hashed_city',
      'hashed_region',
      'hashed_postal_code',
      'hashed_country',
    ]);
    for (const schema of Object.values(properties)) expect(schema).toHaveProperty('description');
  });

  it('requires an event and one of the two emails', () => {
    expect(bodySchema(LENIENT).required).toEqual(['event']);
    expect(bodySchema(LENIENT).anyOf.map(({ required }) => required)).toEqual([['email'], ['hashed_email']]);
  });

  const isValid = documentOf(LENIENT);

  describe('of a site that knows people by anything', () => {
    const isAllowed = documentOf(ANYONE);
    const accepts = (body: Record<string, unknown>) => refusal(body, ANYONE) === undefined;

    it.each<[string, Record<string, unknown>]>([
      ['an email', { email: 'jane@example.com', phone: 'x' }],
      ['a hashed email', { email: '', hashed_email: digest }],
      ['a phone', { email: null, phone: '+16502530000' }],
      ['a phone that the sender hashed', { hashed_email: '', phone: digest.toUpperCase() }],
      ['a hashed phone', { hashed_phone: digest }],
      ['an external id', { externalId: ' C-1 ' }],
      ['a number as an external id', { externalId: 0 }],
      ['a click id', { clickIds: { gclid: 'Cj0', fbp: 1, unknown: 'x' }, phone: 'x' }],
      ['the cookie of a click', { clickIds: { fbc: 'fb.1.1772350000000.IwAR0' } }],
      ['a lead', { clickIds: { lead_id: '1234567890123456' } }],
    ])('allows %s', (_, sent) => {
      const body = { event: 'lead', ...sent };
      expect([isAllowed(body), accepts(body), isValid(body)]).toEqual([true, true, /email$/.test(_)]);
    });

    it.each<[string, Record<string, unknown>]>([
      ['nobody', {}],
      ['empty identifiers', { email: '', hashed_email: '', phone: '', externalId: '', clickIds: {} }],
      ['an email that is not valid', { email: 'jane', externalId: 'C-1' }],
      ['a hash that is not valid', { hashed_email: 'ab', externalId: 'C-1' }],
      ['a phone that is none', { phone: 'unknown' }],
      ['a blank external id', { externalId: ' ' }],
      ['the cookie of a browser', { clickIds: { fbp: 'fb.1.1772350000000.1' } }],
    ])('does not allow %s', (_, sent) => {
      const body = { event: 'lead', ...sent };
      expect([isAllowed(body), accepts(body)]).toEqual([false, false]);
    });

    it('allows nothing that is refused', () => {
      const anything = fc.oneof(fc.constantFrom(null, '', ' ', digest, 'C-1', '+16502530000', 0, 1e20), fc.jsonValue());
      const clickIds = fc.dictionary(fc.constantFrom(...SENT_CLICK_IDS), anything, { noNullPrototype: true });
      const body = fc.record(
        {
          ...Object.fromEntries(
            ['hashed_email', 'phone', 'hashed_phone', 'externalId'].map((name) => [name, anything]),
          ),
          email: fc.constantFrom(null, '', 'jane@example.com', 'jane'),
          clickIds: fc.oneof(clickIds, anything),
        },
        { requiredKeys: [], noNullPrototype: true },
      );
      return fc.assert(
        fc.property(body, (sent) => {
          const sentBody = { event: 'lead', ...sent };
          if (isAllowed(sentBody)) expect([sentBody, accepts(sentBody)]).toEqual([sentBody, true]);
        }),
        { seed: 20_261_119, numRuns: 2_000 },
      );
    });
  });

  it('allows of optional fields what a site without strict fields accepts', () => {
    const names = OPTIONAL_FIELDS.map(({ name }) => name);
    const text = fc.string({ unit: 'grapheme' }).map((sent) => sent.replaceAll('\0', ''));
    const anything = fc.oneof(
      text,
      fc.double({ noNaN: true }),
      fc.boolean(),
      fc.constant(null),
      fc.jsonValue({ stringUnit: 'grapheme' }),
    );
    const body = fc.record(Object.fromEntries(names.map((name) => [name, anything])), {
      requiredKeys: [],
      noNullPrototype: true,
    });
    return fc.assert(
      fc.property(body, (sent) => {
        const error = refusal({ ...valid, ...sent }, LENIENT);
        if (error !== undefined) expect(error).toBe(TOO_FAR_AHEAD);
        expect([sent, isValid({ ...valid, ...sent })]).toEqual([sent, true]);
      }),
      { seed: 20_261_119, numRuns: 500 },
    );
  });

  const nested = (levels: number): unknown =>
    levels === 0 ? 'x' : levels % 2 ? [nested(levels - 1)] : { a: nested(levels - 1) };

  describe.each([
    ['of a site', LENIENT],
    ['of a site with strict fields', STRICT],
    ['of a site that knows people by anything', ANYONE],
  ])('%s', (_, site) => {
    const isAllowed = documentOf(site);

    it.each<[string, unknown, refused?: string]>([
      ['event', 'a\0b'],
      ['orderId', '\ud800'],
      ['hashed_email', '\0'],
      ['hashed_email', ['\ud800']],
      ['firstName', '\0'],
      ['city', 'a\0'],
      ['externalId', '\0x'],
      ['userAgent', '\udfff'],
      ['hashed_city', '\0'],
      ['items', '\0'],
      ['items', [{ id: '1', name: 'a\0' }]],
      ['items', [{ id: '1', color: '\ud800' }]],
      ['items', [{ id: '1', color: [[[['\0']]]] }]],
      ['items', [{ id: '1', '\0': 1 }]],
      ['custom', { note: '\0' }],
      ['custom', { '\0': 1 }],
      ['utm', { source: '\0' }],
      ['unknown', '\0'],
      ['unknown', { a: [{ b: ['\ud800'] }] }],
      ['unknown', { a: { '\0': 1 } }],
      ['\0', 1],
      ['\ud800', 1],
      ['unknown', nested(8)],
      ['hashed_email', nested(8)],
    ])('does not allow in %j what no body may contain: %j', (name, sent) => {
      const body = { ...valid, [name]: sent };
      expect(isAllowed(valid)).toBe(true);
      expect(['forbidden_character', 'too_deep']).toContain(refusal(body, site));
      expect(isAllowed(body)).toBe(false);
    });

    it('does not allow a name that no body may contain', () => {
      for (const text of ['"__proto__":1', '"unknown":{"a":{"__proto__":1}}']) {
        const body = `{"email":"jane@example.com","event":"lead",${text}}`;
        expect([refusal(body, site), isAllowed(JSON.parse(body))]).toEqual(['forbidden_key', false]);
      }
    });

    it('allows values that are not used, at every level', () => {
      const body = { ...valid, hashed_email: nested(7), unknown: nested(7), items: [{ id: '1', color: nested(5) }] };
      expect([refusal(body, site), isAllowed(body)]).toEqual([undefined, true]);
    });
  });

  describe('of a site with strict fields', () => {
    const isAllowed = documentOf(STRICT);

    it.each<[string, unknown]>([
      ['country', 'Germany'],
      ['ipAddress', '203.0.113.9, 10.0.0.1'],
      ['clickIds', { dclid: 1 }],
      ['clickIds', { other: 'x' }],
      ['clickIds', { fbc: 'IwAR0' }],
      ['clickIds', { fbc: 'fb.1.1772350000000.é' }],
      ['clickIds', { gclid: 'jane%40example.com' }],
      ['items', [{ id: '1', price: '12.5' }]],
      ['items', { id: '1' }],
      ['city', 'jane@example.com'],
      ['consent', { ad_storage: true }],
      ['pageUrl', 'ftp://shop.example/'],
      ['pageUrl', 'https://'],
      ['cookies', { _ga: 'x' }],
      ['cookies', { _fbp: 'x' }],
      ['cookies', { _ttp: 'é' }],
      ['cookies', { _ga_ABC: 'x' }],
      ['cookies', { session: 'x' }],
      ['utm', { source: 'jane@example.com' }],
      ['utm', { other: 'x' }],
      ['custom', { 'jane@example.com': 1 }],
      ['custom', { a: [] }],
      ['custom', { 'jane@example.com': '' }],
      ['hashed_city', 'Berlin'],
      ['source', 'web'],
      ['eventId', 'x'.repeat(101)],
    ])('does not allow in %s what is refused: %j', (name, sent) => {
      const body = { ...valid, [name]: sent };
      expect(refusal(body, STRICT)).toEqual(expect.stringMatching(name));
      expect(isAllowed(body)).toBe(false);
    });

    it('allows every example', () => {
      const body = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, schema['example']]));
      expect([refusal(body, STRICT), isAllowed(body)]).toEqual([undefined, true]);
    });

    it.each<[string, unknown]>([
      ['country', digest],
      ['clickIds', { lead_id: 123456789012345 }],
      [
        'cookies',
        { _ga: 'GA1.1.1111111111.2222222222', _ga_ABC: 'GS2.1.s1772350000$o1', _fbc: 'fb.1.1772350000000.IwAR0' },
      ],
      ['cookies', { _twclid: '{"twclid":"abc"}', _ttp: '', _scid: null, li_fat_id: 'a-b' }],
      ['pageUrl', 'https://www.my-shop.example:8443/thanks?utm_source=x#top'],
      ['pageUrl', 'http://localhost/'],
      ['utm', { source: 'google', id: '' }],
    ])('allows %s %j', (name, sent) => {
      const body = { ...valid, [name]: sent };
      expect([refusal(body, STRICT), isAllowed(body)]).toEqual([undefined, true]);
    });

    it('allows nothing that is refused', () => {
      const anything = fc.oneof(
        fc.constantFrom(
          null,
          '',
          ' ',
          digest,
          'DE',
          'de',
          '203.0.113.9',
          '::1',
          'fb.1.1772350000000.1',
          '@',
          0,
          1e20,
          1,
        ),
        fc.constantFrom(
          'a@b.c',
          'a%40b.c',
          'GA1.1.1.2',
          '1.2',
          'GS1.1.2',
          '123456789012345',
          123456789012345,
          'granted',
          true,
        ),
        fc.constantFrom(
          'http://a',
          'https://a.b/?gclid=x',
          'https://[',
          'http://999.1/',
          'http://xn--a/',
          'http://a:99999/',
        ),
        fc.webUrl(),
        fc.string({ unit: 'grapheme' }),
        fc.stringMatching(/^[!-~]*$/),
      );
      const names = [
        ...SENT_CLICK_IDS,
        ...COOKIE_NAMES,
        '_ga_1',
        'source',
        'ad_storage',
        'a',
        'a@b.c',
        '',
        'id',
        'price',
      ];
      const object = fc.dictionary(fc.constantFrom(...names), anything, { maxKeys: 3, noNullPrototype: true });
      const value = fc.oneof(anything, object, fc.array(fc.oneof(object, anything), { maxLength: 2 }), fc.jsonValue());
      const body = fc.record(Object.fromEntries(OPTIONAL_FIELDS.map(({ name }) => [name, value])), {
        requiredKeys: [],
        noNullPrototype: true,
      });
      // One field for each body: another that is refused would hide it.
      const one = fc
        .constantFrom(...OPTIONAL_FIELDS.map(({ name }) => name))
        .chain((name) => fc.record({ [name]: value }));
      return fc.assert(
        fc.property(fc.oneof({ arbitrary: one, weight: 9 }, body), (sent) => {
          const sentBody = { ...valid, ...sent };
          const refused = refusal(sentBody, STRICT);
          if (isAllowed(sentBody) && refused !== TOO_FAR_AHEAD)
            expect([sentBody, refused]).toEqual([sentBody, undefined]);
        }),
        { seed: 20_261_119, numRuns: 5_000 },
      );
    });
  });
});
