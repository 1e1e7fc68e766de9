import type { Call, Connection, PlatformRequest, Settings, TestCall, TokenRequest } from '../platform.js';
import { endpointUrl, refreshTokenForm } from '../platform.js';
import { ADJUSTMENTS } from './correction.js';
import { ACTION_SEPARATOR, UPLOAD } from './payload.js';
import { versionOf } from './settings.js';
import { validateVerdict } from './verdict.js';

const DATA_MANAGER = 'https://datamanager.googleapis.com';
export const GOOGLE_ADS = 'https://googleads.googleapis.com';
const OAUTH = 'https://oauth2.googleapis.com';

const CHECKS = ['payload', 'credentials', 'account'] as const;

export function baseUrl({ mode }: Settings): string {
  return mode === UPLOAD ? GOOGLE_ADS : DATA_MANAGER;
}

export function request(items: readonly string[], call: Call): PlatformRequest {
  return buildRequest(items, call, '');
}

/** Google validates the conversion and does not record it. */
export function test(item: string, call: Call): TestCall {
  const flag = ',"validateOnly":true';
  // Data Manager looks conversion actions up later.
  const checks = call.group === UPLOAD ? (['payload', 'credentials', 'account', 'events'] as const) : CHECKS;
  return { request: buildRequest([item], call, flag), sent: true, checks, verdict: validateVerdict };
}

export function statusRequest(requestId: string, { connection, accessToken }: Call): PlatformRequest {
  const path = `/${versionOf(connection.settings, 'api_version')}/requestStatus:retrieve`;
  return {
    method: 'GET',
    url: `${endpointUrl(connection, DATA_MANAGER, path)}?requestId=${encodeURIComponent(requestId)}`,
    headers: { authorization: `Bearer ${accessToken ?? ''}` },
  };
}

export function token(connection: Connection): TokenRequest | undefined {
  const form = refreshTokenForm(connection);
  return form && { url: endpointUrl(connection, OAUTH, '/token'), form };
}

function buildRequest(items: readonly string[], call: Call, flag: string): PlatformRequest {
  if (call.group === UPLOAD) return uploadRequest(items, call, 'uploadClickConversions', 'conversions', flag);
  if (call.group === ADJUSTMENTS)
    return uploadRequest(items, call, 'uploadConversionAdjustments', 'conversionAdjustments', flag);
  return ingestRequest(items, call, flag);
}

function ingestRequest(items: readonly string[], call: Call, flag: string): PlatformRequest {
  const { connection, group, accessToken } = call;
  const { customer_id, login_customer_id } = connection.settings;
  const actions = group?.split(ACTION_SEPARATOR) ?? [];
  const destinations = actions.map((action) => ({
    // Several destinations must differ in it. An event without references is sent to all of them.
    reference: actions.length > 1 ? action : undefined,
    loginAccount: login_customer_id === undefined ? undefined : account(login_customer_id),
    operatingAccount: account(customer_id),
    productDestinationId: action,
  }));
  return {
    method: 'POST',
    url: endpointUrl(connection, DATA_MANAGER, `/${versionOf(connection.settings, 'api_version')}/events:ingest`),
    headers: { authorization: `Bearer ${accessToken ?? ''}`, 'content-type': 'application/json' },
    body: `{"destinations":${JSON.stringify(destinations)},"encoding":"HEX","events":[${items.join(',')}]${flag}}`,
  };
}

function account(accountId: string | undefined): object {
  return { accountType: 'GOOGLE_ADS', accountId };
}

function uploadRequest(
  items: readonly string[],
  call: Call,
  method: string,
  field: string,
  flag: string,
): PlatformRequest {
  const { connection } = call;
  const { customer_id, login_customer_id } = connection.settings;
  const version = versionOf(connection.settings, 'upload_api_version');
  return {
    method: 'POST',
    url: endpointUrl(connection, GOOGLE_ADS, `/${version}/customers/${customer_id}:${method}`),
    headers: { ...googleAdsHeaders(call, login_customer_id), 'content-type': 'application/json' },
    body: `{"${field}":[${items.join(',')}],"partialFailure":true${flag}}`,
  };
}

/** Headers of a request to the Google Ads API. */
export function googleAdsHeaders({ connection, accessToken }: Call, loginCustomerId: string | undefined) {
  const { developer_token } = connection.secrets;
  return {
    authorization: `Bearer ${accessToken ?? ''}`,
    ...(developer_token !== undefined && { 'developer-token': developer_token }),
    ...(loginCustomerId !== undefined && { 'login-customer-id': loginCustomerId }),
  };
}
