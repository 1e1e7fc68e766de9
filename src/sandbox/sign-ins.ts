import { type ConsentRules, consentAnswer } from './consent-page.js';
import type { PlatformDouble, SandboxAnswer, SandboxRequest } from './double.js';
import { tokenFailures } from './token-endpoint.js';

/** What a double of a platform with a sign-in exports besides, as `signIn`. */
export interface SignIn {
  readonly consentPath: string | RegExp;
  readonly consent: ConsentRules;
  /** Undefined: the double of the platform answers token requests itself. */
  readonly token?: { readonly path: string | RegExp; answer(request: SandboxRequest): SandboxAnswer };
}

/** The double, which also plays the consent page of its platform and exchanges codes. */
export function withSignIn(double: PlatformDouble, signIn: SignIn | undefined): PlatformDouble {
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
