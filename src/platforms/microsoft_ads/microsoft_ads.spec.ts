import { hash } from 'node:crypto';
import { answer } from '../../../test/support/platform-answers.js';
import { describePlatformContract } from '../../../test/support/platform-contract.js';
import {
  INSUFFICIENT_IDENTIFIERS,
  IP_AND_USER_AGENT,
  identifiedBy,
  sentItem,
  UNIDENTIFIED,
} from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Call, Connection, PlatformResponse, Settings } from '../platform.js';
import { ERRORS } from './errors.js';
import { platform as microsoftAds } from './index.js';

const MAPPING: Settings = { 'event.purchase': 'purchase', 'event.lead': 'lead_form', 'event.signup': 'signup' };
const SETTINGS: Settings = { ...MAPPING, tag_id: '12345678' };
const CONNECTION: Connection = { settings: SETTINGS, secrets: { access_token: 'uet-token' } };
const OFFLINE_SETTINGS: Settings = {
  ...MAPPING,
  mode: 'offline',
  customer_id: '111',
  account_id: '222',
  client_id: 'client',
};
const OFFLINE_CONNECTION: Connection = {
  settings: OFFLINE_SETTINGS,
  secrets: { developer_token: 'developer', client_secret: 'secret', refresh_token: 'refresh' },
};

const PURCHASE: Conversion = SAMPLE_CONVERSIONS['hashed-only'];
const WITH_VISIT: Conversion = SAMPLE_CONVERSIONS['with-click-id'];
const CLICK = '00112233445566778899aabbccddeeff';
const EMAIL = 'c4d25e9c90ff23e9145397bc6fbd5385ca5fbe78211222ccbecd0b369ebb19a6';
const PHONE = 'a6d53e23afd8a0e58ed88a857dec0272f27fb99ff0803e6cb1031201d78cade5';
const PHONE_DIGITS = '25534ffa4a703793a7e360a41490b33a320598feafaf9ceecd3d841d6c6981db';

function withClick(msclkid: string, conversion = PURCHASE): Conversion {
  const click = { id: msclkid, timeMs: conversion.timeMs - 1_000 };
  return { ...conversion, visit: { clicks: { msclkid: click }, cookies: {}, utm: {} } };
}

const item = (conversion: Conversion, settings: Settings = SETTINGS) => sentItem(microsoftAds, conversion, settings);

const CALL: Call = { connection: CONNECTION, nowMs: 0 };
const OFFLINE_CALL: Call = { connection: OFFLINE_CONNECTION, group: 'offline', accessToken: 'ey', nowMs: 0 };
const RETRIED = { kind: 'retry', reason: 'server_error' };

describePlatformContract(microsoftAds, {
  connection: CONNECTION,
  modes: { offline: OFFLINE_CONNECTION },
  accessToken: 'ey',
  secretSettings: ['access_token', 'developer_token', 'client_secret', 'refresh_token'],
  payload: {
    otherSettings: OFFLINE_SETTINGS,
    unidentified: [
      ...INSUFFICIENT_IDENTIFIERS,
      ['an email without a form for Microsoft', { ...PURCHASE, hashes: { subject: 'x', emailBare: null } }],
      ['an invalid click id', withClick('not-a-click', UNIDENTIFIED)],
      IP_AND_USER_AGENT,
      ['a visitor id', identifiedBy({ cookies: { _uetvid: 'V' } })],
    ],
  },
  unreadable: [
    [{ eventsReceived: 1 }],
    { eventsReceived: '1' },
    { eventsReceived: 9 },
    { eventsReceived: 0 },
    { error: { code: 'X', message: 'Y' } },
    { eventsReceived: 1, error: { code: 'X', message: 'Y' } },
  ],
});

describe('microsoft_ads', () => {
  describe('settings', () => {
    it('accept a valid connection', () => {
      expect(microsoftAds.check?.(CONNECTION)).toBeUndefined();
      expect(microsoftAds.check?.(OFFLINE_CONNECTION)).toBeUndefined();
    });

    it.each(['tag_id', 'access_token'])('require %s for the Conversions API', (name) => {
      const { [name]: _, ...settings } = CONNECTION.settings;
      const { [name]: __, ...secrets } = CONNECTION.secrets;
      expect(microsoftAds.check?.({ settings, secrets })).toBe(`${name} is required with mode=capi`);
    });

    it.each(['customer_id', 'account_id', 'developer_token', 'client_id', 'client_secret', 'refresh_token'])(
      'require %s for offline conversions',
      (name) => {
        const { [name]: _, ...settings } = OFFLINE_CONNECTION.settings;
        const { [name]: __, ...secrets } = OFFLINE_CONNECTION.secrets;
        expect(microsoftAds.check?.({ settings, secrets })).toBe(`${name} is required with mode=offline`);
      },
    );

    it('refuse an empty mapping, and custom fields with mode=offline', () => {
      const blank = { ...CONNECTION, settings: { ...SETTINGS, 'event.lead': ' ' } };
      const custom = { ...OFFLINE_CONNECTION, settings: { ...OFFLINE_SETTINGS, 'field.eventLabel': 'event' } };
      expect(microsoftAds.check?.(blank)).toMatch(/^event\.lead must be/);
      expect(microsoftAds.check?.(custom)).toMatch(/^field\.eventLabel cannot be sent/);
    });

    it('lead to an access token request for offline conversions only', () => {
      expect(microsoftAds.token?.(CONNECTION)).toBeUndefined();
      expect(microsoftAds.token?.({ ...OFFLINE_CONNECTION, secrets: {} })).toBeUndefined();
      expect(microsoftAds.token?.(OFFLINE_CONNECTION)).toEqual({
        url: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
        form: {
          grant_type: 'refresh_token',
          client_id: 'client',
          client_secret: 'secret',
          refresh_token: 'refresh',
          scope: 'https://ads.microsoft.com/msads.manage offline_access',
        },
      });
    });
  });

  it('skips an event without a goal', () => {
    expect(microsoftAds.payload(PURCHASE, { tag_id: '1' })).toEqual({ skip: 'event_not_mapped' });
  });

  describe('Conversions API payload', () => {
    it.each([
      [CLICK, CLICK],
      [`_uet${CLICK}`, CLICK],
      ['00112233-4455-6677-8899-aabbccddeeff', '00112233-4455-6677-8899-aabbccddeeff'],
      ['00112233445566778899aabbccddeef', undefined],
      [`${CLICK}00000`, undefined],
      ['00112233445566778899aabbccddeefg', undefined],
      [`_uet_uet${CLICK}`, undefined],
      ['', undefined],
    ])('contains the click id %j as %j', (id, sent) => {
      expect(item(withClick(id)).userData.msclkid).toBe(sent);
      expect(item(withClick(id), OFFLINE_SETTINGS).MicrosoftClickId).toBe(sent);
    });

    it('contains consent if it is known', () => {
      expect(item(WITH_VISIT).adStorageConsent).toBe('G');
      expect(item({ ...PURCHASE, consent: 'denied' }).adStorageConsent).toBe('D');
      expect(item(PURCHASE)).not.toHaveProperty('adStorageConsent');
    });

    it('leaves out empty parts', () => {
      const bare = { ...PURCHASE, event: 'lead', value: undefined, orderId: undefined };
      expect(item(bare)).not.toHaveProperty('customData');
      expect(
        item({ ...WITH_VISIT, visit: { ip: '', userAgent: '', pageUrl: '', clicks: {}, cookies: {}, utm: {} } }),
      ).toEqual({
        eventType: 'custom',
        eventName: 'purchase',
        eventId: 'ORD-1001',
        eventTime: 1772360130,
        adStorageConsent: 'G',
        userData: { em: EMAIL },
        customData: {
          value: 129.9,
          currency: 'EUR',
          transactionId: 'ORD-1001',
          pageType: 'purchase',
          ecommTotalValue: 129.9,
        },
      });
    });

    it('contains the external id hashed, or plain if the connection says so, and none after an opt-out', () => {
      const known: Conversion = SAMPLE_CONVERSIONS['by-phone'];
      const settings = { ...SETTINGS, external_id: 'plain' };
      expect(item(known).userData.externalId).toBe(hash('sha256', 'Customer-42'));
      expect(item(known, settings).userData.externalId).toBe('Customer-42');
      expect(item({ ...known, consent: 'denied' }, settings).userData).not.toHaveProperty('externalId');
    });

    it('contains items with a currency, and no address', () => {
      const ordered: Conversion = { ...SAMPLE_CONVERSIONS['by-phone'], value: undefined };
      expect(item(ordered).customData).toMatchObject({ currency: 'EUR', itemIds: ['SKU-1', 'SKU-2', 'SKU-3'] });
      expect(JSON.stringify(item(ordered))).not.toMatch(/90001|Angeles/);
    });

    it('contains the page URL without query', () => {
      const pageUrl = 'https://shop.example/thanks?gclid=G&email=jane.doe@example.com#top';
      const visit = { pageUrl, clicks: {}, cookies: {}, utm: {} };
      expect(item({ ...PURCHASE, visit }).eventSourceUrl).toBe('https://shop.example/thanks');
    });

    it('contains phone numbers in the configured format', () => {
      const withPhone = SAMPLE_CONVERSIONS['phone-and-name'];
      expect(item(withPhone).userData.ph).toBe(PHONE);
      expect(item(withPhone, { ...SETTINGS, phone_format: 'e164' }).userData.ph).toBe(PHONE);
      expect(item(withPhone, { ...SETTINGS, phone_format: 'digits' }).userData.ph).toBe(PHONE_DIGITS);
    });

    it('contains custom fields', () => {
      const settings = { ...SETTINGS, 'field.eventLabel': 'event', 'field.eventValue': 'value' };
      expect(item({ ...PURCHASE, event: 'lead' }, settings).customData).toEqual({
        value: 129.9,
        currency: 'EUR',
        transactionId: 'ORD-1001',
        eventLabel: 'lead',
        eventValue: 129.9,
      });
    });
  });

  describe('offline conversion payload', () => {
    it('contains all known data', () => {
      const { hashes } = SAMPLE_CONVERSIONS['phone-and-name'];
      expect(microsoftAds.payload(WITH_VISIT, OFFLINE_SETTINGS)).toHaveProperty('group', 'offline');
      expect(item({ ...WITH_VISIT, hashes }, OFFLINE_SETTINGS)).toEqual({
        MicrosoftClickId: CLICK,
        ConversionName: 'purchase',
        ConversionTime: '2026-03-01T10:15:30Z',
        ConversionValue: 129.9,
        ConversionCurrencyCode: 'EUR',
        HashedEmailAddress: '06a240d11cc201676da976f7b49341181fd180da37cbe40a77432c0a366c80c3',
        HashedPhoneNumber: PHONE,
      });
    });

    it('needs neither a click id nor an amount', () => {
      expect(item({ ...PURCHASE, value: undefined }, OFFLINE_SETTINGS)).toEqual({
        ConversionName: 'purchase',
        ConversionTime: '2026-03-01T10:15:30Z',
        HashedEmailAddress: EMAIL,
      });
    });

    it('contains nothing of the details of a sender', () => {
      const sent = JSON.stringify(item(SAMPLE_CONVERSIONS['by-phone'], OFFLINE_SETTINGS));
      expect(sent).not.toMatch(/SKU|Customer|90001|phone_call/);
    });

    it('is skipped after an opt-out', () => {
      const denied: Conversion = { ...PURCHASE, consent: 'denied' };
      expect(microsoftAds.payload(denied, OFFLINE_SETTINGS)).toEqual({ skip: 'consent_denied' });
    });
  });

  describe('request', () => {
    const items = ['{"a": 1}', '{"b":2.50}', '{"c":"\\u00e9"}'];

    it('contains events byte for byte', () => {
      expect(microsoftAds.request(items, CALL)).toEqual({
        method: 'POST',
        url: 'https://capi.uet.microsoft.com/v1/12345678/events',
        headers: { authorization: 'Bearer uet-token', 'content-type': 'application/json' },
        body: '{"data":[{"a": 1},{"b":2.50},{"c":"\\u00e9"}],"dataProvider":"clean-conversions","continueOnValidationError":true}',
      });
      expect(JSON.parse(microsoftAds.request(items, CALL).body ?? '').data).toHaveLength(3);
    });

    it('contains offline conversions byte for byte', () => {
      expect(microsoftAds.request(items, OFFLINE_CALL)).toEqual({
        method: 'POST',
        url: 'https://campaign.api.bingads.microsoft.com/CampaignManagement/v13/OfflineConversions/Apply',
        headers: {
          authorization: 'Bearer ey',
          'content-type': 'application/json',
          developertoken: 'developer',
          customerid: '111',
          customeraccountid: '222',
        },
        body: '{"OfflineConversions":[{"a": 1},{"b":2.50},{"c":"\\u00e9"}]}',
      });
    });

    it('uses the endpoint of the connection for every kind of request', () => {
      const endpoint = 'http://127.0.0.1:9/ms';
      const offline = { ...OFFLINE_CONNECTION, endpoint };
      expect([
        microsoftAds.request(items, { ...CALL, connection: { ...CONNECTION, endpoint } }).url,
        microsoftAds.request(items, { ...OFFLINE_CALL, connection: offline }).url,
        microsoftAds.token?.(offline)?.url,
      ]).toEqual([
        'http://127.0.0.1:9/ms/v1/12345678/events',
        'http://127.0.0.1:9/ms/CampaignManagement/v13/OfflineConversions/Apply',
        'http://127.0.0.1:9/ms/common/oauth2/v2.0/token',
      ]);
    });
  });

  describe('verdict on a Conversions API answer', () => {
    const detail = (index: number, more: object = {}) => ({
      index,
      propertyName: 'eventTime',
      attemptedValue: 1,
      errorMessage: 'Too old.',
      ...more,
    });
    const partly = (eventsReceived: number | undefined, ...details: object[]) => ({
      eventsReceived,
      error: { code: 'ValidationError', message: 'Some events are invalid.', details },
      traceId: 'T',
    });
    const rejected = { kind: 'rejected', reason: 'eventTime: Too old.', requestId: 'T' };
    const delivered = { kind: 'delivered', requestId: 'T' };

    it('is delivered without errors', () => {
      expect(microsoftAds.verdict(answer(200, { eventsReceived: 3 }), 3)).toEqual({ kind: 'delivered' });
      expect(microsoftAds.verdict(answer(200, { eventsReceived: 1, traceId: 'T' }), 1)).toEqual(delivered);
      expect(microsoftAds.verdict(answer(200, { eventsReceived: 1, error: null }), 1)).toEqual({ kind: 'delivered' });
    });

    it('rejects the named events', () => {
      expect(microsoftAds.verdict(answer(200, partly(2, detail(1))), 3)).toEqual([delivered, rejected, delivered]);
      expect(microsoftAds.verdict(answer(200, partly(0, detail(0), detail(0), detail(1))), 2)).toEqual([
        rejected,
        rejected,
      ]);
    });

    it('is delivered despite a warning', () => {
      expect(microsoftAds.verdict(answer(200, partly(2, detail(1, { isWarning: true }))), 2)).toEqual(delivered);
      expect(microsoftAds.verdict(answer(200, partly(1, detail(0, { isWarning: true }), detail(1))), 2)).toEqual([
        delivered,
        rejected,
      ]);
    });

    it('resends the other events if they were not counted', () => {
      const resend = { kind: 'resend' };
      expect(microsoftAds.verdict(answer(200, partly(0, detail(1))), 3)).toEqual([resend, rejected, resend]);
      expect(microsoftAds.verdict(answer(200, partly(undefined, detail(1))), 3)).toEqual([resend, rejected, resend]);
      expect(microsoftAds.verdict(answer(400, partly(2, detail(1))), 3)).toEqual([resend, rejected, resend]);
    });

    it('splits a batch when events are missing and none is named', () => {
      const reason = 'ValidationError: Some events are invalid.';
      expect(microsoftAds.verdict(answer(200, partly(2)), 3)).toEqual({
        kind: 'split',
        reason,
        unknown: true,
        requestId: 'T',
      });
      expect(microsoftAds.verdict(answer(200, partly(2, detail(3))), 3)).toMatchObject({ kind: 'split' });
      expect(microsoftAds.verdict(answer(200, { eventsReceived: 2 }), 3)).toMatchObject({ kind: 'split' });
      expect(microsoftAds.verdict(answer(400, partly(undefined)), 3)).toEqual({
        kind: 'split',
        reason,
        requestId: 'T',
      });
      expect(microsoftAds.verdict(answer(400, partly(undefined)), 1)).toEqual({
        kind: 'rejected',
        reason,
        requestId: 'T',
      });
    });

    it('contains no data that Microsoft echoes', () => {
      const attemptedValue = '00112233-4455-6677-8899-aabbccddeeff';
      const named = detail(0, { propertyName: 'msclkid', attemptedValue, errorMessage: `${attemptedValue} is bad` });
      expect(microsoftAds.verdict(answer(400, partly(0, named)), 1)).toMatchObject([{ reason: 'msclkid: … is bad' }]);
    });

    it.each<[string, PlatformResponse, object]>([
      [
        '401',
        answer(401, { error: { code: 'Unauthorized', message: 'Bad token.' } }),
        { kind: 'unauthorized', reason: 'Unauthorized: Bad token.' },
      ],
      ['403', answer(403, ''), { kind: 'unauthorized', reason: 'HTTP 403' }],
      ['429', answer(429, {}, { 'retry-after': '7' }), { kind: 'retry', reason: 'throttled', afterMs: 7_000 }],
      ['500', answer(500, '<html>'), RETRIED],
      ['503', answer(503, 'x'.repeat(70_000)), RETRIED],
      ['a proxy’s 400', answer(400, '<html>'), { kind: 'split', reason: 'HTTP 400' }],
    ])('follows from %s', (_, response, verdict) => {
      expect(microsoftAds.verdict(response, 3)).toEqual(verdict);
    });
  });

  describe('verdict on an offline conversions answer', () => {
    const error = (Code: number, Index?: number) => ({ Index, Code, ErrorCode: `E${Code}`, Message: 'Invalid.' });
    const retry = (reason: string, afterMs?: number) => ({ kind: 'retry', reason, afterMs });
    const CODES: [number, object][] = [
      [105, { kind: 'unauthorized', reason: '105 E105' }],
      [106, { kind: 'unauthorized', reason: '106 E106' }],
      [109, { kind: 'unauthorized', reason: '109 E109' }],
      [5613, { kind: 'misconfigured', reason: '5613 E5613' }],
      [117, retry('throttled', 60_000)],
      [0, retry('server_error')],
      [5612, retry('server_error')],
      [5615, { ...retry('server_error', 7_200_000), unknown: false }],
      [5601, { kind: 'split', reason: '5601 E5601' }],
    ];
    const CLICK_IDS = [5603, 5604];
    const FINAL = [5606, 5607, 5608, 5609, 5610, 5611, 5614, 5616, 5617];

    it('has an expected verdict for each number of the table', () => {
      const numbers = ERRORS.flatMap(({ codes }) => codes) as number[];
      expect(numbers.sort()).toEqual(CODES.map(([code]) => code).sort());
    });

    it('is delivered without errors', () => {
      expect(microsoftAds.verdict(answer(200, { PartialErrors: [] }), 3)).toEqual({ kind: 'delivered' });
      expect(microsoftAds.verdict(answer(200, { PartialErrors: null }), 3)).toEqual({ kind: 'delivered' });
    });

    it.each([
      ...CODES,
      ...FINAL.map((code): [number, object] => [code, { kind: 'rejected', reason: `${code} E${code}` }]),
      ...CLICK_IDS.map((code): [number, object] => [
        code,
        { kind: 'without', identifiers: ['click'], reason: `${code} E${code}` },
      ]),
    ])('follows from error code %i of a conversion', (code, verdict) => {
      const body = { PartialErrors: [null, error(code, 1)], TrackingId: 'T' };
      expect(microsoftAds.verdict(answer(200, body), 3)).toEqual([
        { kind: 'delivered', requestId: 'T' },
        { ...verdict, requestId: 'T' },
        { kind: 'delivered', requestId: 'T' },
      ]);
    });

    it.each([
      ...CODES,
      ...[...FINAL, ...CLICK_IDS].map((code): [number, object] => [
        code,
        { kind: 'split', reason: `${code} E${code}` },
      ]),
    ])('follows from fault code %i of a request', (code, verdict) => {
      for (const status of [200, 400]) {
        for (const name of ['Errors', 'OperationErrors']) {
          const response = answer(status, { TrackingId: 'T', [name]: [error(code)] });
          expect(microsoftAds.verdict(response, 3)).toEqual({ ...verdict, requestId: 'T' });
        }
      }
    });

    it.each(ERRORS.flatMap(({ codes, fix }) => (fix ? codes.map((code) => [code as number, fix] as const) : [])))(
      'tells what to do about the error code %i, with and without its name',
      (code, fix) => {
        for (const problem of [error(code), { ...error(code), ErrorCode: '' }, { Code: code }]) {
          const verdict = microsoftAds.verdict(answer(200, { Errors: [problem] }), 1) as { reason: string };
          expect(microsoftAds.fix?.(verdict.reason)).toBe(fix);
        }
      },
    );

    it('follows the HTTP status when the code is unknown', () => {
      const fault = { TrackingId: 'T', Errors: [error(9999)] };
      const expected = { reason: '9999 E9999', requestId: 'T' };
      expect(microsoftAds.verdict(answer(401, fault), 3)).toEqual({ kind: 'unauthorized', ...expected });
      expect(microsoftAds.verdict(answer(429, fault), 3)).toEqual({ ...retry('throttled'), requestId: 'T' });
      expect(microsoftAds.verdict(answer(500, fault), 3)).toEqual({ ...RETRIED, requestId: 'T' });
      expect(microsoftAds.verdict(answer(400, fault), 1)).toEqual({ kind: 'rejected', ...expected });
      expect(microsoftAds.verdict(answer(400, { TrackingId: 'T' }), 1)).toMatchObject({ kind: 'rejected' });
      expect(microsoftAds.verdict(answer(400, { TrackingId: 'T' }), 3)).toMatchObject({ kind: 'split' });
    });

    it('splits a batch when the index is missing or out of range', () => {
      for (const problem of [error(5606), error(5606, 3), error(5606, -1)]) {
        const body = { PartialErrors: [problem] };
        expect(microsoftAds.verdict(answer(200, body), 3)).toEqual({ kind: 'split', reason: '5606 E5606' });
        expect(microsoftAds.verdict(answer(200, body), 1)).toEqual([{ kind: 'rejected', reason: '5606 E5606' }]);
      }
    });

    it('splits a batch whose answer was cut off', () => {
      const cut = answer(200, '{"PartialErrors":['.padEnd(65_536, 'x'));
      expect(microsoftAds.verdict(cut, 1_000)).toEqual({
        kind: 'split',
        reason: 'the answer is too long to be read',
        unknown: true,
      });
      expect(microsoftAds.verdict(cut, 1)).toEqual(RETRIED);
    });

    it.each([{ PartialErrors: 'none' }, { PartialErrors: {} }, { TrackingId: 'T' }, { Errors: [] }])(
      'is not delivered for %j',
      (body) => {
        expect(microsoftAds.verdict(answer(200, body), 3)).toMatchObject(RETRIED);
      },
    );
  });

  describe('test mode', () => {
    const test = microsoftAds.test?.('{"a":1}', CALL);

    const goals = microsoftAds.test?.('{"a":1}', OFFLINE_CALL);

    it('checks the token without an event', () => {
      expect(test?.sent).toBe(false);
      expect(JSON.parse(test?.request.body ?? '')).toMatchObject({ data: [] });
    });

    it('reads the goals for offline conversions', () => {
      expect(goals?.sent).toBe(false);
      expect(goals?.request.url).toMatch(/\/ConversionGoals\/QueryByIds$/);
      expect(goals?.request.body).not.toContain('"a"');
    });

    it.each<[string, PlatformResponse, object]>([
      [
        'all goals',
        answer(200, { ConversionGoals: ['purchase', 'lead_form', 'signup'].map((Name) => ({ Name })) }),
        { kind: 'accepted' },
      ],
      [
        'no goal',
        answer(200, { ConversionGoals: [] }),
        { kind: 'misconfigured', reason: expect.stringMatching(/named /) },
      ],
      [
        'no access',
        answer(400, { Errors: [{ Code: 106, ErrorCode: 'UserIsNotAuthorized' }] }),
        { kind: 'unauthorized' },
      ],
      ['an outage', answer(503, ''), { kind: 'retry' }],
    ])('interprets %s', (_, response, verdict) => {
      expect(goals?.verdict(response)).toMatchObject(verdict);
    });

    it.each<[string, PlatformResponse, object]>([
      [
        'an error about missing events',
        answer(400, { error: { code: 'BadRequest', message: 'data is empty' } }),
        { kind: 'accepted' },
      ],
      ['a count of 0', answer(200, { eventsReceived: 0 }), { kind: 'accepted' }],
      ['a bad token', answer(401, {}), { kind: 'unauthorized', reason: 'HTTP 401' }],
      ['an outage', answer(503, ''), RETRIED],
      ['HTML', answer(200, '<html>'), RETRIED],
      ['a proxy’s 400', answer(400, '<html>'), { kind: 'rejected', reason: 'HTTP 400' }],
    ])('interprets %s', (_, response, verdict) => {
      expect(test?.verdict(response)).toEqual(verdict);
    });
  });
});
