import { mappedNames } from '../event-mapping.js';
import type { Call, Connection, PlatformRequest, Settings, TestCall, TokenRequest } from '../platform.js';
import { endpointUrl, refreshTokenForm } from '../platform.js';
import { OFFLINE } from './payload.js';
import { isOffline, versionOf } from './settings.js';
import { credentialsVerdict, goalsVerdict } from './verdict.js';

const CAPI = 'https://capi.uet.microsoft.com';
export const CAMPAIGN_MANAGEMENT = 'https://campaign.api.bingads.microsoft.com';
const OAUTH = 'https://login.microsoftonline.com';
export const SCOPE = 'https://ads.microsoft.com/msads.manage offline_access';

export function baseUrl(settings: Settings): string {
  return isOffline(settings) ? CAMPAIGN_MANAGEMENT : CAPI;
}

export function request(items: readonly string[], call: Call): PlatformRequest {
  return call.group === OFFLINE ? applyRequest(items, call) : eventsRequest(items, call);
}

/**
 * Microsoft has no test mode. The Conversions API checks the token even in a request without events; offline conversions go to
 * goals of the account, which are read.
 */
export function test(_item: string, call: Call): TestCall {
  if (call.group !== OFFLINE)
    return { request: eventsRequest([], call), sent: false, checks: ['credentials'], verdict: credentialsVerdict };
  return {
    request: campaignRequest(call, '/ConversionGoals/QueryByIds', '{"ConversionGoalTypes":"OfflineConversion"}'),
    sent: false,
    checks: ['credentials', 'account', 'events'],
    verdict: (response) => goalsVerdict(response, mappedNames(call.connection.settings)),
  };
}

export function token(connection: Connection): TokenRequest | undefined {
  const form = isOffline(connection.settings) ? refreshTokenForm(connection) : undefined;
  return form && { url: endpointUrl(connection, OAUTH, '/common/oauth2/v2.0/token'), form: { ...form, scope: SCOPE } };
}

function eventsRequest(items: readonly string[], { connection }: Call): PlatformRequest {
  const { settings, secrets } = connection;
  return {
    method: 'POST',
    url: endpointUrl(connection, CAPI, `/${versionOf(settings, 'api_version')}/${settings['tag_id']}/events`),
    headers: { authorization: `Bearer ${secrets['access_token'] ?? ''}`, 'content-type': 'application/json' },
    // Without the flag one invalid event would make Microsoft refuse the whole request.
    body: `{"data":[${items.join(',')}],"dataProvider":"clean-conversions","continueOnValidationError":true}`,
  };
}

function applyRequest(items: readonly string[], call: Call): PlatformRequest {
  return campaignRequest(call, '/OfflineConversions/Apply', `{"OfflineConversions":[${items.join(',')}]}`);
}

function campaignRequest({ connection, accessToken }: Call, path: string, body: string): PlatformRequest {
  const { settings, secrets } = connection;
  const version = versionOf(settings, 'offline_api_version');
  return {
    method: 'POST',
    url: endpointUrl(connection, CAMPAIGN_MANAGEMENT, `/CampaignManagement/${version}${path}`),
    headers: {
      authorization: `Bearer ${accessToken ?? ''}`,
      'content-type': 'application/json',
      developertoken: secrets['developer_token'] ?? '',
      customerid: settings['customer_id'] ?? '',
      customeraccountid: settings['account_id'] ?? '',
    },
    body,
  };
}
