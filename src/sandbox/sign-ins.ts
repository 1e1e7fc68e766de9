import { isFormContentType, isJsonContentType, jsonAnswer } from './answers.js';
import { type ConsentRules, consentAnswer } from './consent-page.js';
import type { PlatformDouble, SandboxAnswer, SandboxRequest } from './double.js';
import { issueTokens, takeGrant } from './grants.js';
import { tokenAnswer, tokenFailures } from './token-endpoint.js';
import { objectOf, parseJson } from './values.js';

interface SignIn {
  readonly consentPath: string | RegExp;
  readonly consent: ConsentRules;
  /** Undefined: the double of the platform answers token requests itself. */
  readonly token?: { readonly path: string | RegExp; answer(request: SandboxRequest): SandboxAnswer };
}

const CODE = { response_type: 'code' };
const GOOGLE_SCOPES = ['https://www.googleapis.com/auth/datamanager', 'https://www.googleapis.com/auth/adwords'];
const MICROSOFT_SCOPES = ['https://ads.microsoft.com/msads.manage', 'offline_access'];
const DAY_SECONDS = 24 * 60 * 60;

/** The sign-in of each platform that has one. */
const SIGN_INS: Readonly<Record<string, SignIn>> = {
  google_ads: {
    consentPath: '/o/oauth2/v2/auth',
    consent: {
      required: { ...CODE, access_type: 'offline', prompt: 'consent' },
      scopes: { names: GOOGLE_SCOPES, separator: ' ' },
      pkce: true,
    },
  },
  microsoft_ads: {
    consentPath: '/common/oauth2/v2.0/authorize',
    consent: { required: CODE, scopes: { names: MICROSOFT_SCOPES, separator: ' ' }, pkce: true },
  },
  linkedin: {
    consentPath: '/oauth/v2/authorization',
    consent: { required: CODE, scopes: { names: ['rw_conversions', 'r_ads'], separator: ' ' } },
  },
  pinterest: {
    consentPath: '/oauth/',
    consent: { required: CODE, scopes: { names: ['ads:read', 'ads:write'], separator: ',' } },
    token: {
      path: '/v5/oauth/token',
      answer: (request) => tokenAnswer(request, { basic: true, rotates: true, lifetime: 30 * DAY_SECONDS }),
    },
  },
  snapchat: {
    consentPath: '/login/oauth2/authorize',
    consent: { required: CODE, scopes: { names: ['snapchat-marketing-api'], separator: ' ' } },
    token: { path: '/login/oauth2/access_token', answer: (request) => tokenAnswer(request) },
  },
  reddit: {
    consentPath: '/api/v1/authorize',
    consent: {
      required: { ...CODE, duration: 'permanent' },
      scopes: { names: ['adsread', 'adsconversions'], separator: ' ' },
    },
    token: {
      path: '/api/v1/access_token',
      answer: (request) => tokenAnswer(request, { basic: true, lifetime: DAY_SECONDS }),
    },
  },
  meta: {
    consentPath: /^\/v\d+\.\d+\/dialog\/oauth$/,
    consent: { required: CODE, scopes: { names: ['ads_management', 'business_management'], separator: ',' } },
    token: { path: /^\/v\d+\.\d+\/oauth\/access_token$/, answer: metaTokenAnswer },
  },
  tiktok: {
    consentPath: '/portal/auth',
    consent: { required: {}, clientId: 'app_id', code: 'auth_code' },
    token: { path: '/open_api/v1.3/oauth2/access_token/', answer: tiktokTokenAnswer },
  },
};

/** The double, which also plays the consent page of its platform and exchanges codes. */
export function withSignIn(double: PlatformDouble): PlatformDouble {
  const signIn = SIGN_INS[double.name];
  if (!signIn) return double;
  const { consentPath, consent, token } = signIn;
  const isConsent = ({ path }: SandboxRequest) => matches(consentPath, path);
  const isToken = ({ path }: SandboxRequest) => token !== undefined && matches(token.path, path);
  return {
    ...double,
    answer(request) {
      if (isConsent(request)) return consentAnswer(request, consent);
      return token && isToken(request) ? token.answer(request) : double.answer(request);
    },
    fail: (kind, request) => (isToken(request) ? tokenFailures[kind](request) : double.fail(kind, request)),
    callKind(request) {
      if (isConsent(request)) return 'consent';
      return isToken(request) ? 'token' : (double.callKind?.(request) ?? 'events');
    },
  };
}

function matches(path: string | RegExp, given: string): boolean {
  return typeof path === 'string' ? path === given : path.test(given);
}

/** The first exchange gives a token for an hour, the second one for 60 days. There are no refresh tokens. */
function metaTokenAnswer(request: SandboxRequest): SandboxAnswer {
  const { memory, method } = request;
  const fault = (message: string, code: number) =>
    jsonAnswer(400, { error: { message, type: 'OAuthException', code, fbtrace_id: 'sandbox' } });
  if (method !== 'POST' || !isFormContentType(request)) return fault('Unsupported request.', 100);
  const form = new URLSearchParams(request.body);
  const [clientId, secret] = ['client_id', 'client_secret'].map((name) => form.get(name));
  if (!clientId || !secret || secret.includes('bad')) return fault('Error validating client secret.', 1);
  const short = memory.get('short-lived tokens') as Map<string, string> | undefined;
  if (form.get('grant_type') === 'fb_exchange_token') {
    const accessToken = short?.get(form.get('fb_exchange_token') ?? '');
    if (accessToken === undefined) return fault('Invalid OAuth access token.', 190);
    return jsonAnswer(200, { access_token: accessToken, token_type: 'bearer', expires_in: 60 * DAY_SECONDS });
  }
  const grant = takeGrant(memory, { code: form.get('code'), clientId, redirectUri: form.get('redirect_uri') });
  if (!grant) return fault('This authorization code has been used or has expired.', 100);
  const { accessToken } = issueTokens(memory, grant);
  const first = `short-${accessToken}`;
  memory.set('short-lived tokens', new Map([...(short ?? []), [first, accessToken]]));
  return jsonAnswer(200, { access_token: first, token_type: 'bearer', expires_in: 3_600 });
}

/** JSON with names of TikTok's own, and HTTP 200 whatever the result is. */
function tiktokTokenAnswer(request: SandboxRequest): SandboxAnswer {
  const answer = (code: number, message: string, data: object = {}) =>
    jsonAnswer(200, { code, message, request_id: 'sandbox', data });
  const body = isJsonContentType(request) ? objectOf(parseJson(request.body)) : {};
  const { app_id: clientId, secret, auth_code: code } = body;
  if (request.method !== 'POST' || typeof clientId !== 'string' || typeof secret !== 'string')
    return answer(40002, 'app_id: Missing data for required field.');
  if (secret.includes('bad')) return answer(40105, 'The app secret is not valid.');
  const grant = typeof code === 'string' ? takeGrant(request.memory, { code, clientId }) : undefined;
  if (!grant) return answer(40110, 'Auth_code is used or has expired.');
  const { accessToken } = issueTokens(request.memory, grant);
  return answer(0, 'OK', { access_token: accessToken, advertiser_ids: ['7000000000000000001'], scope: [1, 2, 3] });
}
