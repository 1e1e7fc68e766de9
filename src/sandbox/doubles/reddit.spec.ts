import { problems, said } from '../../../test/support/platform-doubles.js';
import { FAILURE_KINDS, type SandboxAnswer, sandboxRequest } from '../double.js';
import { reddit } from './reddit.js';

const NOW_MS = Date.parse('2026-03-01T10:16:00Z');
const TIME_MS = NOW_MS - 30_000;
const DAY_MS = 86_400_000;
const HASH = 'c4d25e9c90ff23e9145397bc6fbd5385ca5fbe78211222ccbecd0b369ebb19a6';
const PATH = '/api/v3/pixels/a2_abc123/conversion_events';

const USER = {
  email: HASH,
  phone_number: HASH,
  external_id: HASH,
  uuid: '1677712978045.b8f7eb7d-b357-437b-8bd3-e1c8166c7132',
  ip_address: '203.0.113.10',
  user_agent: 'UA',
};
const METADATA = {
  conversion_id: 'evt-1001',
  currency: 'EUR',
  value: 129.9,
  item_count: 1,
  products: [{ id: 'SKU-1', name: 'Thing', category: 'X', quantity: 1, item_price: 129.9 }],
};
const EVENT = {
  event_at: TIME_MS,
  action_source: 'WEBSITE',
  event_source_url: 'https://shop.example/thanks',
  click_id: 'RDT_CID',
  type: { tracking_type: 'PURCHASE' },
  user: USER,
  metadata: METADATA,
};

function post(body: unknown, headers: Record<string, string | undefined> = {}, address = PATH) {
  return sandboxRequest('POST', address, {
    headers: {
      authorization: 'Bearer token',
      'content-type': 'application/json',
      'user-agent': 'relay/1.0 (shop.example)',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    nowMs: NOW_MS,
  });
}
const send = (...events: unknown[]) => reddit.answer(post({ data: { events } }));
const withUser = (user: object) => ({ ...EVENT, user: { ...USER, ...user } });
const withMetadata = (metadata: object) => ({ ...EVENT, metadata: { ...METADATA, ...metadata } });

/** The refusal of bad events: how many there were, and nothing else. */
function expectRefused(answer: SandboxAnswer, problem: unknown) {
  expect(answer.status).toBe(400);
  expect(said(answer)).toEqual({ message: 'There were 1 invalid conversion events. None were processed.' });
  expect(answer.received).toMatchObject([{ accepted: false, problems: [problem] }]);
}

describe('the double of Reddit', () => {
  describe('when everything is right', () => {
    it('takes one event', () => {
      const answer = send(EVENT);
      expect(answer.status).toBe(200);
      expect(said(answer)).toEqual({ data: { message: 'Successfully processed 1 conversion events.' } });
      expect(answer.received).toEqual([
        {
          eventId: 'evt-1001',
          event: 'PURCHASE',
          problems: [],
          accepted: true,
          bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          dedupKey: 'PURCHASE WEBSITE evt-1001',
        },
      ]);
    });

    it('takes a batch in its order', () => {
      const answer = send(EVENT, withMetadata({ conversion_id: 'evt-1002' }));
      expect(said(answer)).toEqual({ data: { message: 'Successfully processed 2 conversion events.' } });
      expect(answer.received?.map((item) => [item.eventId, item.accepted])).toEqual([
        ['evt-1001', true],
        ['evt-1002', true],
      ]);
    });

    it.each([
      ['a click alone', { ...EVENT, user: undefined }],
      ['an email alone', { ...EVENT, click_id: undefined, user: { email: HASH } }],
      ['a raw id of ours', { ...EVENT, click_id: undefined, user: { external_id: 'user-42' } }],
      ['an address with its agent', { ...EVENT, click_id: undefined, user: { ip_address: '::1', user_agent: 'UA' } }],
      ['a hashed address', withUser({ ip_address: HASH })],
      ['an event of its own name', { ...EVENT, type: { tracking_type: 'CUSTOM', custom_event_name: 'Demo' } }],
      ['an event without an amount', { ...EVENT, metadata: { conversion_id: 'evt-1001' } }],
      ['a clock that is ahead by a little', { ...EVENT, event_at: NOW_MS + 4 * 60_000 }],
    ])('takes %s', (_, event) => {
      expect(problems(send(event))).toEqual([[]]);
      expect(send(event).status).toBe(200);
    });

    it('takes one test event', () => {
      expect(reddit.answer(post({ data: { events: [EVENT], test_id: 'T' } })).status).toBe(200);
    });
  });

  describe('when an event is wrong', () => {
    it.each([
      ['event_at', undefined, 'event_at is missing'],
      ['event_at', '2026-03-01T10:15:30Z', 'event_at is not a Unix time in milliseconds'],
      ['event_at', TIME_MS / 1_000, 'event_at is not a Unix time in milliseconds'],
      ['event_at', TIME_MS - 7 * DAY_MS, 'event_at is older than 168 hours'],
      ['event_at', NOW_MS + 6 * 60_000, 'event_at is in the future'],
      ['action_source', undefined, 'action_source is missing'],
      ['action_source', 'website', 'action_source is not one of WEBSITE, APP, OTHER, PHYSICAL_STORE'],
      ['event_source_url', 'shop.example', 'event_source_url is not an http or https URL'],
      ['click_id', HASH, 'click_id must not be hashed'],
      ['type', undefined, 'type is missing'],
      ['type', 'PURCHASE', 'type is not an object'],
      ['type', {}, 'type.tracking_type is missing'],
      ['type', { tracking_type: 'Purchase' }, expect.stringMatching(/^type\.tracking_type is not one of/)],
      ['type', { tracking_type: 'CUSTOM' }, 'type.custom_event_name is missing'],
      [
        'type',
        { tracking_type: 'CUSTOM', custom_event_name: 'x'.repeat(65) },
        'type.custom_event_name is longer than 64 characters',
      ],
      ['type', { tracking_type: 'LEAD', custom_event_name: 'x' }, 'type.custom_event_name is allowed for CUSTOM only'],
      ['type', { tracking_type: 'PAGE_VISIT' }, 'metadata has an amount, which is not allowed for events of this type'],
      ['user', 'x', 'user is not an object'],
      ['metadata', 'x', 'metadata is not an object'],
      ['event_type', {}, 'event_type is a field of an obsolete API version'],
      ['event_metadata', {}, 'event_metadata is a field of an obsolete API version'],
    ])('refuses %s = %j', (field, value, problem) => {
      const answer = send({ ...EVENT, [field]: value });
      expect(answer.status).toBe(400);
      expect(said(answer)).toEqual({ message: 'There were 1 invalid conversion events. None were processed.' });
      expect(problems(answer)?.[0]).toContainEqual(problem);
      expect(answer.received).toMatchObject([{ accepted: false }]);
    });

    it.each([
      ['email', 'jane.doe@example.com', expect.stringMatching(/^user\.email is not a SHA-256/)],
      ['email', HASH.toUpperCase(), expect.stringMatching(/^user\.email is not a SHA-256/)],
      ['email', [HASH], expect.stringMatching(/^user\.email is not a SHA-256/)],
      ['phone_number', '+15550104477', expect.stringMatching(/^user\.phone_number is not a SHA-256/)],
      ['external_id', 42, 'user.external_id is not a string'],
      ['uuid', 'b8f7eb7d-b357-437b-8bd3-e1c8166c7132', 'user.uuid is not <ms>.<uuid>'],
      ['ip_address', 'x', 'user.ip_address is not an IP address'],
      ['user_agent', HASH, 'user.user_agent must not be hashed'],
      ['opt_out', true, 'user.opt_out is a field of an obsolete API version'],
    ])('refuses user.%s = %j', (field, value, problem) => {
      expectRefused(send(withUser({ [field]: value })), problem);
    });

    it.each([
      ['conversion_id', 1001, 'metadata.conversion_id is not a string'],
      ['value', '129.90', 'metadata.value is not a number'],
      ['value_decimal', 129.9, 'metadata.value_decimal is a field of an obsolete API version'],
      ['currency', 'eur', 'metadata.currency is not a currency code of three upper-case letters'],
      ['item_count', '1', 'metadata.item_count is not a whole number'],
      ['products', {}, 'metadata.products is not a list'],
      ['products', [{}], 'metadata.products.0.id is missing'],
      ['products', [{ id: 'a', name: 7 }], 'metadata.products.0.name is not a string'],
      ['products', [{ id: 'a', category: 7 }], 'metadata.products.0.category is not a string'],
      ['products', [{ id: 'a', quantity: '1' }], 'metadata.products.0.quantity is not a whole number'],
      ['products', [{ id: 'a', item_price: '1' }], 'metadata.products.0.item_price is not a number'],
    ])('refuses metadata.%s = %j', (field, value, problem) => {
      expectRefused(send(withMetadata({ [field]: value })), problem);
    });

    it.each([[undefined], [{}], [{ ip_address: '203.0.113.10' }], [{ user_agent: 'UA' }]])(
      'refuses a user known only by %j',
      (user) => {
        expectRefused(send({ ...EVENT, click_id: undefined, user }), 'user has no sufficient identifier');
      },
    );

    it('processes none of the batch, and says only how many were bad', () => {
      const answer = send(EVENT, { ...EVENT, event_at: undefined }, 'x');
      expect(answer.status).toBe(400);
      expect(said(answer)).toEqual({ message: 'There were 2 invalid conversion events. None were processed.' });
      expect(answer.received?.map((item) => item.accepted)).toEqual([false, false, false]);
      expect(problems(answer)).toEqual([[], ['event_at is missing'], ['event is not an object']]);
    });

    it('takes an event without an id, and notes that its repeats cannot be told', () => {
      const answer = send(withMetadata({ conversion_id: undefined }));
      expect(answer.status).toBe(200);
      expect(answer.received).toMatchObject([{ eventId: '', accepted: true }]);
      expect(answer.received?.[0]).not.toHaveProperty('dedupKey');
      expect(problems(answer)).toEqual([['metadata.conversion_id is missing: duplicates cannot be detected']]);
    });

    it('never repeats a value', () => {
      expect(JSON.stringify(send(withUser({ email: 'jane@example.com', uuid: 'jane' })))).not.toContain('jane');
    });
  });

  describe('when the request is wrong', () => {
    it.each([
      ['no JSON', '{'],
      ['events without data around them', { events: [EVENT] }],
      ['no list', { data: { events: {} } }],
      ['no events', { data: { events: [] } }],
      ['too many events', { data: { events: Array(1_001).fill(EVENT) } }],
      ['several test events', { data: { events: [EVENT, EVENT], test_id: 'T' } }],
      ['the obsolete test mode', { data: { events: [EVENT], test_mode: true } }],
    ])('refuses %s', (_, body) => {
      const answer = reddit.answer(post(body));
      expect(answer.status).toBe(400);
      expect(said(answer)).toEqual({ message: 'Bad Request' });
      expect(answer.received).toBeUndefined();
    });

    it('takes as many events as may be', () => {
      expect(send(...Array(1_000).fill(EVENT)).status).toBe(200);
    });

    it('refuses another content type', () => {
      expect(reddit.answer(post({ data: { events: [EVENT] } }, { 'content-type': 'text/plain' })).status).toBe(400);
    });

    it.each([
      undefined,
      '',
      'node',
      'undici',
      'axios/1.7.0',
      'curl/8.5.0',
      'python-requests/2.31',
      'Go-http-client/2.0',
    ])('throttles the agent %j', (agent) => {
      const answer = reddit.answer(post({ data: { events: [EVENT] } }, { 'user-agent': agent }));
      expect(answer.status).toBe(429);
      expect(answer.received).toBeUndefined();
    });

    it.each(['/api/v2.0/conversions/events/a2_abc123', '/api/v3/pixels/conversion_events', `${PATH}/`, '/'])(
      'has nothing at %s',
      (path) => {
        expect(reddit.answer(post({ data: { events: [EVENT] } }, {}, path)).status).toBe(404);
      },
    );

    it('knows no GET', () => {
      expect(reddit.answer(sandboxRequest('GET', PATH)).status).toBe(405);
    });
  });

  describe('when the credentials are wrong', () => {
    it.each([undefined, 'Basic token', 'Bearer '])('asks for them in plain text at %j', (authorization) => {
      const answer = reddit.answer(post({ data: { events: [EVENT] } }, { authorization }));
      expect(answer).toMatchObject({ status: 401, body: 'Authorization Required' });
      expect(answer.received).toBeUndefined();
    });

    it.each([
      ['Bearer a-bad-one', 401, 'UNAUTHORIZED'],
      ['Bearer forbidden', 403, 'FORBIDDEN'],
    ])('answers %j with %d %s', (authorization, status, reason) => {
      const answer = reddit.answer(post({ data: { events: [EVENT] } }, { authorization }));
      expect(answer.status).toBe(status);
      expect(said(answer)).toEqual({ success: false, error: { reason, explanation: expect.any(String) } });
      expect(answer.received).toBeUndefined();
    });
  });

  describe('when an event comes again', () => {
    it('answers as at first, with the same key and body', () => {
      const [first, second] = [send(EVENT), send(EVENT)];
      expect(second.status).toBe(200);
      expect(second.received).toEqual(first.received);
    });

    it('shows that the body changed', () => {
      const [first, second] = [send(EVENT).received?.[0], send(withMetadata({ value: 1 })).received?.[0]];
      expect(second?.dedupKey).toBe(first?.dedupKey);
      expect(second?.bodySha256).not.toBe(first?.bodySha256);
    });

    it('tells types and sources apart, and remembers for two days', () => {
      const keyOf = (event: object) => send({ ...EVENT, ...event }).received?.[0]?.dedupKey;
      expect(keyOf({ type: { tracking_type: 'LEAD' } })).toBe('LEAD WEBSITE evt-1001');
      expect(keyOf({ action_source: 'OTHER' })).toBe('PURCHASE OTHER evt-1001');
      expect(reddit.dedupWindowMs).toBe(2 * DAY_MS);
    });
  });

  describe('when told to fail', () => {
    it.each([
      ['refuse', 400, { message: 'There were 2 invalid conversion events. None were processed.' }],
      ['refuse_one', 400, { message: 'There were 1 invalid conversion events. None were processed.' }],
      ['throttle', 429, { message: 'Too Many Requests' }],
      ['server_error', 500, { message: expect.stringContaining('No conversion events were processed.') }],
      ['unauthorized', 401, { success: false, error: { reason: 'UNAUTHORIZED', explanation: expect.any(String) } }],
      ['forbidden', 403, { success: false, error: { reason: 'FORBIDDEN', explanation: expect.any(String) } }],
    ] as const)('answers %s with %d', (kind, status, body) => {
      const answer = reddit.fail(kind, post({ data: { events: [EVENT, EVENT] } }));
      expect(answer.status).toBe(status);
      expect(said(answer)).toEqual(body);
    });

    it.each(['refuse', 'refuse_one'] as const)('leaves the whole batch out at %s', (kind) => {
      const answer = reddit.fail(kind, post({ data: { events: [EVENT, EVENT] } }));
      expect(answer.received?.map(({ accepted, problems }) => [accepted, problems])).toEqual([
        [false, []],
        [false, []],
      ]);
    });

    it.each(FAILURE_KINDS)('has an answer to %s of something unreadable', (kind) => {
      expect(reddit.fail(kind, post('{')).status).toBeGreaterThanOrEqual(400);
    });
  });
});
