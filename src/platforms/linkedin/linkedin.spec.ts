import { hash } from 'node:crypto';
import { answer } from '../../../test/support/platform-answers.js';
import { describePlatformContract } from '../../../test/support/platform-contract.js';
import { identifiedBy, sentItem, UNIDENTIFIED } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection } from '../platform.js';
import { platform as linkedin } from './index.js';

const connection: Connection = {
  settings: { 'event.purchase': '23456', 'event.signup': '34567' },
  secrets: { access_token: 'AQX-token' },
};
const oauthConnection: Connection = {
  settings: { client_id: 'app', 'event.purchase': '23456' },
  secrets: { client_secret: 'cs', refresh_token: 'rt' },
};
const call = { connection, nowMs: 0 };
const item = (conversion: Conversion, settings = {}) =>
  sentItem(linkedin, conversion, { ...connection.settings, ...settings });

const METHOD = "Incorrect conversions information provided. Conversion's method should be CONVERSIONS_API, indices";

describePlatformContract(linkedin, {
  connection,
  severalActions: { 'event.purchase': '23456,23457' },
  payload: { unmappedEvents: ['lead', 'Booked a demo', 'toString'], clickId: 'li_fat_id' },
  verdicts: [
    [
      401,
      { status: 401, serviceErrorCode: 65600, code: 'INVALID_ACCESS_TOKEN', message: 'Invalid access token' },
      { kind: 'unauthorized', reason: 'INVALID_ACCESS_TOKEN: Invalid access token' },
    ],
    [
      401,
      { status: 401, serviceErrorCode: 65601, code: 'REVOKED_ACCESS_TOKEN', message: 'The token has been revoked' },
      { kind: 'unauthorized', reason: 'REVOKED_ACCESS_TOKEN: The token has been revoked' },
    ],
    [
      403,
      { status: 403, message: 'Not enough permissions' },
      { kind: 'unauthorized', reason: 'Not enough permissions' },
    ],
    [
      400,
      { status: 400, message: `${METHOD} [0] (0-indexed)` },
      { kind: 'misconfigured', reason: `${METHOD} [0] (0-indexed)` },
    ],
    [
      422,
      { status: 422, message: 'Index: 0, ERROR :: /user/externalIds/0 :: is not valid' },
      { kind: 'without', identifiers: ['externalId'], reason: 'ERROR :: /user/externalIds/0 :: is not valid' },
    ],
    [
      422,
      { status: 422, message: 'Index: 0, ERROR :: /conversionValue/amount :: field is required\nERROR :: /user' },
      { kind: 'rejected', reason: 'ERROR :: /conversionValue/amount :: field is required ERROR :: /user' },
    ],
    [400, '<html>', { kind: 'rejected', reason: 'HTTP 400' }],
    [404, { message: 'No such resource' }, { kind: 'rejected', reason: 'No such resource' }],
    [426, { status: 426, message: 'Requested version is not active' }, { kind: 'misconfigured' }],
    [
      429,
      { message: 'Resource level throttle limit for calls to this resource is reached' },
      { kind: 'retry', reason: 'throttled' },
    ],
    [500, '', { kind: 'retry', reason: 'server_error' }],
    [503, '<html>', { kind: 'retry', reason: 'server_error' }],
    [302, '', { kind: 'rejected' }],
  ],
  unreadable: [{ elements: {} }, { elements: [] }],
});

describe('linkedin', () => {
  describe('payload', () => {
    it('needs an email or a click', () => {
      expect(linkedin.payload(UNIDENTIFIED, connection.settings)).toEqual({ skip: 'no_identifier' });
      const click = { li_fat_id: { id: 'L', timeMs: 1 } };
      expect(item(identifiedBy({ clicks: click })).user.userIds).toEqual([
        { idType: 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID', idValue: 'L' },
      ]);
    });

    it.each([
      ['plain', ['Customer-42']],
      ['hashed', [hash('sha256', 'Customer-42')]],
    ])('contains the external id with external_id=%s', (external_id, externalIds) => {
      expect(item(SAMPLE_CONVERSIONS['by-phone'], { external_id }).user.externalIds).toEqual(externalIds);
      expect(item(SAMPLE_CONVERSIONS['hashed-only'], { external_id }).user).not.toHaveProperty('externalIds');
    });

    it('contains neither external id, address, source nor items without the setting', () => {
      const { user, ...others } = item(SAMPLE_CONVERSIONS['by-phone']);
      expect(Object.keys(user)).toEqual(['userIds']);
      expect(JSON.stringify(others)).not.toMatch(/phone_call|SKU|90001|Customer/);
    });

    it('never contains names', () => {
      const text = JSON.stringify(linkedin.payload(SAMPLE_CONVERSIONS['phone-and-name'], connection.settings));
      expect(text).not.toMatch(/userInfo|firstName|lastName/);
    });
  });

  describe('request', () => {
    it('is a batch with the payloads byte for byte', () => {
      const { body, headers } = linkedin.request(['{ "a": 1 }', '{"b":2}', '{"c":3}'], call);
      expect(body).toBe('{"elements":[{ "a": 1 },{"b":2},{"c":3}]}');
      expect(headers['x-restli-method']).toBe('BATCH_CREATE');
    });

    it('uses a fresh access token and the configured version', () => {
      const settings = { api_version: '202701' };
      const fresh = { ...call, accessToken: 'fresh', connection: { ...connection, settings } };
      expect(linkedin.request(['{}'], fresh).headers).toMatchObject({
        authorization: 'Bearer fresh',
        'linkedin-version': '202701',
      });
    });
  });

  describe('token', () => {
    it('is not requested without OAuth credentials', () => {
      expect(linkedin.token?.(connection)).toBeUndefined();
    });

    it('is requested from LinkedIn, or from the endpoint', () => {
      const form = { grant_type: 'refresh_token', refresh_token: 'rt', client_id: 'app', client_secret: 'cs' };
      expect(linkedin.token?.(oauthConnection)).toEqual({ url: 'https://www.linkedin.com/oauth/v2/accessToken', form });
      expect(linkedin.token?.({ ...oauthConnection, endpoint: 'http://127.0.0.1:9/li' })?.url).toBe(
        'http://127.0.0.1:9/li/oauth/v2/accessToken',
      );
    });
  });

  describe('verdict', () => {
    it('is given for each conversion of a batch', () => {
      expect(linkedin.verdict(answer(200, { elements: [{ status: 201 }, { status: 201 }] }), 2)).toEqual([
        { kind: 'delivered' },
        { kind: 'delivered' },
      ]);
      const mixed = { elements: [{ status: 201 }, { status: 422, error: { message: 'bad' } }, { status: 500 }, {}] };
      expect(linkedin.verdict(answer(200, mixed), 4)).toMatchObject([
        { kind: 'delivered' },
        { kind: 'rejected', reason: 'bad' },
        { kind: 'retry', reason: 'server_error' },
        { kind: 'retry' },
      ]);
    });

    it('accepts an empty 201 for a single conversion only', () => {
      expect(linkedin.verdict(answer(201), 1)).toEqual({ kind: 'delivered' });
      expect(linkedin.verdict(answer(201), 2)).toMatchObject({ kind: 'retry' });
    });

    it('parks the connection for a rule of another method, says what to do, and resends the other conversions', () => {
      const verdicts = linkedin.verdict(answer(400, { message: `${METHOD} [0, 2] (0-indexed)` }), 3);
      const parked = { kind: 'misconfigured', reason: `${METHOD} [0, 2] (0-indexed)` };
      expect(verdicts).toEqual([parked, { kind: 'resend' }, parked]);
      expect(linkedin.fix?.(parked.reason)).toContain('event.<name>');
      expect(linkedin.misconfigured?.(parked.reason)).toBe(true);
      const element = { status: 400, message: METHOD };
      expect(linkedin.verdict(answer(200, { elements: [element] }), 1)).toMatchObject([{ kind: 'misconfigured' }]);
    });

    it('says of a retired version that it is a setting, and of a wrong token that it is none', () => {
      const reasonOf = (status: number) => {
        const verdict = linkedin.verdict(answer(status, { message: 'No.' }), 1) as { reason: string };
        return linkedin.misconfigured?.(verdict.reason);
      };
      expect([reasonOf(426), reasonOf(401)]).toEqual([true, false]);
    });

    it('rejects the conversions whose indices are named and resends the others', () => {
      const message = 'Index: 0, ERROR :: /a :: required\nERROR :: /b :: required\nIndex: 2, ERROR :: /c :: required\n';
      expect(linkedin.verdict(answer(422, { message }), 3)).toEqual([
        { kind: 'rejected', reason: 'ERROR :: /a :: required ERROR :: /b :: required' },
        { kind: 'resend' },
        { kind: 'rejected', reason: 'ERROR :: /c :: required' },
      ]);
    });

    it.each(['Bad batch', `${METHOD} [7] (0-indexed)`, `${METHOD} [] (0-indexed)`, 'Index: 12, ERROR'])(
      'splits a batch when no index is named: %s',
      (message) => {
        expect(linkedin.verdict(answer(400, { message }), 3)).toMatchObject({ kind: 'split' });
      },
    );
  });

  describe('settings', () => {
    it('require an access token or the credentials to refresh one', () => {
      const check = (settings: Record<string, string>, secrets: Record<string, string>) =>
        linkedin.check?.({ settings, secrets });
      expect(linkedin.check?.(connection)).toBeUndefined();
      expect(linkedin.check?.(oauthConnection)).toBeUndefined();
      expect(check({}, {})).toMatch(/^access_token is missing/);
      expect(check({ client_id: 'app' }, { access_token: 't' })).toMatch(/^client_secret and refresh_token missing/);
      expect(check({ client_id: 'app' }, { client_secret: 'cs' })).toMatch(/^refresh_token missing/);
    });

    it('require ids of conversion rules and refuse custom fields', () => {
      const check = (settings: Record<string, string>) => linkedin.check?.({ settings, secrets: connection.secrets });
      expect(check({ 'event.lead': 'LEAD' })).toMatch(/^event\.lead must be the id/);
      expect(check({ 'field.order': 'orderId' })).toMatch(/^field\.order: LinkedIn accepts no custom fields/);
    });
  });
});
