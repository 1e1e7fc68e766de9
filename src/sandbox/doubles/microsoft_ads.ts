import { bearerToken, credentialOf } from '../checks.js';
import type { CallKind, FailureKind, PlatformDouble, SandboxAnswer, SandboxRequest } from '../double.js';
import { tokenAnswer, tokenFailure } from '../token-endpoint.js';
import { capiAnswer, capiError, capiFailure, EVENTS_PATH } from './microsoft-capi.js';
import { APPLY_PATH, offlineAnswer, offlineFailure } from './microsoft-offline.js';

const TOKEN_PATH = '/common/oauth2/v2.0/token';
const SCOPE = 'https://ads.microsoft.com/msads.manage';

/** The UET Conversions API, the older offline conversions, and the token endpoint of the latter. */
export const microsoftAds: PlatformDouble = {
  name: 'microsoft_ads',

  callKind({ path }): CallKind {
    return path === TOKEN_PATH ? 'token' : 'events';
  },

  answer(request): SandboxAnswer {
    const { method, path } = request;
    if (path === TOKEN_PATH) return tokenAnswer(request, { scope: SCOPE, rotates: true });
    const credential = credentialOf(bearerToken(request));
    if (credential === 'missing' || credential === 'bad') return fail('unauthorized', request);
    if (credential === 'forbidden') return fail('forbidden', request);
    if (method === 'POST' && path === APPLY_PATH) return offlineAnswer(request);
    if (method === 'POST' && EVENTS_PATH.test(path)) return capiAnswer(request);
    return capiError(404, 'NotFound', 'There is nothing at this address.');
  },

  fail,
};

function fail(kind: FailureKind, request: SandboxRequest): SandboxAnswer {
  if (request.path === TOKEN_PATH) return tokenFailure(kind);
  return request.path === APPLY_PATH ? offlineFailure(kind, request) : capiFailure(kind, request);
}
