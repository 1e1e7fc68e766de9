import { describeErrorTable } from '../../../test/support/error-table.js';
import { answer, itRetriesUnreadable200 } from '../../../test/support/platform-answers.js';
import { describePlatformContract } from '../../../test/support/platform-contract.js';
import { INSUFFICIENT_IDENTIFIERS, sentItem, UNIDENTIFIED } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Call, Connection, PlatformResponse, Settings, Verdict } from '../platform.js';
import { DESTINATION_ERRORS, INGEST_ERRORS, PROCESSING_ERRORS, UPLOAD_ERRORS } from './errors.js';
import { platform as googleAds } from './index.js';

const SETTINGS: Settings = {
  customer_id: '1234567890',
  client_id: 'client',
  'event.purchase': '987654321',
  'event.lead': '987654322',
  'event.signup': '987654323',
};
const UPLOAD_SETTINGS: Settings = { ...SETTINGS, mode: 'upload' };
const SECRETS = { client_secret: 'secret', refresh_token: 'refresh' };
const CONNECTION: Connection = { settings: SETTINGS, secrets: SECRETS };
const UPLOAD_CONNECTION: Connection = {
  settings: UPLOAD_SETTINGS,
  secrets: { ...SECRETS, developer_token: 'developer' },
};

const PURCHASE: Conversion = SAMPLE_CONVERSIONS['hashed-only'];
const WITH_VISIT: Conversion = SAMPLE_CONVERSIONS['with-click-id'];
const EMAIL = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';
const PHONE = 'a6d53e23afd8a0e58ed88a857dec0272f27fb99ff0803e6cb1031201d78cade5';
/** Codes of both APIs that park the connection. */
const FIXABLE = {
  misconfigured: [
    'DESTINATION_ACCOUNT_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS',
    'CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS',
    'TERMS_AND_CONDITIONS_NOT_SIGNED',
    'DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED',
    'CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS',
    'INVALID_CONVERSION_ACTION_ID',
    'INVALID_CONVERSION_ACTION_TYPE',
    'NO_CONVERSION_ACTION_FOUND',
    'CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE',
    'UNSUPPORTED_VERSION',
    'DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS',
    'DESTINATION_ACCOUNT_*',
  ],
  unauthorized: [
    ...['UNAUTHENTICATED', 'OAUTH_TOKEN_EXPIRED', 'OAUTH_TOKEN_INVALID', 'OAUTH_TOKEN_REVOKED'],
    ...['PERMISSION_DENIED', 'USER_PERMISSION_DENIED', 'CUSTOMER_NOT_FOUND', 'NOT_ADS_USER'],
    ...['DEVELOPER_TOKEN_INVALID', 'DEVELOPER_TOKEN_NOT_APPROVED', 'DEVELOPER_TOKEN_PROHIBITED'],
    'CLOUD_PROJECT_NOT_APPROVED_FOR_PRODUCTION',
  ],
};
const SIX_HOURS_MS = 21_600_000;

function withClicks(clicks: Readonly<Record<string, string>>, conversion = PURCHASE): Conversion {
  const recorded = Object.entries(clicks).map(([kind, id]) => [kind, { id, timeMs: conversion.timeMs - 1_000 }]);
  return { ...conversion, visit: { clicks: Object.fromEntries(recorded), cookies: {}, utm: {} } };
}

const item = (conversion: Conversion, settings: Settings = SETTINGS) => sentItem(googleAds, conversion, settings);

function callOf(connection: Connection, group: string): Call {
  return { connection, group, accessToken: 'ya29', nowMs: 0 };
}

/** Answers without a valid request id. */
const NO_REQUEST_ID = [
  [{ requestId: 'REQ' }],
  { requestId: 7 },
  { requestId: '' },
  { requestId: 'REQ', error: { code: 500 } },
];

describePlatformContract(googleAds, {
  connection: CONNECTION,
  modes: { upload: UPLOAD_CONNECTION },
  accessToken: 'ya29',
  severalActions: { 'event.purchase': '987654321, 987654329' },
  secretSettings: ['client_secret', 'refresh_token', 'developer_token'],
  payload: {
    otherSettings: UPLOAD_SETTINGS,
    unidentified: [
      ...INSUFFICIENT_IDENTIFIERS,
      ['an email without a form for Google', { ...PURCHASE, hashes: { subject: 'x', emailGoogle: null } }],
      ['click ids of other platforms', withClicks({ msclkid: 'M', fbclid: 'F', dclid: 'D' }, UNIDENTIFIED)],
      ['an empty click id', withClicks({ gclid: '' }, UNIDENTIFIED)],
    ],
  },
});

describe('google_ads', () => {
  describe('settings', () => {
    it('accept a valid connection', () => {
      expect(googleAds.check?.(CONNECTION)).toBeUndefined();
      expect(googleAds.check?.(UPLOAD_CONNECTION)).toBeUndefined();
    });

    it.each<[string, Connection, RegExp]>([
      [
        'a label instead of an id',
        { ...CONNECTION, settings: { 'event.lead': 'AW-1/abc' } },
        /^event\.lead must be the id/,
      ],
      [
        'custom data in an upload',
        { ...UPLOAD_CONNECTION, settings: { ...UPLOAD_SETTINGS, 'field.shop': 'orderId' } },
        /^field\.shop cannot be sent/,
      ],
      [
        'a preset in an upload',
        { ...UPLOAD_CONNECTION, settings: { ...UPLOAD_SETTINGS, presets: 'coupon' } },
        /^presets cannot be sent/,
      ],
    ])('refuse %s', (_, connection, message) => {
      expect(googleAds.check?.(connection)).toMatch(message);
    });

    it('lead to an access token request', () => {
      expect(googleAds.token?.(CONNECTION)).toEqual({
        url: 'https://oauth2.googleapis.com/token',
        form: {
          grant_type: 'refresh_token',
          client_id: 'client',
          client_secret: 'secret',
          refresh_token: 'refresh',
        },
      });
      expect(googleAds.token?.({ ...CONNECTION, secrets: {} })).toBeUndefined();
    });
  });

  describe('payload', () => {
    it('skips an event without a conversion action', () => {
      expect(googleAds.payload(PURCHASE, { customer_id: '1234567890' })).toEqual({ skip: 'event_not_mapped' });
    });

    it('skips a conversion without consent', () => {
      expect(googleAds.payload({ ...PURCHASE, consent: 'denied' }, SETTINGS)).toEqual({ skip: 'consent_denied' });
      expect(googleAds.payload({ ...PURCHASE, consent: 'denied' }, UPLOAD_SETTINGS)).toEqual({
        skip: 'consent_denied',
      });
    });

    it('with require_click_id, skips a conversion without a Google click id', () => {
      const settings = { ...SETTINGS, require_click_id: 'yes' };
      expect(googleAds.payload(PURCHASE, settings)).toEqual({ skip: 'no_click_identifier' });
      expect(googleAds.payload(withClicks({ msclkid: 'M' }), settings)).toEqual({ skip: 'no_click_identifier' });
      expect(googleAds.payload(withClicks({ wbraid: 'W' }), settings)).toHaveProperty('item');
      expect(googleAds.payload(PURCHASE, { ...SETTINGS, require_click_id: 'no' })).toHaveProperty('item');
    });
  });

  describe('items', () => {
    const ordered: Conversion = SAMPLE_CONVERSIONS['with-details'];
    const merchant = { merchant_id: '555', feed_country: 'DE', feed_language: 'de' };

    it('are cart data of the Data Manager, with the Merchant Center account if it is set', () => {
      expect(item(ordered).cartData).not.toHaveProperty('merchantId');
      expect(item(ordered, { ...SETTINGS, ...merchant }).cartData).toEqual({
        merchantId: '555',
        merchantFeedLabel: 'DE',
        merchantFeedLanguageCode: 'de',
        items: [
          { merchantProductId: 'SKU-1', quantity: '2', unitPrice: 49.95 },
          { merchantProductId: 'SKU-2', quantity: '1', unitPrice: 30 },
          { merchantProductId: 'SKU-3', quantity: '1' },
        ],
      });
    });

    it('are uploaded only for a Merchant Center account', () => {
      expect(item(ordered, UPLOAD_SETTINGS)).not.toHaveProperty('cartData');
      expect(item(ordered, { ...UPLOAD_SETTINGS, ...merchant }).cartData).toEqual({
        merchantId: '555',
        feedCountryCode: 'DE',
        feedLanguageCode: 'de',
        items: [
          { productId: 'SKU-1', quantity: 2, unitPrice: 49.95 },
          { productId: 'SKU-2', quantity: 1, unitPrice: 30 },
          { productId: 'SKU-3', quantity: 1 },
        ],
      });
    });

    it('are left out with a braid', () => {
      const byBraid = withClicks({ gbraid: 'B' }, ordered);
      expect(item(byBraid)).not.toHaveProperty('cartData');
      expect(item(byBraid, { ...UPLOAD_SETTINGS, ...merchant })).not.toHaveProperty('cartData');
    });

    it('have a currency, also without an amount of the conversion', () => {
      expect(item({ ...ordered, value: undefined }).currency).toBe('EUR');
      expect(item({ ...ordered, value: undefined }, { ...UPLOAD_SETTINGS, ...merchant }).currencyCode).toBe('EUR');
      expect(item({ ...ordered, value: undefined }, UPLOAD_SETTINGS)).not.toHaveProperty('currencyCode');
    });
  });

  it.each([
    ['website', 'WEB'],
    ['app', 'APP'],
    ['phone_call', 'PHONE'],
    ['physical_store', 'OTHER'],
    ['email', 'OTHER'],
    ['crm', 'OTHER'],
    ['other', 'OTHER'],
  ] as const)('sends the source %s as %s, with and without a visit', (source, eventSource) => {
    expect(item({ ...PURCHASE, source }).eventSource).toBe(eventSource);
    expect(item({ ...WITH_VISIT, source }).eventSource).toBe(eventSource);
  });

  it('sends a store sale as one if the account may have them', () => {
    expect(item({ ...PURCHASE, source: 'physical_store' }, { ...SETTINGS, store_sales: 'yes' }).eventSource).toBe(
      'IN_STORE',
    );
  });

  describe('address', () => {
    const addressed: Conversion = SAMPLE_CONVERSIONS['by-phone'];
    const addressIn = (conversion: Conversion) =>
      item(conversion).userData.userIdentifiers.find((identifier: object) => 'address' in identifier);

    it('contains hashed names, and country and postal code as they are', () => {
      const { firstName, lastName } = addressed.hashes;
      expect(addressIn(addressed)).toEqual({
        address: { givenName: firstName, familyName: lastName, regionCode: 'US', postalCode: '90001' },
      });
    });

    it.each<[string, Partial<Conversion>]>([
      ['a first name', { hashes: { ...addressed.hashes, firstName: undefined } as never }],
      ['a last name', { hashes: { ...addressed.hashes, lastName: undefined } as never }],
      ['a postal code', { address: { country: 'US', city: 'Los Angeles' } }],
      ['a country', { address: { postalCode: '90001' } }],
      ['an address', { address: undefined }],
    ])('is left out without %s', (_, change) => {
      expect(addressIn({ ...addressed, ...change })).toBeUndefined();
    });

    it('is never uploaded', () => {
      expect(JSON.stringify(item(addressed, UPLOAD_SETTINGS))).not.toContain('90001');
    });
  });

  describe('Data Manager payload', () => {
    it.each([
      [{ gclid: 'G', gbraid: 'B', wbraid: 'W' }, { gclid: 'G' }],
      [{ gbraid: 'B', wbraid: 'W' }, { gbraid: 'B' }],
      [{ wbraid: 'W' }, { wbraid: 'W' }],
    ])('of the click ids %j contains only %j', (clicks, sent) => {
      expect(item(withClicks(clicks)).adIdentifiers).toEqual(sent);
      expect(item(withClicks(clicks)).userData.userIdentifiers).toEqual([{ emailAddress: EMAIL }]);
    });

    it('needs no user data with a click id', () => {
      expect(item(withClicks({ gclid: 'G' }, UNIDENTIFIED))).not.toHaveProperty('userData');
    });

    it('contains consent only if it was granted', () => {
      expect(item(WITH_VISIT).consent).toEqual({ adUserData: 'CONSENT_GRANTED' });
      expect(item(PURCHASE)).not.toHaveProperty('consent');
    });

    it('contains a currency only with an amount, which may be 0', () => {
      expect(item({ ...PURCHASE, value: undefined })).not.toHaveProperty('currency');
      expect(item({ ...PURCHASE, value: 0 })).toMatchObject({ conversionValue: 0, currency: 'EUR' });
    });

    it('contains custom fields as strings', () => {
      const settings = { ...SETTINGS, 'field.order_number': 'orderId', 'field.amount': 'value' };
      expect(item(PURCHASE, settings).customVariables).toEqual([
        { variable: 'order_number', value: 'ORD-1001' },
        { variable: 'amount', value: '129.9' },
      ]);
      expect(item({ ...PURCHASE, value: undefined, orderId: undefined }, settings)).not.toHaveProperty(
        'customVariables',
      );
    });

    it('is grouped by conversion action', () => {
      expect(googleAds.payload(PURCHASE, SETTINGS)).toHaveProperty('group', '987654321');
      expect(googleAds.payload({ ...PURCHASE, event: 'lead' }, SETTINGS)).toHaveProperty('group', '987654322');
    });
  });

  describe('upload payload', () => {
    it('contains all known data', () => {
      const phone = SAMPLE_CONVERSIONS['phone-and-name'].hashes;
      expect(item({ ...WITH_VISIT, hashes: phone }, UPLOAD_SETTINGS)).toEqual({
        gclid: 'Gclid_AbC-123',
        conversionAction: 'customers/1234567890/conversionActions/987654321',
        conversionDateTime: '2026-03-01 10:15:30+00:00',
        conversionValue: 129.9,
        currencyCode: 'EUR',
        orderId: 'ORD-1001',
        userIdentifiers: [
          {
            userIdentifierSource: 'FIRST_PARTY',
            hashedEmail: '06a240d11cc201676da976f7b49341181fd180da37cbe40a77432c0a366c80c3',
          },
          { userIdentifierSource: 'FIRST_PARTY', hashedPhoneNumber: PHONE },
        ],
        consent: { adUserData: 'GRANTED' },
      });
    });

    it('needs neither a click id nor an amount', () => {
      expect(item({ ...PURCHASE, value: undefined }, UPLOAD_SETTINGS)).toEqual({
        conversionAction: 'customers/1234567890/conversionActions/987654321',
        conversionDateTime: '2026-03-01 10:15:30+00:00',
        orderId: 'ORD-1001',
        userIdentifiers: [{ userIdentifierSource: 'FIRST_PARTY', hashedEmail: EMAIL }],
      });
    });

    it.each([{ gbraid: 'B', wbraid: 'W' }, { wbraid: 'W' }])(
      'contains no user identifiers with a braid: %j',
      (clicks) => {
        const sent = item(withClicks(clicks), UPLOAD_SETTINGS);
        expect(sent).not.toHaveProperty('userIdentifiers');
        expect(Object.keys(sent).filter((name) => name.endsWith('braid'))).toHaveLength(1);
      },
    );
  });

  describe('request', () => {
    const items = ['{"a": 1}', '{"b":2.50}', '{"c":"\\u00e9"}'];

    it('contains events byte for byte, with the conversion action of their group', () => {
      const settings = { ...SETTINGS, login_customer_id: '1112223333' };
      const request = googleAds.request(items, callOf({ ...CONNECTION, settings }, '987654321'));
      expect(request).toEqual({
        method: 'POST',
        url: 'https://datamanager.googleapis.com/v1/events:ingest',
        headers: { authorization: 'Bearer ya29', 'content-type': 'application/json' },
        body:
          '{"destinations":[{"loginAccount":{"accountType":"GOOGLE_ADS","accountId":"1112223333"},' +
          '"operatingAccount":{"accountType":"GOOGLE_ADS","accountId":"1234567890"},"productDestinationId":"987654321"}],' +
          '"encoding":"HEX","events":[{"a": 1},{"b":2.50},{"c":"\\u00e9"}]}',
      });
      expect(JSON.parse(request.body ?? '').events).toHaveLength(3);
    });

    it('sends uploads to the upload API even if the mode has changed since', () => {
      const settings = { ...SETTINGS, login_customer_id: '1112223333', upload_api_version: 'v26' };
      expect(googleAds.request(items, callOf({ ...UPLOAD_CONNECTION, settings }, 'upload'))).toEqual({
        method: 'POST',
        url: 'https://googleads.googleapis.com/v26/customers/1234567890:uploadClickConversions',
        headers: {
          authorization: 'Bearer ya29',
          'content-type': 'application/json',
          'developer-token': 'developer',
          'login-customer-id': '1112223333',
        },
        body: '{"conversions":[{"a": 1},{"b":2.50},{"c":"\\u00e9"}],"partialFailure":true}',
      });
      expect(googleAds.payload(PURCHASE, UPLOAD_SETTINGS)).toHaveProperty('group', 'upload');
    });

    it('needs no developer token, which Google retired', () => {
      const connection = { ...UPLOAD_CONNECTION, secrets: SECRETS };
      expect(googleAds.check?.(connection)).toBeUndefined();
      expect(googleAds.request(items, callOf(connection, 'upload')).headers).not.toHaveProperty('developer-token');
    });

    it('uses the endpoint of the connection for every kind of request', () => {
      const endpoint = 'http://127.0.0.1:9/google_ads/';
      const connection = { ...UPLOAD_CONNECTION, endpoint };
      expect([
        googleAds.request(items, callOf(connection, '1')).url,
        googleAds.request(items, callOf(connection, 'upload')).url,
        googleAds.confirmation?.request('REQ', callOf(connection, '1')).url,
        googleAds.token?.(connection)?.url,
      ]).toEqual([
        'http://127.0.0.1:9/google_ads/v1/events:ingest',
        'http://127.0.0.1:9/google_ads/v25/customers/1234567890:uploadClickConversions',
        'http://127.0.0.1:9/google_ads/v1/requestStatus:retrieve?requestId=REQ',
        'http://127.0.0.1:9/google_ads/token',
      ]);
    });
  });

  describe('verdict on a Data Manager answer', () => {
    function refusal(...fieldViolations: object[]) {
      return {
        error: {
          code: 400,
          status: 'INVALID_ARGUMENT',
          message: 'There was a problem with the request.',
          details: [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              reason: 'INVALID_ARGUMENT',
              domain: 'datamanager.googleapis.com',
              metadata: { requestId: 't-1' },
            },
            { '@type': 'type.googleapis.com/google.rpc.RequestInfo', requestId: 't-1' },
            { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations },
          ],
        },
      };
    }
    const bad = (field: string, reason: string) => ({ field, reason, description: 'No.' });
    const failed = (code: number, status: string) => answer(code, { error: { code, status, message: 'Invalid.' } });

    it('is accepted, with or without warnings', () => {
      const warned = { requestId: 'REQ', fieldWarnings: [{ field: 'events[0]', reason: 'R', description: 'D' }] };
      expect(googleAds.verdict(answer(200, { requestId: 'REQ' }), 3)).toEqual({ kind: 'accepted', requestId: 'REQ' });
      expect(googleAds.verdict(answer(200, warned), 3)).toEqual({ kind: 'accepted', requestId: 'REQ' });
    });

    describe.each([1, 3])('with %d events', (items) => {
      itRetriesUnreadable200((response) => googleAds.verdict(response, items), ...NO_REQUEST_ID);
    });

    it('rejects the named events and resends the others', () => {
      const body = refusal(
        bad('events[1].currency', 'INVALID_CURRENCY_CODE'),
        bad('events[1]', 'INVALID_EVENT'),
        bad('events[3]', 'INVALID_EVENT'),
      );
      expect(googleAds.verdict(answer(400, body), 4)).toEqual([
        { kind: 'resend' },
        { kind: 'rejected', reason: 'INVALID_CURRENCY_CODE at currency', requestId: 't-1' },
        { kind: 'resend' },
        { kind: 'rejected', reason: 'INVALID_EVENT', requestId: 't-1' },
      ]);
    });

    it.each([
      ['INVALID_DESTINATION', 'destinations[0].operating_account'],
      ['NOT_FOUND', 'destinations[0].product_destination_id'],
      ['OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER', 'destinations[0]'],
      ['DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS', 'destinations[0]'],
      ['DESTINATION_ACCOUNT_SUSPENDED', 'destinations[0]'],
      ['A_REASON_OF_TOMORROW', 'destinations.destinations[0]'],
    ])('parks the connection for %s at %s, and says what to do', (reason, field) => {
      const text = `${reason} at ${field}`;
      const parked = { kind: 'misconfigured', reason: text, requestId: 't-1' };
      for (const items of [1, 3])
        expect(googleAds.verdict(answer(400, refusal(bad(field, reason))), items)).toEqual(parked);
      expect(googleAds.fix?.(text)).toMatch(/\w{3}/);
      expect(googleAds.misconfigured?.(text)).toBe(true);
    });

    it('parks the connection for an unknown destination without a field', () => {
      const error = { code: 404, status: 'NOT_FOUND', message: 'Gone.', details: [{ reason: 'NOT_FOUND' }] };
      expect(googleAds.verdict(answer(404, { error }), 3)).toEqual({
        kind: 'misconfigured',
        reason: 'NOT_FOUND: Gone.',
      });
    });

    it.each(['INVALID_DESTINATION', 'NOT_FOUND', 'OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER'])(
      'rejects the event that %s is about',
      (reason) => {
        expect(googleAds.verdict(answer(400, refusal(bad('events[1]', reason))), 3)).toEqual([
          { kind: 'resend' },
          { kind: 'rejected', reason, requestId: 't-1' },
          { kind: 'resend' },
        ]);
        expect(googleAds.verdict(answer(400, refusal(bad('events[0]', reason))), 1)).toMatchObject([
          { kind: 'rejected' },
        ]);
      },
    );

    it('finds the event of a path with both names, without bisection', () => {
      const body = refusal(bad('events.events[1].currency', 'INVALID_CURRENCY_CODE'));
      expect(googleAds.verdict(answer(400, body), 3)).toEqual([
        { kind: 'resend' },
        { kind: 'rejected', reason: 'INVALID_CURRENCY_CODE at currency', requestId: 't-1' },
        { kind: 'resend' },
      ]);
    });

    it.each([
      ['events[0].user_data.user_identifiers[2].address.postal_code', 'INVALID_POSTAL_CODE', 'address'],
      ['events.events[0].userData', 'INVALID_COUNTRY_CODE', 'address'],
      ['events[0].userData.userIdentifiers[2].address.givenName', 'INVALID_SHA256_FORMAT', 'address'],
      ['events[0].user_data.user_identifiers[0].email_address', 'INVALID_HEX_ENCODING', 'email'],
      ['events[0].userData.userIdentifiers[1].phoneNumber', 'INVALID_SHA256_FORMAT', 'phone'],
      ['events[0].ad_identifiers.gclid', 'INVALID_FORMAT', 'click'],
    ])('names the identifier that %s refuses: %s', (field, reason, identifier) => {
      expect(googleAds.verdict(answer(400, refusal(bad(field, reason))), 2)).toMatchObject([
        { kind: 'without', identifiers: [identifier], reason: expect.stringMatching(reason) },
        { kind: 'resend' },
      ]);
    });

    it('names several refused identifiers, unless something else was refused, too', () => {
      const phone = bad('events[0].userData.userIdentifiers[1].phoneNumber', 'INVALID_SHA256_FORMAT');
      const address = bad('events[0].userData', 'INVALID_POSTAL_CODE');
      const currency = bad('events[0].currency', 'INVALID_CURRENCY_CODE');
      const verdictOn = (...problems: object[]) => googleAds.verdict(answer(400, refusal(...problems)), 1);
      expect(verdictOn(phone, address)).toMatchObject([{ kind: 'without', identifiers: ['phone', 'address'] }]);
      expect(verdictOn(phone, currency)).toMatchObject([{ kind: 'rejected' }]);
      expect(verdictOn(currency, phone)).toMatchObject([{ kind: 'rejected' }]);
    });

    it('parks the connection for a wrong setting, wherever it is reported', () => {
      const reason = 'INVALID_CONVERSION_ACTION_ID at destinations[0].product_destination_id';
      const body = refusal(bad('destinations[0].product_destination_id', 'INVALID_CONVERSION_ACTION_ID'));
      expect(googleAds.verdict(answer(400, body), 3)).toEqual({ kind: 'misconfigured', reason, requestId: 't-1' });
      const terms = 'DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED';
      expect(googleAds.verdict(answer(400, refusal(bad('events[1].user_data', terms))), 3)).toEqual([
        { kind: 'resend' },
        { kind: 'misconfigured', reason: `${terms} at user_data`, requestId: 't-1' },
        { kind: 'resend' },
      ]);
      const info = { reason: 'TERMS_AND_CONDITIONS_NOT_SIGNED', metadata: { requestId: 't-1' } };
      expect(googleAds.verdict(answer(403, { error: { message: 'Sign them.', details: [info] } }), 1)).toEqual({
        kind: 'misconfigured',
        reason: 'TERMS_AND_CONDITIONS_NOT_SIGNED: Sign them.',
        requestId: 't-1',
      });
      const denied = { status: 'PERMISSION_DENIED', message: 'No access.', details: [{ reason: 'PERMISSION_DENIED' }] };
      expect(googleAds.verdict(answer(403, { error: denied }), 3)).toEqual({
        kind: 'unauthorized',
        reason: 'PERMISSION_DENIED: No access.',
      });
    });

    describe('with a reason for the whole request', () => {
      const table = [...INGEST_ERRORS, ...DESTINATION_ERRORS];
      const parked = [...FIXABLE.misconfigured, 'INVALID_DESTINATION', 'NOT_FOUND', 'OPERATING_ACCOUNT_MISMATCH*'];
      describeErrorTable(table, { ...FIXABLE, misconfigured: parked }, { rejected: ['INVALID_EVENT'] }, (reason) => {
        return googleAds.verdict(answer(400, { error: { details: [{ reason }] } }), 1) as Verdict;
      });
    });

    it.each([
      ['another field', refusal(bad('events', 'TOO_MANY_EVENTS'))],
      ['an index out of range', refusal(bad('events[3]', 'TOO_MANY_EVENTS'))],
      ['no field', refusal({ reason: 'TOO_MANY_EVENTS' })],
    ])('splits a batch that was refused for %s, and rejects a single event', (_, body) => {
      const reason = expect.stringMatching(/^TOO_MANY_EVENTS/);
      expect(googleAds.verdict(answer(400, body), 3)).toEqual({ kind: 'split', reason, requestId: 't-1' });
      expect(googleAds.verdict(answer(400, body), 1)).toEqual([{ kind: 'rejected', reason, requestId: 't-1' }]);
    });

    it.each<[string, PlatformResponse, Verdict]>([
      ['401', failed(401, 'UNAUTHENTICATED'), { kind: 'unauthorized', reason: 'UNAUTHENTICATED: Invalid.' }],
      ['403', failed(403, 'PERMISSION_DENIED'), { kind: 'unauthorized', reason: 'PERMISSION_DENIED: Invalid.' }],
      ['409', failed(409, 'ABORTED'), { kind: 'retry', reason: 'server_error', unknown: false }],
      ['429', failed(429, 'RESOURCE_EXHAUSTED'), { kind: 'retry', reason: 'throttled' }],
      ['500', failed(500, 'INTERNAL'), { kind: 'retry', reason: 'server_error' }],
      ['503', failed(503, 'UNAVAILABLE'), { kind: 'retry', reason: 'server_error' }],
      ['504', failed(504, 'DEADLINE_EXCEEDED'), { kind: 'retry', reason: 'server_error' }],
      ['a proxy’s 502', answer(502, '<html>'), { kind: 'retry', reason: 'server_error' }],
      ['a proxy’s 400', answer(400, '<html>'), { kind: 'split', reason: 'HTTP 400' }],
      ['a proxy’s 413', answer(413, ''), { kind: 'split', reason: 'HTTP 413' }],
    ])('follows from %s', (_, response, verdict) => {
      expect(googleAds.verdict(response, 3)).toEqual(verdict);
    });

    it('honours Retry-After', () => {
      const response = answer(429, { error: { status: 'RESOURCE_EXHAUSTED' } }, { 'retry-after': '30' });
      expect(googleAds.verdict(response, 1)).toEqual({ kind: 'retry', reason: 'throttled', afterMs: 30_000 });
    });
  });

  describe('verdict on an upload answer', () => {
    const accepted = {
      gclid: 'G',
      conversionAction: 'customers/1/conversionActions/3',
      conversionDateTime: '2026-03-01 10:15:30+00:00',
    };
    const located = (index: number, errorCode: object) => ({
      errorCode,
      message: 'Invalid.',
      trigger: { stringValue: 'jane.doe@example.com' },
      location: { fieldPathElements: [{ fieldName: 'conversions', index }, { fieldName: 'conversion_action' }] },
    });
    const partly = (results: object[], ...errors: object[]) => ({
      partialFailureError: { code: 3, message: 'Invalid.', details: [{ errors, requestId: 'R' }] },
      results,
      jobId: '5353',
    });

    it('is delivered for accepted conversions', () => {
      const body = { results: [accepted, accepted], jobId: '123' };
      expect(googleAds.verdict(answer(200, body), 2)).toEqual([
        { kind: 'delivered', requestId: '123' },
        { kind: 'delivered', requestId: '123' },
      ]);
    });

    it('is given for each conversion in its order', () => {
      const body = partly(
        [accepted, {}, {}],
        located(1, { conversionUploadError: 'EVENT_NOT_FOUND' }),
        located(2, { conversionUploadError: 'ORDER_ID_ALREADY_IN_USE' }),
      );
      expect(googleAds.verdict(answer(200, body), 3)).toEqual([
        { kind: 'delivered', requestId: 'R' },
        { kind: 'rejected', reason: 'EVENT_NOT_FOUND', requestId: 'R' },
        { kind: 'delivered', requestId: 'R' },
      ]);
    });

    it.each([
      ['UNPARSEABLE_GCLID', 'gclid', ['click']],
      ['UNPARSEABLE_WBRAID', 'wbraid', ['click']],
      ['INVALID_USER_IDENTIFIER', 'user_identifiers.hashed_email', ['email']],
      ['INVALID_USER_IDENTIFIER', 'user_identifiers.hashedPhoneNumber', ['phone']],
      ['UNSUPPORTED_USER_IDENTIFIER', 'user_identifiers', ['email', 'phone']],
    ])('names the identifiers that %s at %s refuses', (code, path, identifiers) => {
      const fieldPathElements = [
        { fieldName: 'conversions', index: 0 },
        ...path.split('.').map((fieldName) => ({ fieldName })),
      ];
      const error = { errorCode: { conversionUploadError: code }, location: { fieldPathElements } };
      expect(googleAds.verdict(answer(200, partly([{}, accepted], error)), 2)).toMatchObject([
        { kind: 'without', identifiers, reason: code },
        { kind: 'delivered' },
      ]);
    });

    const retry = (afterMs?: number) => ({ kind: 'retry', reason: 'server_error', afterMs });
    it.each<[string, string, object]>([
      ['conversionUploadError', 'ORDER_ID_ALREADY_IN_USE', { kind: 'delivered' }],
      ['conversionUploadError', 'CLICK_CONVERSION_ALREADY_EXISTS', { kind: 'delivered' }],
      ['conversionUploadError', 'DUPLICATE_ORDER_ID', { ...retry(), unknown: false }],
      ['conversionUploadError', 'DUPLICATE_CLICK_CONVERSION_IN_REQUEST', { ...retry(), unknown: false }],
      ['conversionUploadError', 'TOO_RECENT_EVENT', { ...retry(SIX_HOURS_MS), unknown: false }],
      ['conversionUploadError', 'TOO_RECENT_CLICK', { ...retry(SIX_HOURS_MS), unknown: false }],
      ['conversionUploadError', 'TOO_RECENT_CONVERSION_ACTION', { ...retry(SIX_HOURS_MS), unknown: false }],
      ...[
        'CLICK_NOT_FOUND',
        'EVENT_NOT_FOUND',
        'EXPIRED_EVENT',
        'CONVERSION_PRECEDES_EVENT',
        'CONVERSION_TRACKING_NOT_ENABLED_AT_IMPRESSION_TIME',
        'GBRAID_WBRAID_BOTH_SET',
        'ORDER_ID_CONTAINS_PII',
        'TOO_MANY_CONVERSIONS_IN_REQUEST',
        'INVALID_CUSTOMER_FOR_CLICK',
        'UNAUTHORIZED_CUSTOMER',
        'ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID',
      ].map((code): [string, string, object] => ['conversionUploadError', code, { kind: 'rejected', reason: code }]),
      [
        'notAllowlistedError',
        'CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE',
        { kind: 'misconfigured', reason: 'CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE' },
      ],
      ['databaseError', 'CONCURRENT_MODIFICATION', { ...retry(), unknown: false }],
      ['internalError', 'TRANSIENT_ERROR', retry()],
      ['internalError', 'INTERNAL_ERROR', retry()],
      ['internalError', 'DEADLINE_EXCEEDED', retry()],
      ['quotaError', 'RESOURCE_TEMPORARILY_EXHAUSTED', { kind: 'retry', reason: 'throttled' }],
      ['authenticationError', 'OAUTH_TOKEN_EXPIRED', { kind: 'unauthorized', reason: 'OAUTH_TOKEN_EXPIRED' }],
    ])('follows from %s.%s', (category, code, verdict) => {
      const body = partly([accepted, {}], located(1, { [category]: code }));
      expect(googleAds.verdict(answer(200, body), 2)).toEqual([
        { kind: 'delivered', requestId: 'R' },
        { ...verdict, requestId: 'R' },
      ]);
    });

    describe('with an error of one conversion', () => {
      describeErrorTable(
        UPLOAD_ERRORS,
        {
          ...FIXABLE,
          delivered: [
            ...['ORDER_ID_ALREADY_IN_USE', 'CLICK_CONVERSION_ALREADY_EXISTS', 'CONVERSION_ALREADY_RETRACTED'],
            ...['RESTATEMENT_ALREADY_EXISTS', 'MORE_RECENT_RESTATEMENT_FOUND'],
          ],
          server_error: [
            ...['TOO_RECENT_EVENT', 'TOO_RECENT_CLICK', 'TOO_RECENT_CONVERSION_ACTION', 'DUPLICATE_ORDER_ID'],
            ...['DUPLICATE_CLICK_CONVERSION_IN_REQUEST', 'CONCURRENT_MODIFICATION', 'internalError'],
            ...['TOO_RECENT_CONVERSION', 'DUPLICATE_ADJUSTMENT_IN_REQUEST'],
          ],
          throttled: ['quotaError'],
          unauthorized: [...FIXABLE.unauthorized, 'authenticationError', 'authorizationError'],
        },
        {
          rejected: [
            ...['CLICK_NOT_FOUND', 'EXPIRED_EVENT', 'DATA_CONSTRAINT_VIOLATION', 'CONVERSION_NOT_FOUND'],
            ...['CONVERSION_EXPIRED', 'ADJUSTMENT_PRECEDES_CONVERSION', 'TOO_MANY_ADJUSTMENTS'],
          ],
        },
        (code) => {
          const isCategory = /^[a-z]/.test(String(code));
          const errorCode = isCategory ? { [code]: 'OTHER' } : { conversionUploadError: code };
          const verdicts = googleAds.verdict(answer(200, partly([{}], located(0, errorCode))), 1);
          return (verdicts as readonly Verdict[])[0] as Verdict;
        },
      );
    });

    it('is delivered only with a result', () => {
      const retried = { kind: 'retry', reason: 'server_error' };
      expect(googleAds.verdict(answer(200, { results: [accepted, {}] }), 3)).toEqual([
        { kind: 'delivered' },
        retried,
        retried,
      ]);
      expect(googleAds.verdict(answer(200, { results: 'all' }), 1)).toEqual([retried]);
      expect(googleAds.verdict(answer(200, { partialFailureError: { code: 3 } }), 1)).toEqual([retried]);
      const withoutIndex = partly([{}, {}], { errorCode: { conversionUploadError: 'ORDER_ID_ALREADY_IN_USE' } });
      expect(googleAds.verdict(answer(200, withoutIndex), 2)).toMatchObject([retried, retried]);
    });

    it('splits a batch whose answer was cut off', () => {
      const cut = answer(200, '{"results":['.padEnd(65_536, 'x'));
      expect(googleAds.verdict(cut, 2_000)).toEqual({
        kind: 'split',
        reason: 'the answer is too long to be read',
        unknown: true,
      });
      expect(googleAds.verdict(cut, 1)).toEqual({ kind: 'retry', reason: 'server_error' });
    });

    const refusal = (status: number, errorCode: object, more: object = {}) =>
      answer(status, {
        error: {
          code: status,
          status: 'S',
          message: 'M',
          details: [{ errors: [{ errorCode, ...more }], requestId: 'R' }],
        },
      });

    it.each<[string, PlatformResponse, object]>([
      [
        '401',
        refusal(401, { authenticationError: 'TWO_STEP_VERIFICATION_NOT_ENROLLED' }),
        { kind: 'unauthorized', reason: 'TWO_STEP_VERIFICATION_NOT_ENROLLED' },
      ],
      [
        '403',
        refusal(403, { authorizationError: 'USER_PERMISSION_DENIED' }),
        { kind: 'unauthorized', reason: 'USER_PERMISSION_DENIED' },
      ],
      [
        'an unknown customer, with any status',
        refusal(400, { authenticationError: 'CUSTOMER_NOT_FOUND' }),
        { kind: 'unauthorized', reason: 'CUSTOMER_NOT_FOUND' },
      ],
      [
        'a retired API version',
        refusal(400, { requestError: 'UNSUPPORTED_VERSION' }),
        { kind: 'misconfigured', reason: 'UNSUPPORTED_VERSION' },
      ],
      [
        '429 with a delay',
        refusal(429, { quotaError: 'RESOURCE_EXHAUSTED' }, { details: { quotaErrorDetails: { retryDelay: '1.5s' } } }),
        { kind: 'retry', reason: 'throttled', afterMs: 1_500 },
      ],
      [
        'any other error without an index',
        refusal(400, { requestError: 'INVALID_INPUT' }),
        { kind: 'split', reason: 'INVALID_INPUT' },
      ],
    ])('follows from a refused request: %s', (_, response, verdict) => {
      expect(googleAds.verdict(response, 3)).toEqual({ ...verdict, requestId: 'R' });
    });

    it('contains no data that Google echoes', () => {
      const body = partly([{}], { message: 'jane.doe@example.com is bad', trigger: { stringValue: EMAIL } });
      expect(googleAds.verdict(answer(200, body), 1)).toEqual([
        { kind: 'rejected', reason: '… is bad', requestId: 'R' },
      ]);
    });
  });

  describe('confirmation', () => {
    const confirm = (response: PlatformResponse) => googleAds.confirmation?.verdict(response);
    const status = (requestStatus: string, ...reasons: string[]) =>
      answer(200, {
        requestStatusPerDestination: [
          {
            requestStatus,
            errorInfo: {
              errorCounts: reasons.map((reason) => ({ recordCount: '1', reason: `PROCESSING_ERROR_REASON_${reason}` })),
            },
            eventsIngestionStatus: { recordCount: '3' },
          },
        ],
      });
    const checkAgain = { kind: 'retry', reason: 'server_error' };

    it('is requested by the request id', () => {
      expect(googleAds.confirmation?.request('REQ/1&x', callOf(CONNECTION, '987654321'))).toEqual({
        method: 'GET',
        url: 'https://datamanager.googleapis.com/v1/requestStatus:retrieve?requestId=REQ%2F1%26x',
        headers: { authorization: 'Bearer ya29' },
      });
    });

    it('combines the conversion actions of the request', () => {
      const failed = [{ recordCount: '1', reason: 'PROCESSING_ERROR_REASON_INVALID_CLICK' }];
      const destination = { productDestinationId: '222' };
      const requestStatusPerDestination = [
        { requestStatus: 'SUCCESS' },
        { destination, requestStatus: 'FAILED', errorInfo: { errorCounts: failed } },
      ];
      const reason = 'delivered, but not to 222: INVALID_CLICK';
      expect(confirm(answer(200, { requestStatusPerDestination }))).toEqual({ kind: 'rejected', reason });
    });

    it.each<[string, string[], object]>([
      ['SUCCESS', [], { kind: 'delivered' }],
      ['PROCESSING', [], { kind: 'retry', reason: 'timeout' }],
      ['FAILED', ['DUPLICATE_TRANSACTION_ID'], { kind: 'delivered' }],
      ['FAILED', ['DUPLICATE_TRANSACTION_ID', 'DUPLICATE_GCLID'], { kind: 'delivered' }],
      ['FAILED', ['TOO_RECENT_CLICK'], { kind: 'retry', reason: 'server_error', afterMs: SIX_HOURS_MS }],
      ['FAILED', ['INTERNAL_ERROR'], { kind: 'retry', reason: 'server_error', afterMs: 1_800_000 }],
      ...[
        'INVALID_CLICK',
        'CLICK_NOT_FOUND',
        'EVENT_TOO_OLD',
        'CONVERSION_PRECEDES_CLICK',
        'DENIED_CONSENT',
        'UNKNOWN_CONSENT',
        'INVALID_OPERATING_ACCOUNT_FOR_CLICK',
      ].map((reason): [string, string[], object] => ['FAILED', [reason], { kind: 'rejected', reason }]),
      ['FAILED', ['INVALID_CLICK', 'EVENT_TOO_OLD'], { kind: 'rejected', reason: 'INVALID_CLICK, EVENT_TOO_OLD' }],
      ...['INVALID_GCLID', 'INVALID_GBRAID', 'INVALID_WBRAID'].map((reason): [string, string[], object] => {
        return ['FAILED', [reason], { kind: 'without', identifiers: ['click'], reason }];
      }),
      ['FAILED', ['INVALID_GCLID', 'EVENT_TOO_OLD'], { kind: 'split', reason: 'INVALID_GCLID, EVENT_TOO_OLD' }],
      ['FAILED', [], { kind: 'rejected', reason: 'FAILED' }],
      ['FAILED', ['INVALID_GCLID', 'DUPLICATE_GCLID'], { kind: 'split', reason: 'INVALID_GCLID, DUPLICATE_GCLID' }],
      ['PARTIAL_SUCCESS', ['INVALID_GCLID'], { kind: 'split', reason: 'INVALID_GCLID' }],
      ['PARTIAL_SUCCESS', ['TOO_RECENT_CLICK'], { kind: 'split', reason: 'TOO_RECENT_CLICK' }],
      ['PARTIAL_SUCCESS', ['DUPLICATE_GCLID'], { kind: 'delivered' }],
      ['PARTIAL_SUCCESS', [], { kind: 'split', reason: 'PARTIAL_SUCCESS' }],
      ['REQUEST_STATUS_UNKNOWN', [], checkAgain],
    ])('follows from %s %j', (requestStatus, reasons, verdict) => {
      expect(confirm(status(requestStatus, ...reasons))).toEqual(verdict);
    });

    describe('of a failed request', () => {
      describeErrorTable(
        PROCESSING_ERRORS,
        {
          misconfigured: FIXABLE.misconfigured,
          delivered: ['DUPLICATE_GCLID', 'DUPLICATE_TRANSACTION_ID'],
          server_error: ['TOO_RECENT_CLICK', 'INTERNAL_ERROR'],
        },
        { rejected: ['EVENT_TOO_OLD', 'INVALID_CLICK', 'DENIED_CONSENT'] },
        (reason) => confirm(status('FAILED', String(reason))) as Verdict,
      );
    });

    it('reports refused credentials', () => {
      expect(confirm(answer(401, { error: { status: 'U' } }))).toEqual({ kind: 'unauthorized', reason: 'U' });
    });

    it.each<[string, PlatformResponse, object]>([
      ['an unknown id', answer(404, { error: { status: 'NOT_FOUND' } }), checkAgain],
      ['a rate limit', answer(429, {}, { 'retry-after': '60' }), { kind: 'retry', reason: 'throttled' }],
      ['an outage', answer(503, '<html>'), checkAgain],
      ['no destination', answer(200, { requestStatusPerDestination: [] }), checkAgain],
    ])('is requested again after %s', (_, response, verdict) => {
      expect(confirm(response)).toEqual(verdict);
    });

    itRetriesUnreadable200(confirm, ...NO_REQUEST_ID);
  });

  describe('test mode', () => {
    const test = (group: string, connection = CONNECTION) => googleAds.test?.('{"a":1}', callOf(connection, group));

    it('sends a request that Google only validates', () => {
      expect(test('987654321')?.sent).toBe(true);
      expect(JSON.parse(test('987654321')?.request.body ?? '')).toMatchObject({
        validateOnly: true,
        events: [{ a: 1 }],
      });
      expect(test('upload', UPLOAD_CONNECTION)?.request.body).toBe(
        '{"conversions":[{"a":1}],"partialFailure":true,"validateOnly":true}',
      );
    });

    const error = { errorCode: { conversionUploadError: 'CLICK_NOT_FOUND' } };
    it.each<[string, PlatformResponse, object]>([
      ['an empty object', answer(200, {}), { kind: 'accepted' }],
      ['a request id', answer(200, { requestId: 'REQ' }), { kind: 'accepted' }],
      [
        'an error of the upload',
        answer(200, { partialFailureError: { details: [{ errors: [error] }] } }),
        { kind: 'rejected', reason: 'CLICK_NOT_FOUND' },
      ],
      [
        'a bad event',
        answer(400, { error: { details: [{ fieldViolations: [{ field: 'events[0]', reason: 'INVALID_EVENT' }] }] } }),
        { kind: 'rejected', reason: 'INVALID_EVENT' },
      ],
      ['a bad token', answer(401, {}), { kind: 'unauthorized', reason: 'HTTP 401' }],
      ['HTML', answer(200, '<html>'), { kind: 'retry', reason: 'server_error' }],
      ['an unknown field', answer(200, { status: 'up' }), { kind: 'retry', reason: 'server_error' }],
      ['an array', answer(200, []), { kind: 'retry', reason: 'server_error' }],
      ['null', answer(200, null), { kind: 'retry', reason: 'server_error' }],
    ])('interprets %s', (_, response, verdict) => {
      expect(test('987654321')?.verdict(response)).toEqual(verdict);
    });
  });
});
