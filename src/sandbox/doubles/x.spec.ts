import { problems, said } from '../../../test/support/platform-doubles.js';
import { FAILURE_KINDS, sandboxRequest } from '../double.js';
import { x } from './x.js';

const NOW_MS = Date.parse('2026-03-01T10:16:00Z');
const HASH = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';
const PATH = '/12/measurement/conversions/o8z6j';
const REQUEST = { params: { account_id: expect.any(String) } };

const CONVERSION = {
  conversion_time: '2026-03-01T10:15:30.000Z',
  event_id: 'tw-o8z6j-o87ne',
  conversion_id: 'evt-1001',
  value: '129.90',
  number_items: 1,
  identifiers: [
    { twclid: 'TWCLID' },
    { hashed_email: HASH },
    { hashed_phone_number: HASH },
    { ip_address: '203.0.113.10', user_agent: 'UA' },
  ],
  contents: [{ content_id: 'SKU-1', content_price: 129.9, num_items: 1 }],
};

function post(body: unknown, headers: Record<string, string | undefined> = {}, address = PATH) {
  return sandboxRequest('POST', address, {
    headers: { 'x-pixel-token': 'token', 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    nowMs: NOW_MS,
  });
}
const send = (...conversions: unknown[]) => x.answer(post({ conversions }));

describe('the double of X', () => {
  describe('when everything is right', () => {
    it('takes one conversion', () => {
      const answer = send(CONVERSION);
      expect(answer.status).toBe(200);
      expect(said(answer)).toEqual({
        request: REQUEST,
        data: { conversions_processed: 1, debug_id: expect.any(String) },
      });
      expect(answer.received).toEqual([
        {
          eventId: 'evt-1001',
          event: 'tw-o8z6j-o87ne',
          problems: [],
          accepted: true,
          bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          dedupKey: 'tw-o8z6j-o87ne evt-1001',
        },
      ]);
    });

    it('takes a batch in its order', () => {
      const answer = send(CONVERSION, { ...CONVERSION, conversion_id: 'evt-1002' });
      expect(said(answer)).toMatchObject({ data: { conversions_processed: 2 } });
      expect(answer.received?.map((item) => [item.eventId, item.accepted])).toEqual([
        ['evt-1001', true],
        ['evt-1002', true],
      ]);
    });

    it.each([
      ['a click alone', { ...CONVERSION, identifiers: [{ twclid: 'TWCLID' }] }],
      ['an email alone', { ...CONVERSION, identifiers: [{ hashed_email: HASH }] }],
      ['an address beside an email', { ...CONVERSION, identifiers: [{ hashed_email: HASH, ip_address: '::1' }] }],
      ['an address with its agent', { ...CONVERSION, identifiers: [{ ip_address: '::1', user_agent: 'UA' }] }],
      ['the short id of an event', { ...CONVERSION, event_id: 'o87ne' }],
      ['no amount', { ...CONVERSION, value: undefined, number_items: undefined, contents: undefined }],
      ['a conversion of long ago', { ...CONVERSION, conversion_time: '2024-03-01T10:15:30Z' }],
    ])('takes %s', (_, conversion) => {
      expect(problems(send(conversion))).toEqual([[]]);
      expect(send(conversion).status).toBe(200);
    });

    it('takes a token of OAuth 1.0a', () => {
      const authorization = 'OAuth oauth_consumer_key="k", oauth_token="token", oauth_signature="s"';
      const headers = { 'x-pixel-token': undefined, authorization };
      expect(x.answer(post({ conversions: [CONVERSION] }, headers)).status).toBe(200);
    });
  });

  describe('when a conversion is wrong', () => {
    it.each([
      ['conversion_time', undefined, 'MISSING_PARAMETER', 'conversion_time', 'is missing'],
      ['conversion_time', 1772360130, 'INVALID_PARAMETER', 'conversion_time', 'is not an ISO 8601 time with a time zone'],
      ['conversion_time', '2026-02-31T99:15:30Z', 'INVALID_PARAMETER', 'conversion_time', 'is not a valid time'],
      ['conversion_time', '2026-03-01T11:15:30+01:00', 'INVALID_PARAMETER', 'conversion_time', 'is not in UTC'],
      ['event_id', undefined, 'MISSING_PARAMETER', 'event_id', 'is missing'],
      ['event_id', 7, 'INVALID_PARAMETER', 'event_id', 'is not a string'],
      ['event_id', 'Purchase', 'INVALID_PARAMETER', 'event_id', 'is not an event id'],
      ['conversion_id', 1001, 'INVALID_PARAMETER', 'conversion_id', 'is not a string'],
      ['value', 129.9, 'INVALID_PARAMETER', 'value', 'is not a string'],
      ['value', '129,90', 'INVALID_PARAMETER', 'value', 'is not a decimal number'],
      ['number_items', '1', 'INVALID_PARAMETER', 'number_items', 'is not a whole number'],
      ['description', 7, 'INVALID_PARAMETER', 'description', 'is not a string'],
      ['identifiers', undefined, 'MISSING_PARAMETER', 'identifiers', 'is missing'],
      ['identifiers', {}, 'INVALID_PARAMETER', 'identifiers', 'is not a list'],
      ['identifiers', [], 'INVALID_PARAMETER', 'identifiers', 'is empty'],
      ['identifiers', ['x'], 'INVALID_PARAMETER', 'identifiers.0', 'is not an object'],
      ['identifiers', [{}], 'INVALID_PARAMETER', 'identifiers.0', 'is empty'],
      ['identifiers', [{ ip_address: '::1' }], 'INVALID_PARAMETER', 'identifiers.0.ip_address', 'requires another identifier'],
      ['identifiers', [{ user_agent: 'UA' }], 'INVALID_PARAMETER', 'identifiers.0.user_agent', 'requires another identifier'],
      [
        'identifiers',
        [{ ip_address: '::1' }, { user_agent: 'UA' }],
        'INVALID_PARAMETER',
        'identifiers.0.ip_address',
        'requires another identifier',
      ],
      ['identifiers', [{ email: HASH }], 'INVALID_PARAMETER', 'identifiers.0.email', 'is not a known identifier'],
      ['identifiers', [{ twclid: HASH }], 'INVALID_PARAMETER', 'identifiers.0.twclid', 'must not be hashed'],
      [
        'identifiers',
        [{ twclid: 'T', ip_address: HASH }],
        'INVALID_PARAMETER',
        'identifiers.0.ip_address',
        'is not an IP address',
      ],
      ['contents', {}, 'INVALID_PARAMETER', 'contents', 'is not a list'],
      ['contents', ['x'], 'INVALID_PARAMETER', 'contents.0', 'is not an object'],
      ['contents', [{ content_id: 1 }], 'INVALID_PARAMETER', 'contents.0.content_id', 'is not a string'],
      ['contents', [{ num_items: '1' }], 'INVALID_PARAMETER', 'contents.0.num_items', 'is not a whole number'],
      ['contents', [{ content_price: '1' }], 'INVALID_PARAMETER', 'contents.0.content_price', 'is not a number'],
    ])('refuses %s = %j', (field, value, code, parameter, details) => {
      const answer = send({ ...CONVERSION, [field]: value });
      expect(answer.status).toBe(400);
      const { errors, request } = said(answer) as { errors: unknown[]; request: unknown };
      expect(errors[0]).toEqual({ code, parameter, message: `${parameter} ${details}`, details });
      expect(request).toEqual(REQUEST);
      expect(answer.received).toMatchObject([{ accepted: false }]);
      expect(problems(answer)?.[0]).toContain(`${parameter} ${details}`);
    });

    it.each([
      ['hashed_email', 'jane.doe@example.com'],
      ['hashed_email', HASH.toUpperCase()],
      ['hashed_phone_number', '+15550104477'],
    ])('refuses %s = %j', (name, value) => {
      const answer = send({ ...CONVERSION, identifiers: [{ [name]: value }] });
      expect(answer.status).toBe(400);
      expect(said(answer)).toMatchObject({ errors: [{ parameter: `identifiers.0.${name}` }] });
      expect(answer.body).not.toContain(value);
    });

    it('refuses the good ones of the batch with it, and does not say which it was', () => {
      const answer = send(CONVERSION, { ...CONVERSION, conversion_id: 'evt-1002', event_id: undefined }, 'x');
      expect(answer.status).toBe(400);
      expect(said(answer)).toMatchObject({ errors: [{ parameter: 'event_id' }, { parameter: 'conversion' }] });
      expect(answer.received?.map(({ eventId, accepted }) => [eventId, accepted])).toEqual([
        ['evt-1001', false],
        ['evt-1002', false],
        ['', false],
      ]);
      expect(problems(answer)).toEqual([[], ['event_id is missing'], ['conversion is not an object']]);
    });

    it('takes a conversion without an id, and notes that its repeats cannot be told', () => {
      const answer = send({ ...CONVERSION, conversion_id: undefined });
      expect(answer.status).toBe(200);
      expect(answer.received).toMatchObject([{ eventId: '', accepted: true }]);
      expect(answer.received?.[0]).not.toHaveProperty('dedupKey');
      expect(problems(answer)).toEqual([['conversion_id is missing: duplicates cannot be detected']]);
    });
  });

  describe('when the request is wrong', () => {
    it.each([
      ['no JSON', '{', 'INVALID_PARAMETER'],
      ['no object', '[]', 'INVALID_PARAMETER'],
      ['no conversions', {}, 'MISSING_PARAMETER'],
      ['no list', { conversions: {} }, 'INVALID_PARAMETER'],
      ['an empty list', { conversions: [] }, 'INVALID_PARAMETER'],
      ['too many conversions', { conversions: Array(501).fill(CONVERSION) }, 'INVALID_PARAMETER'],
    ])('refuses %s', (_, body, code) => {
      const answer = x.answer(post(body));
      expect(answer.status).toBe(400);
      expect(said(answer)).toMatchObject({ errors: [{ code }], request: REQUEST });
      expect(answer.received).toBeUndefined();
    });

    it('takes as many conversions as may be', () => {
      expect(said(send(...Array(500).fill(CONVERSION)))).toMatchObject({ data: { conversions_processed: 500 } });
    });

    it('refuses another content type', () => {
      expect(x.answer(post({ conversions: [CONVERSION] }, { 'content-type': 'text/plain' })).status).toBe(400);
    });

    it.each(['/measurement/conversions/o8z6j', '/12/measurement/conversions', `${PATH}/`, '/'])(
      'has nothing at %s',
      (path) => {
        const answer = x.answer(post({ conversions: [CONVERSION] }, {}, path));
        expect(answer.status).toBe(404);
        expect(said(answer)).toMatchObject({ errors: [{ code: 'ROUTE_NOT_FOUND' }] });
      },
    );

    it('knows no GET', () => {
      expect(x.answer(sandboxRequest('GET', PATH)).status).toBe(405);
    });
  });

  describe('when the credentials are wrong', () => {
    it.each([
      [{ 'x-pixel-token': undefined }, 401, 'UNAUTHORIZED_ACCESS'],
      [{ 'x-pixel-token': '' }, 401, 'UNAUTHORIZED_ACCESS'],
      [{ 'x-pixel-token': undefined, authorization: 'Bearer token' }, 401, 'UNAUTHORIZED_ACCESS'],
      [{ 'x-pixel-token': 'a-bad-one' }, 401, 'UNAUTHORIZED_ACCESS'],
      [{ 'x-pixel-token': 'forbidden' }, 403, 'UNAUTHORIZED_CLIENT_APPLICATION'],
    ])('answers %j with %d %s', (headers, status, code) => {
      const answer = x.answer(post({ conversions: [CONVERSION] }, headers));
      expect(answer.status).toBe(status);
      expect(said(answer)).toEqual({ errors: [{ code, message: expect.any(String) }], request: REQUEST });
      expect(answer.received).toBeUndefined();
    });
  });

  describe('when a conversion comes again', () => {
    it('answers as at first, with the same key and body', () => {
      const [first, second] = [send(CONVERSION), send(CONVERSION)];
      expect(second.status).toBe(200);
      expect(second.received).toEqual(first.received);
    });

    it('shows that the body changed', () => {
      const [first, second] = [send(CONVERSION).received?.[0], send({ ...CONVERSION, value: '1' }).received?.[0]];
      expect(second?.dedupKey).toBe(first?.dedupKey);
      expect(second?.bodySha256).not.toBe(first?.bodySha256);
    });

    it('tells events apart, without a window', () => {
      expect(send({ ...CONVERSION, event_id: 'o87nf' }).received?.[0]?.dedupKey).toBe('o87nf evt-1001');
      expect(x.dedupWindowMs).toBeUndefined();
    });
  });

  describe('when told to fail', () => {
    it.each([
      ['refuse', 400, 'INVALID_PARAMETER'],
      ['refuse_one', 400, 'INVALID_PARAMETER'],
      ['throttle', 429, 'TOO_MANY_REQUESTS'],
      ['server_error', 500, 'INTERNAL_ERROR'],
      ['unauthorized', 401, 'UNAUTHORIZED_ACCESS'],
      ['forbidden', 403, 'UNAUTHORIZED_CLIENT_APPLICATION'],
    ] as const)('answers %s with %d %s', (kind, status, code) => {
      const answer = x.fail(kind, post({ conversions: [CONVERSION] }));
      expect(answer.status).toBe(status);
      expect(said(answer)).toMatchObject({ errors: [{ code, message: expect.any(String) }], request: REQUEST });
    });

    it('says until when to wait', () => {
      const { headers } = x.fail('throttle', post({ conversions: [CONVERSION] }));
      const reset = String(NOW_MS / 1_000 + 1);
      expect(headers).toMatchObject({ 'x-rate-limit-reset': reset, 'x-account-rate-limit-reset': reset });
    });

    it.each(['refuse', 'refuse_one'] as const)('leaves the whole batch out at %s', (kind) => {
      const answer = x.fail(kind, post({ conversions: [CONVERSION, CONVERSION] }));
      expect(answer.received?.map(({ accepted, problems }) => [accepted, problems])).toEqual([
        [false, []],
        [false, []],
      ]);
    });

    it.each(FAILURE_KINDS)('has an answer to %s of something unreadable', (kind) => {
      expect(x.fail(kind, post('{')).status).toBeGreaterThanOrEqual(400);
    });
  });
});
