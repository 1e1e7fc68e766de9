import { hash } from 'node:crypto';
import { acceptedIn, bodyOf, itFailsOnDemand, requestToken } from '../../../test/support/platform-doubles.js';
import { sandboxRequest } from '../double.js';
import { double as linkedin } from './linkedin.js';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const HASH = hash('sha256', 'jane.doe@example.com');
const ONE = {
  authorization: 'Bearer token',
  'content-type': 'application/json',
  'linkedin-version': '202603',
  'x-restli-protocol-version': '2.0.0',
};
const BATCH = { ...ONE, 'x-restli-method': 'BATCH_CREATE' };
const element = {
  conversion: 'urn:lla:llaPartnerConversion:23456',
  conversionHappenedAt: 1772360130000,
  eventId: 'evt-1001',
  conversionValue: { currencyCode: 'EUR', amount: '129.90' },
  user: {
    userIds: [
      { idType: 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID', idValue: 'LI_FAT_ID' },
      { idType: 'SHA256_EMAIL', idValue: HASH },
    ],
    userInfo: { firstName: 'Jane', lastName: 'Doe' },
  },
};

function send(body: unknown, headers: Record<string, string>, path = '/rest/conversionEvents') {
  const text = JSON.stringify(body);
  return linkedin.answer(sandboxRequest('POST', path, { headers, body: text, nowMs: NOW_MS }));
}

const batch = (elements: unknown[], headers: Record<string, string> = BATCH) => {
  const answer = send({ elements }, headers);
  return { ...answer, json: bodyOf(answer) };
};

describe('double of linkedin', () => {
  it('accepts a batch', () => {
    const { status, json, received } = batch([
      element,
      { ...element, user: { userIds: [], userInfo: element.user.userInfo } },
    ]);
    expect([status, json]).toEqual([200, { elements: [{ status: 201 }, { status: 201 }] }]);
    expect(received?.[0]).toEqual({
      eventId: 'evt-1001',
      event: element.conversion,
      dedupKey: `${element.conversion} evt-1001`,
      problems: [],
      accepted: true,
      bodySha256: hash('sha256', JSON.stringify(element)),
    });
  });

  it('accepts a single conversion with an empty answer', () => {
    expect(send(element, ONE)).toMatchObject({ status: 201, body: '', received: [{ accepted: true }] });
  });

  it.each([
    ['a bare rule id', { conversion: '23456' }, '/conversion'],
    ['a time in seconds', { conversionHappenedAt: 1772360130 }, '/conversionHappenedAt'],
    ['a time 91 days ago', { conversionHappenedAt: NOW_MS - 91 * 86_400_000 }, '/conversionHappenedAt'],
    ['an amount as a number', { conversionValue: { currencyCode: 'EUR', amount: 129.9 } }, '/conversionValue/amount'],
    ['an amount without a currency', { conversionValue: { amount: '129.90' } }, '/conversionValue/currencyCode'],
    ['no user', { user: undefined }, '/user'],
    ['no user ids', { user: { userInfo: element.user.userInfo } }, '/user/userIds'],
    ['no identifier', { user: { userIds: [] } }, '/user'],
    [
      'a plain email',
      { user: { userIds: [{ idType: 'SHA256_EMAIL', idValue: 'jane.doe@example.com' }] } },
      '/user/userIds/0/idValue',
    ],
    ['a phone', { user: { userIds: [{ idType: 'SHA256_PHONE', idValue: HASH }] } }, '/user/userIds/0/idType'],
    [
      'a first name without a last name',
      { user: { userIds: [], userInfo: { firstName: 'Jane' } } },
      '/user/userInfo/lastName',
    ],
    [
      'a hashed name',
      { user: { userIds: [], userInfo: { firstName: HASH, lastName: 'Doe' } } },
      '/user/userInfo/firstName',
    ],
    ['an external id that is a number', { user: { ...element.user, externalIds: [7] } }, '/user/externalIds/0'],
    ['two external ids', { user: { ...element.user, externalIds: ['1', '2'] } }, '/user/externalIds'],
    ['an unknown field', { event_id: 'evt-1001' }, '/event_id'],
  ])('refuses the whole batch for %s and names the index', (_, change, path) => {
    const { status, json, received } = batch([element, { ...element, ...change }]);
    expect([status, json.status]).toEqual([422, 422]);
    expect(json.message).toMatch(/^Index: 1, ERROR :: /);
    expect(json.message).toContain(`ERROR :: ${path} ::`);
    expect(received?.map(({ accepted, problems }) => [accepted, problems.length])).toEqual([
      [false, 0],
      [false, 1],
    ]);
    expect(JSON.stringify([json, received])).not.toContain('jane.doe');
  });

  it.each([
    ['no version', { 'linkedin-version': undefined }, 400],
    ['an invalid version', { 'linkedin-version': '2026-03' }, 400],
    ['a retired version', { 'linkedin-version': '202401' }, 426],
    ['another protocol version', { 'x-restli-protocol-version': '1.0.0' }, 400],
    ['a batch without the method header', { 'x-restli-method': undefined }, 400],
    ['no content type', { 'content-type': undefined }, 400],
    ['no token', { authorization: undefined }, 401],
    ['a bad token', { authorization: 'Bearer bad' }, 401],
    ['a token without permission', { authorization: 'Bearer forbidden' }, 403],
  ])('refuses %s', (_, change, status) => {
    const { json, ...answer } = batch([element], { ...BATCH, ...change } as Record<string, string>);
    expect([answer.status, json.status]).toEqual([status, status]);
  });

  it('accepts 1 to 5000 conversions, and a batch only as such', () => {
    expect(batch([]).status).toBe(400);
    expect(batch(Array(5_001).fill(element)).status).toBe(400);
    expect(send(element, BATCH).status).toBe(400);
    expect(send(element, ONE, '/rest/conversions').status).toBe(404);
  });

  const two = JSON.stringify({ elements: [element, element] });
  itFailsOnDemand(
    linkedin,
    sandboxRequest('POST', '/rest/conversionEvents', { body: two }),
    { refuse: 400, refuse_one: 422, throttle: 429, server_error: 500, unauthorized: 401, forbidden: 403 },
    (kind, answer) => {
      const json = bodyOf(answer);
      expect(json.status).toBe(answer.status);
      if (kind === 'refuse') expect(json.message).toContain('indices [0, 1] (0-indexed)');
      if (kind === 'refuse_one') expect(json.message).toMatch(/^Index: 0, ERROR :: /);
      if (kind === 'unauthorized') {
        expect(json).toMatchObject({ serviceErrorCode: 65_600, code: 'INVALID_ACCESS_TOKEN' });
      }
      expect(acceptedIn(answer) ?? []).not.toContain(true);
    },
  );

  it('refreshes tokens', () => {
    const path = '/oauth/v2/accessToken';
    const form = { grant_type: 'refresh_token', refresh_token: 'r', client_id: 'i', client_secret: 's' };
    const request = sandboxRequest('POST', path);
    expect(linkedin.callKind?.(request)).toBe('token');
    expect(requestToken(linkedin, path, form).json).toMatchObject({ access_token: 'sandbox-token-1' });
    expect(bodyOf(linkedin.fail('refuse', request))).toMatchObject({ error: 'invalid_grant' });
  });
});
