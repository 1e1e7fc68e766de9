import * as fc from 'fast-check';
import { bodySchema } from './body-schema.js';
import { OPTIONAL_FIELDS } from './fields/optional-fields.js';
import type { BodyReading } from './inbound-field.js';
import { readInboundFields, UNKNOWN_FIELDS } from './inbound-fields.js';

const digest = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';
const NOW_MS = Date.parse('2026-03-01T10:15:30Z');
const valid = { email: 'jane.doe@example.com', event: 'purchase' };

function read(body: Record<string, unknown> | string, isStrict = true, more: Partial<BodyReading> = {}) {
  const rawBody = typeof body === 'string' ? body : JSON.stringify(body);
  const reading = { rawBody: Buffer.from(rawBody), clock: { nowMs: () => NOW_MS }, isStrict, ...more };
  return readInboundFields(JSON.parse(rawBody), reading);
}

/** What is read of a conversion with these fields on a site without strict fields. */
function usedOf(over: Record<string, unknown>) {
  const reading = read({ ...valid, ...over }, false);
  if (!reading.ok) throw new Error(reading.error);
  const { email: _, event: __, currency: ___, warnings = [], ...fields } = reading.fields;
  return { ...fields, warnings: warnings.map(({ text }) => text) };
}

function fieldsOf(body: Record<string, unknown> | string) {
  const reading = read(body);
  if (!reading.ok) throw new Error(reading.error);
  return reading.fields;
}

function errorOf(body: Record<string, unknown> | string) {
  const reading = read(body);
  return reading.ok ? undefined : reading.error;
}

describe('readInboundFields', () => {
  it('reads every field', () => {
    expect(
      fieldsOf({
        email: ' Jane.Doe@Example.com ',
        event: 'purchase',
        value: 129.9,
        currency: 'eur',
        orderId: 'ORD-1001',
        firstName: 'Jane',
        lastName: 'Doe',
        phone: '+1 (555) 010-4477',
      }),
    ).toStrictEqual({
      email: 'jane.doe@example.com',
      event: 'purchase',
      value: 129.9,
      currency: 'EUR',
      orderId: 'ORD-1001',
      firstName: 'Jane',
      lastName: 'Doe',
      phone: '+15550104477',
    });
  });

  it('reads a phone as it is hashed', () => {
    const phoneOf = (phone: string, country?: string) => {
      const reading = read({ ...valid, phone }, false, { country });
      return reading.ok && reading.fields.phone;
    };
    expect(phoneOf('030 901820', 'DE')).toBe('+4930901820');
    expect(phoneOf('030 901820')).toBe('030 901820');
    expect(phoneOf('0049 (0)30 901820')).toBe('+4930901820');
  });

  it('requires only an email and an event, and defaults to USD', () => {
    expect(fieldsOf(valid)).toStrictEqual({ ...valid, currency: 'USD' });
  });

  it('treats null as absent and uses no unknown fields', () => {
    const nothing = { hashed_email: null, value: null, currency: null, orderId: null };
    expect(
      fieldsOf({ ...valid, ...nothing, firstName: null, lastName: null, phone: null, unknown: [1] }),
    ).toStrictEqual({
      warnings: [expect.objectContaining({ kind: 'unknown' })],
      ...valid,
      currency: 'USD',
    });
    for (const { name } of OPTIONAL_FIELDS) {
      expect(fieldsOf({ ...valid, [name]: null })).toStrictEqual({ ...valid, currency: 'USD' });
      expect(fieldsOf({ ...valid, [name]: '' })).toStrictEqual({ ...valid, currency: 'USD' });
    }
    expect(errorOf({ email: null, hashed_email: null, event: 'lead' })).toBe('email or hashed_email required');
    expect(errorOf({ ...valid, event: null })).toBe('event required');
  });

  it('treats an empty name or phone as absent', () => {
    expect(fieldsOf({ ...valid, firstName: '', lastName: '', phone: '' })).toStrictEqual({ ...valid, currency: 'USD' });
  });

  describe('email and hashed_email', () => {
    it('reads a digest in any case', () => {
      expect(fieldsOf({ hashed_email: ` ${digest.toUpperCase()}`, event: 'lead' })).toStrictEqual({
        hashedEmail: digest,
        event: 'lead',
        currency: 'USD',
      });
    });

    it('prefers the email when both are sent', () => {
      expect(fieldsOf({ ...valid, hashed_email: 'not a digest' })).toStrictEqual({ ...valid, currency: 'USD' });
      expect(errorOf({ email: 'nonsense', hashed_email: digest, event: 'lead' })).toBe('email is invalid');
    });

    it.each(['', '  ', null])('reads the digest when the email is %j', (email) => {
      expect(fieldsOf({ email, hashed_email: digest, event: 'lead' }).hashedEmail).toBe(digest);
    });

    it.each([{}, { email: '' }, { email: ' ', hashed_email: '' }, { hashed_email: ' ' }])(
      'requires one of them in %j',
      (body) => {
        expect(errorOf({ ...body, event: 'lead' })).toBe('email or hashed_email required');
      },
    );

    it.each([
      'a@b.c',
      'o’brien+news@mail.example.co.uk',
      'zoë@münchen.example',
      `${'x'.repeat(64)}@example.com`,
      `${'😀'.repeat(64)}@example.com`,
      `a@${'x'.repeat(248)}.com`,
      '\u00a0a@b.c\n',
    ])('accepts %j', (email) => {
      expect(fieldsOf({ ...valid, email }).email).toBe(email.trim());
    });

    it.each([
      'nonsense',
      '@example.com',
      'a@example',
      'a.b@example',
      'a@b@example.com',
      'a b@example.com',
      'a@exam\u00a0ple.com',
      'a@exam\tple.com',
      'a\u007f@example.com',
      'a\u0007@example.com',
      'a\u0085@example.com',
      `${'x'.repeat(65)}@example.com`,
      `${'😀'.repeat(65)}@example.com`,
      `a@${'x'.repeat(249)}.com`,
      5,
      false,
      {},
      ['a@b.c'],
    ])('rejects %j', (email) => {
      expect(errorOf({ ...valid, email })).toBe('email is invalid');
    });

    it.each([digest.slice(1), `${digest}0`, digest.replace('8', 'g'), 'a@b.c', 5, [digest]])(
      'rejects the digest %j',
      (hash) => {
        expect(errorOf({ hashed_email: hash, event: 'lead' })).toBe('hashed_email must be a SHA-256 hex digest');
      },
    );
  });

  describe('event', () => {
    it('is stored in the form in which it is compared', () => {
      expect(fieldsOf({ ...valid, event: ' Sign Up ' })).toMatchObject({
        event: 'Sign Up',
        sent: { event: ' Sign Up ' },
      });
      expect(fieldsOf({ ...valid, event: 'Sign Up' })).not.toHaveProperty('sent');
      expect(fieldsOf({ ...valid, event: '😀'.repeat(100) }).event).toBe('😀'.repeat(100));
    });

    it.each(['', ' ', null, undefined])('is required when it is %j', (event) => {
      expect(errorOf({ ...valid, event })).toBe('event required');
    });

    it.each(['x'.repeat(101), '😀'.repeat(101), 5, true, {}, []])('rejects %j', (event) => {
      expect(errorOf({ ...valid, event })).toBe('event must be 1 to 100 characters');
    });
  });

  describe('value', () => {
    it.each([0, 0.1, 129.9, 1e15])('accepts %j', (value) => {
      expect(fieldsOf({ ...valid, value }).value).toBe(value);
    });

    it.each(['-1', '-0.01', '"12"', '""', 'true', '[]', '{}', '1e999', '-1e999'])('rejects %s', (value) => {
      expect(errorOf(`{"email":"a@b.c","event":"lead","value":${value}}`)).toBe('value must be a non-negative number');
    });
  });

  it.each(['', 'E', 'EURO', 'XXX', 'ZZZ', '€', ' EUR', 978, {}, ['EUR']])('rejects the currency %j', (currency) => {
    expect(errorOf({ ...valid, currency })).toBe('currency must be an ISO 4217 code');
  });

  describe('orderId', () => {
    const orderIdOf = (json: string) => fieldsOf(`{"email":"a@b.c","event":"lead","orderId":${json}}`).orderId;

    it.each([
      ['"ORD-1"', 'ORD-1'],
      ['" 1 "', '1'],
      ['0', '0'],
      ['1001', '1001'],
      ['9007199254740991', '9007199254740991'],
      ['9007199254740993', '9007199254740993'],
      ['12345678901234567890', '12345678901234567890'],
    ])('reads %s', (json, orderId) => {
      expect(orderIdOf(json)).toBe(orderId);
    });

    it('accepts 255 characters', () => {
      expect(orderIdOf(`"${'😀'.repeat(255)}"`)).toBe('😀'.repeat(255));
      expect(orderIdOf('9'.repeat(255))).toBe('9'.repeat(255));
    });

    it.each([
      '""',
      '"  "',
      `"${'x'.repeat(256)}"`,
      '9'.repeat(256),
      '9'.repeat(400),
      '-1',
      '-12345678901234567890',
      '1.5',
      '1e30',
      '1e999',
      'true',
      '{}',
      '[1]',
    ])('rejects %s', (json) => {
      expect(() => orderIdOf(json)).toThrow('orderId must be 1 to 255 characters');
    });
  });

  it.each([
    ['firstName', 255],
    ['lastName', 255],
    ['phone', 64],
  ])('reads the field %s of at most %d characters', (name, max) => {
    expect(fieldsOf({ ...valid, [name]: '😀'.repeat(max) })).toHaveProperty(name, '😀'.repeat(max));
    for (const wrong of ['x'.repeat(max + 1), 5, true, ['x'], {}]) {
      expect(errorOf({ ...valid, [name]: wrong })).toBe(`${name} must be text of at most ${max} characters`);
    }
  });

  it('reads the optional fields', () => {
    expect(
      fieldsOf({
        ...valid,
        occurredAt: '2026-03-01T11:00:00+01:00',
        items: [{ id: 7, name: '', price: 5, other: true }],
        externalId: ' C-1 ',
        city: ' Bad  Honnef ',
        region: 'NW',
        postalCode: '53604',
        country: 'de',
        source: 'phone_call',
        clickIds: { gclid: 'Cj0', fbp: null, ttclid: '' },
        ipAddress: '2001:db8::1',
        userAgent: 'Mozilla/5.0',
      }),
    ).toStrictEqual({
      ...valid,
      currency: 'USD',
      occurredAt: '2026-03-01T10:00:00.000Z',
      items: [{ id: '7', price: 5 }],
      externalId: 'C-1',
      address: { city: 'Bad Honnef', region: 'NW', postalCode: '53604', country: 'DE' },
      source: 'phone_call',
      clickIds: { gclid: 'Cj0' },
      ipAddress: '2001:db8::1',
      userAgent: 'Mozilla/5.0',
    });
  });

  it('omits optional fields without contents', () => {
    const nothing = { items: [], externalId: ' ', city: ' ', clickIds: { gclid: null }, userAgent: ' ' };
    expect(fieldsOf({ ...valid, ...nothing })).toStrictEqual({ ...valid, currency: 'USD' });
  });

  it.each([
    ['occurredAt', '2026-03-01', 'occurredAt must be an RFC 3339 time with offset, or Unix seconds'],
    ['occurredAt', true, 'occurredAt must be an RFC 3339 time with offset, or Unix seconds'],
    ['occurredAt', NOW_MS, 'occurredAt must not be more than 10 minutes ahead'],
    ['items', 'SKU-1', 'items must be a list of at most 100 items'],
    ['externalId', 'x'.repeat(129), 'externalId must be text of at most 128 characters'],
    ['externalId', -1, 'externalId must be text of at most 128 characters'],
    ['externalId', {}, 'externalId must be text of at most 128 characters'],
    ['city', 'x'.repeat(129), 'city must be text of at most 128 characters without an email address'],
    ['city', 'jane@example.com', 'city must be text of at most 128 characters without an email address'],
    ['region', 5, 'region must be text of at most 128 characters without an email address'],
    ['postalCode', 10_115, 'postalCode must be text of at most 32 characters without an email address'],
    ['country', 'Germany', 'country must be an ISO 3166 alpha-2 code'],
    ['country', 'UK', 'country must be an ISO 3166 alpha-2 code'],
    ['country', 49, 'country must be an ISO 3166 alpha-2 code'],
    ['source', 'shop', 'source must be one of website, phone_call, physical_store, email, app, crm, other'],
    ['clickIds', ['gclid'], 'clickIds must be an object'],
    ['ipAddress', '203.0.113.256', 'ipAddress must be an IPv4 or IPv6 address'],
    ['ipAddress', 'fe80::1%eth0', 'ipAddress must be an IPv4 or IPv6 address'],
    ['ipAddress', 3_405_803_786, 'ipAddress must be an IPv4 or IPv6 address'],
    ['userAgent', 'x'.repeat(1_025), 'userAgent must be text of at most 1024 characters on one line'],
    ['userAgent', 'a\nb', 'userAgent must be text of at most 1024 characters on one line'],
  ])('rejects %s %j', (name, sent, error) => {
    expect(errorOf({ ...valid, [name]: sent })).toBe(error);
  });

  describe('an unknown field', () => {
    const warningsOf = (over: Record<string, unknown>) => fieldsOf({ ...valid, ...over }).warnings;

    it.each([
      ['order_id', 'order_id', 'orderId'],
      ['orderID', 'order_id', 'orderId'],
      ['Order Id', 'order_id', 'orderId'],
      ['transaction_id', 'transaction_id', 'orderId'],
      ['amount', 'amount', 'value'],
      ['Total', 'total', 'value'],
      ['firstname', 'first_name', 'firstName'],
      ['e-mail', 'e-mail', 'email'],
      ['EMAIL', 'e-mail', 'email'],
      ['CONSENT', 'Consent', 'consent'],
      ['hashedEmail', 'hashedEmail', 'hashed_email'],
      ['gclid', 'gclid', 'clickIds.gclid'],
      ['utm_source', 'utm_source', 'utm.source'],
      ['_fbp', '_fbp', 'cookies._fbp'],
      ['fbp', 'fbp', 'clickIds.fbp'],
    ])('%j is named with the right name, and counted as %s', (name, field, use) => {
      const text = `${name} is an unknown field: ignored (use ${use})`;
      expect(warningsOf({ [name]: 1 })).toEqual([{ kind: 'unknown', field, text }]);
      expect(UNKNOWN_FIELDS.rightNameOf(field)).toBe(use);
    });

    it.each(['gift_wrap', 'constructor', 'toString', 'x'.repeat(40)])('%s is counted as other', (name) => {
      const text = `${name} is an unknown field: ignored`;
      expect(warningsOf({ [name]: [] })).toEqual([{ kind: 'unknown', field: 'other', text }]);
    });

    it.each([
      '',
      'jane@example.com',
      '+1 650 555 0100',
      '16505550100',
      'a\r\nSet-Cookie: b=1',
      'a; b',
      'größe',
      'x'.repeat(41),
    ])('with the name %j is not quoted', (name) => {
      const text = 'an unknown field, whose name is not shown: ignored';
      expect(warningsOf({ [name]: 1 })).toEqual([{ kind: 'unknown', field: 'other', text }]);
    });

    it('that is listed and has a name that does not fit into a header is named as it is listed', () => {
      expect(warningsOf({ 'order\nid': 1 })?.[0]?.text).toBe('order_id is an unknown field: ignored (use orderId)');
    });

    it('with a name that is not quoted is named once', () => {
      expect(warningsOf({ 'a@example.com': 1, gift: 1, 'b@example.com': 1 })).toHaveLength(2);
    });

    it('is not named without a value', () => {
      expect(warningsOf({ order_id: null, amount: '' })).toBeUndefined();
    });

    it('is named in the order of the request', () => {
      const reading = read({ tax: 1, country: 'Atlantis', ...valid, value: 3, giftwrap: 1 }, false);
      expect(reading.ok && reading.fields.warnings?.map(({ kind, field }) => [kind, field])).toEqual([
        ['unknown', 'tax'],
        ['dropped', 'country'],
        ['assumed', 'currency'],
        ['unknown', 'other'],
      ]);
    });
  });

  describe('a value without a currency', () => {
    const body = { ...valid, value: 3 };
    const text = 'value has no currency: USD is assumed';

    it('is in USD, with a warning', () => {
      expect(fieldsOf(body)).toMatchObject({
        currency: 'USD',
        warnings: [{ kind: 'assumed', field: 'currency', text }],
      });
      expect(fieldsOf({ ...body, currency: null }).warnings).toHaveLength(1);
      expect(fieldsOf({ ...body, currency: 'USD' }).warnings).toBeUndefined();
      expect(fieldsOf(valid).warnings).toBeUndefined();
    });

    it('is in the currency of the site', () => {
      const reading = readInboundFields(body, {
        rawBody: '',
        clock: { nowMs: () => NOW_MS },
        isStrict: true,
        currency: 'EUR',
      });
      expect(reading).toEqual({ ok: true, fields: { ...body, currency: 'EUR' } });
    });
  });

  describe('a text that cannot be hashed', () => {
    const NO_PHONE = 'phone is no possible number, or lacks its country code: dropped';
    it.each<[Record<string, unknown>, string[]]>([
      [{ phone: '030 123456' }, [NO_PHONE]],
      [{ phone: 'n/a', country: 'DE' }, [NO_PHONE]],
      [{ phone: '030 123456', country: 'DE' }, []],
      [{ phone: ' ', firstName: ' ' }, []],
      [
        { lastName: '---', firstName: '. -' },
        ['lastName has only punctuation: dropped', 'firstName has only punctuation: dropped'],
      ],
      [{ firstName: "O'", lastName: 'Ж.' }, []],
    ])('%j is named as dropped', (sent, warnings) => {
      expect(usedOf(sent).warnings).toEqual(warnings);
      expect(errorOf({ ...valid, ...sent })).toBeUndefined();
    });

    it('is used with the country of the site', () => {
      const reading = read({ ...valid, phone: '030 123456' }, true, { country: 'DE' });
      expect(reading.ok && reading.fields.warnings).toBeUndefined();
    });
  });

  it.each(['firstName', 'lastName', 'phone', 'city', 'region', 'postalCode', 'country'])(
    'takes a digest in %s with white space as one',
    (name) => {
      expect(usedOf({ [name]: ` ${digest.toUpperCase()}\n` })).toEqual({ hashed: { [name]: digest }, warnings: [] });
    },
  );

  describe('of a site without strict fields', () => {
    const CLICK = { gclid: 'Cj0' };
    it.each<[name: string, sent: Record<string, unknown>, used: Record<string, unknown>, warnings?: string[]]>([
      ['a name of a country', { country: 'Germany' }, { address: { country: 'DE' } }],
      ['a name in the language of the country', { country: 'Österreich' }, { address: { country: 'AT' } }],
      ['a common form of a country', { country: 'UK' }, { address: { country: 'GB' } }],
      [
        'the alpha-3 code of a country',
        { country: 'usa', region: 'California' },
        { address: { country: 'US', region: 'CA' } },
      ],
      ['a country that is none', { country: 'Atlantis' }, {}, ['country must be an ISO 3166 alpha-2 code: dropped']],
      [
        'the first of several addresses',
        { ipAddress: '203.0.113.9, 10.0.0.1' },
        { ipAddress: '203.0.113.9' },
        ['ipAddress has several addresses: the first is used'],
      ],
      [
        'a list without an address',
        { ipAddress: 'unknown, 10.0.0.1' },
        {},
        ['ipAddress must be an IPv4 or IPv6 address: dropped'],
      ],
      [
        'a time that is none',
        { occurredAt: 'yesterday' },
        {},
        ['occurredAt must be an RFC 3339 time with offset, or Unix seconds: dropped'],
      ],
      ['a source that is none', { source: 'shop' }, {}, [expect.stringMatching(/^source must be one of .*: dropped$/)]],
      [
        'parts of an address',
        { city: 5, postalCode: '10115' },
        { address: { postalCode: '10115' } },
        ['city must be text of at most 128 characters without an email address: dropped'],
      ],
      ['an event id', { eventId: ' evt-1 ' }, { eventId: 'evt-1' }],
      ['an event id that is a number', { eventId: 17 }, { eventId: '17' }],
      [
        'an event id that is too long',
        { eventId: 'x'.repeat(101) },
        {},
        ['eventId must be 1 to 100 characters: dropped'],
      ],
      [
        'consent',
        { consent: { ad_storage: 'granted', ad_user_data: 'denied', analytics_storage: null } },
        { consent: { ad_storage: 'granted', ad_user_data: 'denied' } },
      ],
      [
        'consent that is none',
        { consent: { ad_storage: 'GRANTED', gpc: true } },
        {},
        [
          'consent.ad_storage must be granted or denied: dropped',
          'consent must have no other names than ad_storage, ad_user_data, ad_personalization, analytics_storage: dropped',
        ],
      ],
      ['consent that is no object', { consent: 'granted' }, {}, ['consent must be an object: dropped']],
      [
        'a page with its click ids and campaign',
        { pageUrl: 'https://shop.example/Thanks?email=jane&GCLID=Cj0&utm_source=news&order=7#top' },
        { pageUrl: 'https://shop.example/Thanks?GCLID=Cj0&utm_source=news', clickIds: CLICK, utm: { source: 'news' } },
      ],
      [
        'a page, after what is stated',
        {
          pageUrl: 'https://shop.example/?gclid=page&utm_source=page&utm_medium=page',
          clickIds: CLICK,
          utm: { source: 'news' },
        },
        {
          pageUrl: 'https://shop.example/?gclid=page&utm_source=page&utm_medium=page',
          clickIds: CLICK,
          utm: { source: 'news', medium: 'page' },
        },
      ],
      [
        'no path with an email address',
        { pageUrl: 'https://shop.example/u/jane%40example.com' },
        { pageUrl: 'https://shop.example/' },
      ],
      [
        'a referrer',
        { referrer: 'https://www.google.com/search?q=jane' },
        { referrer: 'https://www.google.com/search' },
      ],
      [
        'no address of another kind',
        { pageUrl: '/thanks', referrer: 'javascript:alert(1)' },
        {},
        [
          'pageUrl must be an address with http or https of at most 8192 characters: dropped',
          'referrer must be an address with http or https of at most 8192 characters: dropped',
        ],
      ],
      [
        'cookies',
        {
          cookies: {
            _ga: 'GA1.1.111.222',
            _ga_ABC: 'GS2.1.s1772350000$o1',
            _ga_OLD: 'GS1.1.1700000000.1',
            _fbp: 'fb.1.1772350000000.1',
            _fbc: 'fb.1.1772350000000.IwAR0',
            _ttp: 'ttp',
            _scid: 'scid',
            _pin_unauth: 'dWlk',
            _epik: 'epik',
            _rdt_uuid: '1.a',
            _uetmsclkid: '_uet0123',
            li_fat_id: 'li',
            _twclid: '%7B%22pixelVersion%22%3A%22v3%22%2C%22twclid%22%3A%22tw%22%7D',
          },
        },
        {
          cookies: {
            _ga: '111.222',
            _ga_session: '1772350000',
            _fbp: 'fb.1.1772350000000.1',
            _ttp: 'ttp',
            _scid: 'scid',
            _rdt_uuid: '1.a',
          },
          clickIds: { fbc: 'fb.1.1772350000000.IwAR0', epik: 'epik', msclkid: '0123', li_fat_id: 'li', twclid: 'tw' },
        },
      ],
      [
        'no cookie of another name or form',
        { cookies: { _ga: 'x', session: 'secret', _fbp: 'jane@example.com' } },
        {},
        [
          'cookies._ga must have the value of the cookie, of visible ASCII characters without @: dropped',
          expect.stringMatching(/^cookies must have no other names than _ga, .* and _ga_<id>: dropped$/),
          'cookies._fbp must have the value of the cookie, of visible ASCII characters without @: dropped',
        ],
      ],
      ['a campaign', { utm: { source: ' news ', term: '', id: null } }, { utm: { source: 'news' } }],
      [
        'no campaign of another name, or with an email address',
        { utm: { campaign: 'to jane@example.com', source_platform: 'x' } },
        {},
        [
          'utm.campaign must be text of at most 500 characters without an email address: dropped',
          'utm must have no other names than source, medium, campaign, term, content, id: dropped',
        ],
      ],
      [
        'custom values',
        { custom: { profit: 4.5, 'new customer': true, coupon: 'X', none: null } },
        { custom: { profit: 4.5, 'new customer': true, coupon: 'X' } },
      ],
      [
        'at most 20 custom values, of simple types',
        {
          custom: {
            'jane@example.com': 1,
            nested: {},
            ...Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, n])),
          },
        },
        { custom: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, n])) },
        [
          'custom must have keys of 1 to 64 characters without an email address: dropped',
          'custom must have texts of at most 500 characters, numbers and booleans: dropped',
          'custom must have at most 20 keys: the others are dropped',
        ],
      ],
      [
        'hashes',
        { hashed_phone: digest.toUpperCase(), hashed_city: digest },
        { hashed: { phone: digest, city: digest } },
      ],
      [
        'hashes in plain fields',
        { firstName: digest, phone: digest.toUpperCase(), postalCode: digest, country: digest },
        { hashed: { firstName: digest, phone: digest, postalCode: digest, country: digest } },
      ],
      [
        'no hash of nothing and no other text',
        { hashed_last_name: 'Doe', lastName: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' },
        {},
        ['hashed_last_name must be a SHA-256 hex digest: dropped', 'lastName is the hash of an empty text: dropped'],
      ],
    ])('uses %s', (_, sent, used, warnings = []) => {
      expect(usedOf(sent)).toEqual({ ...used, warnings });
    });

    it('names what is dropped in the order of the request', () => {
      expect(usedOf({ country: 'x', source: 'x', city: 5 }).warnings).toEqual([
        expect.stringMatching(/^country/),
        expect.stringMatching(/^source/),
        expect.stringMatching(/^city/),
      ]);
    });

    it('still refuses a time that is ahead, and required fields', () => {
      const errorOf = (over: Record<string, unknown>) => read({ ...valid, ...over }, false);
      expect(errorOf({ occurredAt: NOW_MS })).toMatchObject({
        error: 'occurredAt must not be more than 10 minutes ahead',
      });
      expect(errorOf({ value: '12.5' })).toMatchObject({ error: 'value must be a non-negative number' });
      expect(errorOf({ currency: 'x' })).toMatchObject({ error: 'currency must be an ISO 4217 code' });
      expect(errorOf({ orderId: '' })).toMatchObject({ error: 'orderId must be 1 to 255 characters' });
      expect(errorOf({ email: null, hashed_email: 'x' })).toMatchObject({
        error: 'hashed_email must be a SHA-256 hex digest',
      });
    });
  });

  it.each([
    ['eventId', {}, 'eventId must be 1 to 100 characters'],
    ['consent', { ad_storage: 'yes' }, 'consent.ad_storage must be granted or denied'],
    ['pageUrl', 'thanks', 'pageUrl must be an address with http or https of at most 8192 characters'],
    ['cookies', { _ga: 'x' }, 'cookies._ga must have the value of the cookie, of visible ASCII characters without @'],
    ['utm', [], 'utm must be an object'],
    ['custom', { a: [] }, 'custom must have texts of at most 500 characters, numbers and booleans'],
    ['hashed_region', 'BE', 'hashed_region must be a SHA-256 hex digest'],
    ['ipAddress', '203.0.113.9, 10.0.0.1', 'ipAddress must be an IPv4 or IPv6 address'],
  ])('refuses %s %j on a site with strict fields', (name, sent, error) => {
    expect(errorOf({ ...valid, [name]: sent })).toBe(error);
  });

  it('accepts a time up to 10 minutes ahead', () => {
    const ahead = (seconds: number) => fieldsOf({ ...valid, occurredAt: NOW_MS / 1_000 + seconds }).occurredAt;
    expect(ahead(600)).toBe('2026-03-01T10:25:30.000Z');
    expect(() => ahead(600.001)).toThrow('occurredAt must not be more than 10 minutes ahead');
  });

  it('reads a region together with its country', () => {
    expect(fieldsOf({ ...valid, country: 'us', region: 'California' }).address).toEqual({
      country: 'US',
      region: 'CA',
    });
    expect(fieldsOf({ ...valid, region: 'California' }).address).toEqual({ region: 'California' });
  });

  it('keeps every digit of a numeric external id', () => {
    expect(fieldsOf('{"email":"a@b.c","event":"lead","externalId":12345678901234567890}').externalId).toBe(
      '12345678901234567890',
    );
  });

  it('reads an IPv4 address in the notation of IPv6', () => {
    expect(fieldsOf({ ...valid, ipAddress: '::ffff:203.0.113.10' }).ipAddress).toBe('203.0.113.10');
  });

  it('names the first field that fails, in the documented order', () => {
    const body: Record<string, unknown> = {
      event: '',
      value: -1,
      currency: '',
      orderId: '',
      firstName: 1,
      lastName: 1,
      phone: 1,
    };
    const errors = [];
    for (const [name, good] of [
      ['email', 'a@b.c'],
      ['event', 'lead'],
      ['value', 1],
      ['currency', 'EUR'],
      ['orderId', '1'],
      ['firstName', 'a'],
      ['lastName', 'a'],
      ['phone', '1'],
    ] as const) {
      errors.push(errorOf(body));
      body[name] = good;
    }
    expect(errors).toEqual([
      'email or hashed_email required',
      'event required',
      'value must be a non-negative number',
      'currency must be an ISO 4217 code',
      'orderId must be 1 to 255 characters',
      'firstName must be text of at most 255 characters',
      'lastName must be text of at most 255 characters',
      'phone must be text of at most 64 characters',
    ]);
    expect(read(body).ok).toBe(true);
  });

  it('handles every JSON object and accepts only valid fields', () => {
    const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.maxSafeInteger(), fc.jsonValue());
    const body = fc.record(
      Object.fromEntries(Object.keys(bodySchema({ isStrict: false }).properties).map((name) => [name, anything])),
      {
        requiredKeys: [],
        noNullPrototype: true,
      },
    );
    return fc.assert(
      fc.property(
        fc.oneof(
          body,
          body.map((fields) => ({ ...valid, ...fields })),
          fc.dictionary(fc.string(), anything),
        ),
        (sent) => {
          const reading = read(sent, false);
          if (!reading.ok) {
            expect(reading.error).not.toBe('');
          } else {
            const { email, hashedEmail, event, currency, value = 0 } = reading.fields;
            expect((email === undefined) !== (hashedEmail === undefined)).toBe(true);
            expect(event.length).toBeGreaterThan(0);
            expect(currency).toMatch(/^[A-Z]{3}$/);
            expect(value).toBeGreaterThanOrEqual(0);
            expect(Object.values(reading.fields)).not.toContain(undefined);
            const { occurredAt, items = [], address: { country = 'DE' } = {}, clickIds = {} } = reading.fields;
            expect(Date.parse(occurredAt ?? '2026-03-01T10:15:30.000Z')).toBeLessThanOrEqual(NOW_MS + 600_000);
            expect(items.length).toBeLessThanOrEqual(100);
            expect(country).toMatch(/^[A-Z]{2}$/);
            for (const id of Object.values(clickIds)) expect(id).toMatch(/^[!-~]{1,500}$/);
          }
        },
      ),
      { seed: 20_261_116, numRuns: 1_000 },
    );
  });
});
