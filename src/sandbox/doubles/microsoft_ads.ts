import { bearerToken, credentialFailure } from '../answers.js';
import type { CallKind, FailureKind, PlatformDouble, SandboxAnswer, SandboxRequest } from '../double.js';
import type { SignIn } from '../sign-ins.js';
import { tokenAnswer, tokenFailures } from '../token-endpoint.js';
import { capiAnswer, capiError, capiFailures, EVENTS_PATH } from './microsoft-capi.js';
import { APPLY_PATH, offlineAnswer, offlineFailures } from './microsoft-offline.js';

const TOKEN_PATH = '/common/oauth2/v2.0/token';
const SCOPE = 'https://ads.microsoft.com/msads.manage';

/** The UET Conversions API, offline conversions, and the token endpoint of the latter. */
export const double: PlatformDouble = {
  name: 'microsoft_ads',

  callKind({ path }): CallKind {
    return path === TOKEN_PATH ? 'token' : 'events';
  },

  answer(request): SandboxAnswer {
    const { method, path } = request;
    if (path === TOKEN_PATH) return tokenAnswer(request, { scope: SCOPE, rotates: true });
    const refusal = credentialFailure(bearerToken(request));
    if (refusal) return fail(refusal, request);
    if (method === 'POST' && path === APPLY_PATH) return offlineAnswer(request);
    if (method === 'POST' && EVENTS_PATH.test(path)) return capiAnswer(request);
    return capiError(404, 'NotFound', 'Not found.');
  },

  fail,
};

function fail(kind: FailureKind, request: SandboxRequest): SandboxAnswer {
  if (request.path === TOKEN_PATH) return tokenFailures[kind](request);
  const failures = request.path === APPLY_PATH ? offlineFailures : capiFailures;
  return failures[kind](request);
}

export const signIn: SignIn = {
  consentPath: '/common/oauth2/v2.0/authorize',
  consent: {
    required: { response_type: 'code' },
    scopes: { names: ['https://ads.microsoft.com/msads.manage', 'offline_access'], separator: ' ' },
    pkce: true,
  },
};
