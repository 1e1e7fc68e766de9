import { type ErrorRow, fixOf, isMisconfiguration } from '../error-table.js';

const SIX_HOURS_MS = 6 * 3_600_000;
const HALF_AN_HOUR_MS = 30 * 60_000;

/** Settings, here or at Google, that only a person can fix. Both APIs and the status of a request use these names. */
const SETTINGS: readonly ErrorRow[] = [
  {
    codes: [
      'DESTINATION_ACCOUNT_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS',
      'CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS',
    ],
    verdict: 'misconfigured',
    fix: 'Turn on enhanced conversions for leads in Google Ads (Goals, Settings).',
  },
  {
    codes: [
      'TERMS_AND_CONDITIONS_NOT_SIGNED',
      'DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED',
      'CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS',
    ],
    verdict: 'misconfigured',
    fix: 'Accept the customer data terms in Google Ads (Goals, Settings).',
  },
  {
    codes: ['INVALID_CONVERSION_ACTION_ID', 'INVALID_CONVERSION_ACTION_TYPE', 'NO_CONVERSION_ACTION_FOUND'],
    verdict: 'misconfigured',
    fix: 'Set event.<name> to the id of a conversion action of customer_id whose source is an import of clicks.',
  },
  {
    codes: ['CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE'],
    verdict: 'misconfigured',
    fix: 'Google does not accept the upload from this Cloud project: set mode=data_manager.',
  },
  { codes: ['UNSUPPORTED_VERSION'], verdict: 'misconfigured', fix: 'Set a current upload_api_version.' },
  {
    codes: ['DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS'],
    verdict: 'misconfigured',
    fix: 'Google’s customer data policies exclude this account from enhanced conversions: ask your Google representative.',
  },
  {
    codes: ['DESTINATION_ACCOUNT_*'],
    verdict: 'misconfigured',
    fix: 'Check the settings of the account customer_id in Google Ads (Goals, Settings).',
  },
];

const DESTINATION_FIX =
  'Check customer_id, login_customer_id and the ids of event.<name>: the conversion actions must be those of customer_id.';

/** Reasons that mean a wrong setting where they are about the destination. About one event they mean that event. */
export const DESTINATION_ERRORS: readonly ErrorRow[] = [
  {
    codes: ['INVALID_DESTINATION', 'NOT_FOUND', 'OPERATING_ACCOUNT_MISMATCH*'],
    verdict: 'misconfigured',
    fix: DESTINATION_FIX,
  },
];

const CREDENTIALS: readonly ErrorRow[] = [
  {
    codes: ['UNAUTHENTICATED', 'OAUTH_TOKEN_EXPIRED', 'OAUTH_TOKEN_INVALID', 'OAUTH_TOKEN_REVOKED'],
    verdict: 'unauthorized',
    fix: 'Authorise access again with the Google account and set the new refresh_token.',
  },
  {
    codes: ['PERMISSION_DENIED', 'USER_PERMISSION_DENIED', 'CUSTOMER_NOT_FOUND', 'NOT_ADS_USER'],
    verdict: 'unauthorized',
    fix: 'Check customer_id and login_customer_id, and give the Google account of refresh_token access to the account.',
  },
  {
    codes: ['CLOUD_PROJECT_NOT_APPROVED_FOR_PRODUCTION'],
    verdict: 'unauthorized',
    fix: 'Apply for access on the Google Ads API Overview page of the Cloud project, or set mode=data_manager.',
  },
  {
    codes: ['DEVELOPER_TOKEN_INVALID', 'DEVELOPER_TOKEN_NOT_APPROVED', 'DEVELOPER_TOKEN_PROHIBITED'],
    verdict: 'unauthorized',
    fix: 'Remove developer_token, which Google no longer uses, or set mode=data_manager.',
  },
];

/** Errors of the Google Ads API, by name, or by the category that all others of it belong to. All others are rejections. */
export const UPLOAD_ERRORS: readonly ErrorRow[] = [
  ...SETTINGS,
  ...CREDENTIALS,
  { codes: ['ORDER_ID_ALREADY_IN_USE', 'CLICK_CONVERSION_ALREADY_EXISTS'], verdict: 'delivered' },
  // Older API versions use CLICK in names where newer ones use EVENT. Not `throttled`: only this conversion has to wait.
  {
    codes: ['TOO_RECENT_EVENT', 'TOO_RECENT_CLICK', 'TOO_RECENT_CONVERSION_ACTION'],
    verdict: 'server_error',
    afterMs: SIX_HOURS_MS,
    unknown: false,
  },
  // Two conversions of one order in one request: sent again on its own, the second is answered with "order in use".
  {
    codes: ['DUPLICATE_ORDER_ID', 'DUPLICATE_CLICK_CONVERSION_IN_REQUEST'],
    verdict: 'server_error',
    unknown: false,
  },
  // Answers to adjustments: Google has this one, or a later one of the order, which includes it.
  {
    codes: ['CONVERSION_ALREADY_RETRACTED', 'RESTATEMENT_ALREADY_EXISTS', 'MORE_RECENT_RESTATEMENT_FOUND'],
    verdict: 'delivered',
  },
  { codes: ['TOO_RECENT_CONVERSION'], verdict: 'server_error', afterMs: SIX_HOURS_MS, unknown: false },
  { codes: ['DUPLICATE_ADJUSTMENT_IN_REQUEST'], verdict: 'server_error', unknown: false },
  // Another request changed the same resource at the same time.
  { codes: ['CONCURRENT_MODIFICATION'], verdict: 'server_error', unknown: false },
  { codes: ['internalError'], verdict: 'server_error' },
  { codes: ['quotaError'], verdict: 'throttled' },
  { codes: ['authenticationError', 'authorizationError'], verdict: 'unauthorized' },
];

/** Reasons in the answers of the Data Manager API. All others are rejections. */
export const INGEST_ERRORS: readonly ErrorRow[] = [...SETTINGS, ...CREDENTIALS];

/** Reasons in the status of an accepted request, without their prefix. All others are rejections. */
export const PROCESSING_ERRORS: readonly ErrorRow[] = [
  ...SETTINGS,
  { codes: ['DUPLICATE_GCLID', 'DUPLICATE_TRANSACTION_ID'], verdict: 'delivered' },
  { codes: ['TOO_RECENT_CLICK'], verdict: 'server_error', afterMs: SIX_HOURS_MS },
  { codes: ['INTERNAL_ERROR'], verdict: 'server_error', afterMs: HALF_AN_HOUR_MS },
];

const PARKING = [...UPLOAD_ERRORS, ...DESTINATION_ERRORS];
/** As a verdict names the part of the request. */
const AT_DESTINATION = / at destinations\b/;

export function fix(reason: string): string | undefined {
  return fixOf(PARKING, reason) ?? (AT_DESTINATION.test(reason) ? DESTINATION_FIX : undefined);
}

export function misconfigured(reason: string): boolean {
  return AT_DESTINATION.test(reason) || isMisconfiguration(PARKING, reason);
}
