import { derivedUuid } from '../../src/kernel/uuid.js';
import type { Conversion } from '../../src/platforms/conversion.js';
import { DEFINITION } from '../../src/platforms/defined/compile.js';
import { parseDefinition } from '../../src/platforms/defined/parse-definition.js';
import { shippedDefinition } from '../../src/platforms/defined/shipped.js';
import { platformOf } from '../../src/platforms/index.js';
import type { Connection, Platform, SkipReason } from '../../src/platforms/platform.js';
import { SAMPLE_CONVERSIONS } from './sample-conversions.js';

type SampleName = keyof typeof SAMPLE_CONVERSIONS;

/** One kind of connection to a platform, and how it differs from the others. */
export interface PlatformCase {
  readonly name: string;
  readonly platform: Platform;
  readonly connection: Connection;
  /** The result of an accepted conversion: `accepted` where the platform confirms it later, or never. */
  readonly success: 'delivered' | 'accepted';
  /** The platform never reports a refusal: only the sandbox's ledger shows that a conversion was lost. */
  readonly silent?: boolean;
  /** Modes that cannot be distinguished from success, because any 2xx counts. */
  readonly indistinguishable?: readonly string[];
  /** The number of requests to deliver five conversions of which the third is invalid; undefined if it is not reported. */
  readonly requestsToIsolate?: number;
  /** Sample conversions that are not sent. */
  readonly skips?: Readonly<Partial<Record<SampleName, SkipReason>>>;
  /** The skip reason of a conversion whose email is empty after this platform's normalisation. */
  readonly skipsWithoutEmail?: SkipReason;
  /** The fields that report an opt-out; undefined if the platform has none. */
  readonly optOut?: object;
  /** Makes a payload invalid; by default by what replaces its hashes. */
  readonly invalidate?: (body: string) => string;
  /** The id that the ledger records, if it is not the event id. */
  readonly ledgerId?: (conversion: Conversion) => unknown;
}

const UNMAPPED = { 'own-event': 'event_not_mapped' } as const;
const UNMAPPED_OR_DENIED = { ...UNMAPPED, 'consent-denied': 'consent_denied' } as const;
const LIMITED = { data_processing_options: ['LDU'] };
/** The body of a 2xx is ignored. */
const ANY_BODY = ['truncated', 'huge', 'gzip_bomb', 'error_in_200'];

const GOOGLE = {
  customer_id: '1234567890',
  client_id: 'client',
  client_secret: 'client-secret',
  refresh_token: 'refresh-token',
  'event.purchase': '111111111',
  'event.lead': '222222222',
  'event.signup': '333333333',
};
const UPLOAD = { mode: 'upload', merchant_id: '555', feed_country: 'DE', feed_language: 'de' };
const GOOGLE_CASE = {
  skips: UNMAPPED_OR_DENIED,
  skipsWithoutEmail: 'no_identifier',
} as const;
const MICROSOFT = { 'event.purchase': 'purchase', 'event.lead': 'lead', 'event.signup': 'signup' };
const MICROSOFT_CASE = { requestsToIsolate: 1, skips: UNMAPPED, skipsWithoutEmail: 'no_identifier' } as const;
const LINKEDIN = { 'event.purchase': '1001', 'event.lead': '1002', 'event.signup': '1003' };
const TIKTOK = { pixel_code: 'PIXELCODE', access_token: 'token' };

const GA4 = { measurement_id: 'G-TEST123456', api_secret: 'api-secret' };
const GA4_CASE = {
  success: 'accepted',
  silent: true,
  indistinguishable: ANY_BODY,
  optOut: { consent: { ad_user_data: 'DENIED', ad_personalization: 'DENIED' } },
} as const;

/** A definition that knows people by the sender's id of the customer only. */
const BY_EXTERNAL_ID = {
  skips: {
    ...everySample('no_identifier', ['with-details', 'server-only', 'by-phone']),
    'consent-denied': 'consent_denied',
  },
  skipsWithoutEmail: 'no_identifier',
  ledgerId: ({ event, eventId }: Conversion) => derivedUuid(`${event}\n${eventId}`),
} as const;

export const PLATFORM_CASES: readonly PlatformCase[] = [
  platformCase('google_ads', GOOGLE, { ...GOOGLE_CASE, success: 'accepted', requestsToIsolate: 2 }),
  platformCase(
    'google_ads',
    { ...GOOGLE, require_click_id: 'yes' },
    {
      name: 'google_ads with click ids only',
      success: 'accepted',
      requestsToIsolate: 2,
      skips: {
        ...everySample('no_click_identifier', [
          ...(['with-click-id', 'with-details', 'from-app', 'without-email'] as const),
          ...(['stated-consent', 'personalization-denied'] as const),
        ]),
        ...GOOGLE_CASE.skips,
      },
      skipsWithoutEmail: 'no_click_identifier',
    },
  ),
  platformCase(
    'google_ads',
    { ...GOOGLE, ...UPLOAD, developer_token: 'developer-token', login_customer_id: '1112223333' },
    { ...GOOGLE_CASE, name: 'google_ads with upload', requestsToIsolate: 1 },
  ),
  platformCase(
    'meta',
    { pixel_id: '1234567890', access_token: 'token' },
    { requestsToIsolate: 5, optOut: { ...LIMITED, data_processing_options_country: 0 } },
  ),
  platformCase('tiktok', TIKTOK, { requestsToIsolate: 2, optOut: { limited_data_use: true } }),
  platformCase(
    'tiktok',
    { ...TIKTOK, crm_event_set_id: '7' },
    { name: 'tiktok with a CRM event set', requestsToIsolate: 2, optOut: { limited_data_use: true } },
  ),
  platformCase(
    'tiktok',
    { ...TIKTOK, crm_event_set_id: '7', offline_event_set_id: '8', app_id: '9' },
    { name: 'tiktok by source', requestsToIsolate: 2, optOut: { limited_data_use: true } },
  ),
  platformCase(
    'microsoft_ads',
    { ...MICROSOFT, tag_id: '12345678', access_token: 'token' },
    { ...MICROSOFT_CASE, optOut: { adStorageConsent: 'D' } },
  ),
  platformCase(
    'microsoft_ads',
    {
      ...MICROSOFT,
      mode: 'offline',
      customer_id: '11',
      account_id: '22',
      developer_token: 'developer-token',
      client_id: 'client',
      client_secret: 'client-secret',
      refresh_token: 'refresh-token',
    },
    {
      ...MICROSOFT_CASE,
      name: 'microsoft_ads offline',
      skips: UNMAPPED_OR_DENIED,
      // Offline conversions are identified by click id and time.
      ledgerId: ({ visit, timeMs }) =>
        `${visit?.clicks.msclkid?.id} ${new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z')}`,
    },
  ),
  platformCase('ga4', { ...GA4, synthetic_client_id: 'yes' }, GA4_CASE),
  platformCase('ga4', GA4, {
    ...GA4_CASE,
    name: 'ga4 with cookies only',
    skips: everySample('no_client_identifier', [
      ...(['with-click-id', 'without-click-id', 'with-details'] as const),
      ...(['from-app', 'server-only', 'without-email', 'stated-consent', 'personalization-denied'] as const),
    ]),
    skipsWithoutEmail: 'no_client_identifier',
  }),
  platformCase(
    'segment',
    { write_key: 'write-key' },
    // Segment shows a refused event of a batch only in its debugger.
    { ledgerId: ({ id }) => expect.stringContaining(id) },
  ),
  platformCase('linkedin', { ...LINKEDIN, access_token: 'token' }, { requestsToIsolate: 2, skips: UNMAPPED_OR_DENIED }),
  platformCase(
    'linkedin',
    {
      ...LINKEDIN,
      client_id: 'client',
      client_secret: 'client-secret',
      refresh_token: 'refresh-token',
      external_id: 'plain',
    },
    { name: 'linkedin with refreshed tokens', requestsToIsolate: 2, skips: UNMAPPED_OR_DENIED },
  ),
  platformCase(
    'pinterest',
    { ad_account_id: '123456789012', access_token: 'token' },
    { requestsToIsolate: 1, skips: UNMAPPED, optOut: { opt_out: true } },
  ),
  platformCase(
    'snapchat',
    { pixel_id: '7e5a1b2c-0000-4000-8000-000000000001', access_token: 'token' },
    { requestsToIsolate: 5, skips: UNMAPPED, optOut: LIMITED },
  ),
  platformCase(
    'reddit',
    { pixel_id: 't2_test1', access_token: 'token' },
    {
      requestsToIsolate: 5,
      skipsWithoutEmail: 'no_identifier',
      optOut: { user: { data_processing_options: { modes: ['LDU'] } } },
    },
  ),
  platformCase(
    'x',
    {
      pixel_id: 'o8z6j',
      pixel_token: 'token',
      'event.purchase': 'tw-o8z6j-o87ne',
      'event.lead': 'tw-o8z6j-o87nf',
      'event.signup': 'tw-o8z6j-o87ng',
    },
    { requestsToIsolate: 5, skips: UNMAPPED_OR_DENIED },
  ),
  platformCase(
    'webhook',
    { url: 'https://receiver.example/conversions', secret: 'whsec_dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQ=' },
    { indistinguishable: ['html', ...ANY_BODY], optOut: { data: { consent: 'denied' } } },
  ),
  platformCase(
    'mixpanel',
    { project_id: '1234567', username: 'cc.a1b2c3.mp-service-account', secret: 'service-account-secret' },
    {
      requestsToIsolate: 1,
      skips: { 'consent-denied': 'consent_denied' },
      invalidate: (body) => body.replace(/"distinct_id":"[^"]*"/, '"distinct_id":"anonymous"'),
      ledgerId: ({ event, eventId }) => derivedUuid(`${event}\n${eventId}`),
    },
  ),
  platformCase(
    'posthog',
    { api_key: 'phc_project-key' },
    {
      success: 'accepted',
      requestsToIsolate: 5,
      skips: { 'consent-denied': 'consent_denied' },
      invalidate: (body) => body.replace(/"distinct_id":"[^"]*"/, '"distinct_id":""'),
      ledgerId: ({ event, eventId }) => derivedUuid(`${event}\n${eventId}`),
    },
  ),
  platformCase(
    'quora',
    { account_id: '527745581653587', access_token: 'token' },
    {
      indistinguishable: ['html', ...ANY_BODY],
      skips: { ...UNMAPPED_OR_DENIED, 'without-email': 'no_identifier' },
    },
  ),
  platformCase('klaviyo', { api_key: 'pk_private-key' }, { ...BY_EXTERNAL_ID, success: 'accepted' }),
  platformCase(
    'hubspot',
    {
      access_token: 'token',
      'event.purchase': 'pe1234567_purchase',
      'event.lead': 'pe1234567_lead',
      'event.signup': 'pe1234567_signup',
    },
    { ...BY_EXTERNAL_ID, skips: { ...BY_EXTERNAL_ID.skips, ...UNMAPPED } },
  ),
];

/** Undefined if no such definition is shipped. */
export function shippedPlatform(name: string): Platform | undefined {
  const text = shippedDefinition(name);
  return text === undefined ? undefined : parseDefinition(text, `${name}.yaml`);
}

function everySample(reason: SkipReason, except: readonly SampleName[]): Partial<Record<SampleName, SkipReason>> {
  const names = Object.keys(SAMPLE_CONVERSIONS) as SampleName[];
  return Object.fromEntries(names.filter((name) => !except.includes(name)).map((name) => [name, reason]));
}

/** Separates settings and secrets, as `platforms connect` does. */
function platformCase(
  platformName: string,
  values: Readonly<Record<string, string>>,
  properties: Partial<Omit<PlatformCase, 'platform' | 'connection'>>,
): PlatformCase {
  const platform = shippedPlatform(platformName) ?? (platformOf(platformName) as Platform);
  const { definition } = platform;
  const secretNames = new Set(platform.fields.filter(({ secret }) => secret).map(({ name }) => name));
  const [secrets, settings] = [true, false].map((isSecret) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => secretNames.has(name) === isSecret)),
  ) as [Connection['secrets'], Connection['settings']];
  const connection = {
    settings: definition === undefined ? settings : { ...settings, [DEFINITION]: definition },
    secrets,
  };
  return { name: platformName, success: 'delivered', ...properties, platform, connection };
}
