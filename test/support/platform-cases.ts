import type { Conversion } from '../../src/platforms/conversion.js';
import { platformOf } from '../../src/platforms/index.js';
import type { Connection, Platform, PlatformName, SkipReason } from '../../src/platforms/platform.js';
import { SAMPLE_CONVERSIONS } from './sample-conversions.js';

type SampleName = keyof typeof SAMPLE_CONVERSIONS;

/** One way to be connected to a platform, and how it differs from what all of them have in common. */
export interface PlatformCase {
  readonly name: string;
  readonly platform: Platform;
  readonly connection: Connection;
  /** What is said of a conversion that the platform took: `accepted` where it says so later, or never. */
  readonly success: 'delivered' | 'accepted';
  /** It refuses nothing and nobody: only the sandbox knows that a conversion was lost. */
  readonly silent?: boolean;
  /** Any 2xx counts, so these answers cannot be told from success. */
  readonly blindTo?: readonly string[];
  /** How many calls it takes to deliver five conversions of which the third is bad; undefined where that is not told. */
  readonly callsToIsolate?: number;
  /** Sample conversions that are not sent. */
  readonly skips?: Readonly<Partial<Record<SampleName, SkipReason>>>;
  /** Why a conversion is not sent whose email address has nothing left in this platform's spelling. */
  readonly skipsWithoutEmail?: SkipReason;
  /** What marks a conversion whose person opted out; undefined where the platform has nothing for it. */
  readonly optOut?: object;
  /** The id the sandbox knows a conversion by, where it is not the event's own. */
  readonly idAt?: (conversion: Conversion) => unknown;
}

const UNMAPPED = { 'own-event': 'event_not_mapped' } as const;
const LIMITED = { data_processing_options: ['LDU'] };
/** Nobody reads the body of a 2xx. */
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
const OF_GOOGLE = {
  skips: { ...UNMAPPED, 'consent-denied': 'consent_denied' },
  skipsWithoutEmail: 'no_identifier',
} as const;
const MICROSOFT = { 'event.purchase': 'purchase', 'event.lead': 'lead', 'event.signup': 'signup' };
const OF_MICROSOFT = { callsToIsolate: 1, skips: UNMAPPED, skipsWithoutEmail: 'no_identifier' } as const;
const LINKEDIN = { 'event.purchase': '1001', 'event.lead': '1002', 'event.signup': '1003' };
const TIKTOK = { pixel_code: 'PIXELCODE', access_token: 'token' };

const GA4 = { measurement_id: 'G-TEST123456', api_secret: 'api-secret' };
const OF_GA4 = {
  success: 'accepted',
  silent: true,
  blindTo: ANY_BODY,
  optOut: { consent: { ad_user_data: 'DENIED', ad_personalization: 'DENIED' } },
} as const;

export const PLATFORM_CASES: readonly PlatformCase[] = [
  platformCase('google_ads', GOOGLE, { ...OF_GOOGLE, success: 'accepted', callsToIsolate: 2 }),
  platformCase(
    'google_ads',
    { ...GOOGLE, require_click_id: 'yes' },
    {
      name: 'google_ads by click only',
      success: 'accepted',
      callsToIsolate: 2,
      skips: { ...everySample('no_click_identifier', ['with-click-id']), ...OF_GOOGLE.skips },
      skipsWithoutEmail: 'no_click_identifier',
    },
  ),
  platformCase(
    'google_ads',
    { ...GOOGLE, mode: 'upload', developer_token: 'developer-token', login_customer_id: '1112223333' },
    { ...OF_GOOGLE, name: 'google_ads by upload', callsToIsolate: 1 },
  ),
  platformCase(
    'meta',
    { pixel_id: '1234567890', access_token: 'token' },
    { callsToIsolate: 5, optOut: { ...LIMITED, data_processing_options_country: 0 } },
  ),
  platformCase('tiktok', TIKTOK, { callsToIsolate: 2, optOut: { limited_data_use: true } }),
  platformCase(
    'tiktok',
    { ...TIKTOK, crm_event_set_id: '7' },
    { name: 'tiktok with a CRM event set', callsToIsolate: 2, optOut: { limited_data_use: true } },
  ),
  platformCase(
    'microsoft_ads',
    { ...MICROSOFT, tag_id: '12345678', access_token: 'token' },
    { ...OF_MICROSOFT, optOut: { adStorageConsent: 'D' } },
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
      ...OF_MICROSOFT,
      name: 'microsoft_ads offline',
      // Click and time are all that it is known by.
      idAt: ({ visit, timeMs }) =>
        `${visit?.clicks.msclkid?.id} ${new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z')}`,
    },
  ),
  platformCase('ga4', { ...GA4, synthetic_client_id: 'yes' }, OF_GA4),
  platformCase('ga4', GA4, {
    ...OF_GA4,
    name: 'ga4 by cookie only',
    skips: everySample('no_client_identifier', ['with-click-id', 'without-click-id']),
    skipsWithoutEmail: 'no_client_identifier',
  }),
  platformCase(
    'segment',
    { write_key: 'write-key' },
    // It is to be found in Segment's debugger only that one of a batch was not taken.
    { idAt: ({ id }) => expect.stringContaining(id) },
  ),
  platformCase('linkedin', { ...LINKEDIN, access_token: 'token' }, { callsToIsolate: 2, skips: UNMAPPED }),
  platformCase(
    'linkedin',
    { ...LINKEDIN, client_id: 'client', client_secret: 'client-secret', refresh_token: 'refresh-token' },
    { name: 'linkedin with fresh tokens', callsToIsolate: 2, skips: UNMAPPED },
  ),
  platformCase(
    'pinterest',
    { ad_account_id: '123456789012', access_token: 'token' },
    { callsToIsolate: 1, skips: UNMAPPED, optOut: { opt_out: true } },
  ),
  platformCase(
    'snapchat',
    { pixel_id: '7e5a1b2c-0000-4000-8000-000000000001', access_token: 'token' },
    { callsToIsolate: 5, skips: UNMAPPED, optOut: LIMITED },
  ),
  platformCase(
    'reddit',
    { pixel_id: 't2_test1', access_token: 'token' },
    {
      callsToIsolate: 5,
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
    { callsToIsolate: 5, skips: UNMAPPED },
  ),
  platformCase(
    'webhook',
    { url: 'https://receiver.example/conversions', secret: 'whsec_dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQ=' },
    { blindTo: ['html', ...ANY_BODY], optOut: { data: { consent: 'denied' } } },
  ),
];

function everySample(reason: SkipReason, but: readonly SampleName[]): Partial<Record<SampleName, SkipReason>> {
  const names = Object.keys(SAMPLE_CONVERSIONS) as SampleName[];
  return Object.fromEntries(names.filter((name) => !but.includes(name)).map((name) => [name, reason]));
}

/** Sorts what is set into settings and secrets, as connecting does. */
function platformCase(
  platformName: PlatformName,
  set: Readonly<Record<string, string>>,
  about: Partial<Omit<PlatformCase, 'platform' | 'connection'>>,
): PlatformCase {
  const platform = platformOf(platformName) as Platform;
  const secretNames = new Set(platform.fields.filter(({ secret }) => secret).map(({ name }) => name));
  const [secrets, settings] = [true, false].map((isSecret) =>
    Object.fromEntries(Object.entries(set).filter(([name]) => secretNames.has(name) === isSecret)),
  ) as [Connection['secrets'], Connection['settings']];
  return { name: platformName, success: 'delivered', ...about, platform, connection: { settings, secrets } };
}
