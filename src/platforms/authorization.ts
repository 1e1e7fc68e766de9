import { at, textAt } from './common-verdict.js';
import {
  type Authorization,
  endpointUrl,
  type GrantedTokens,
  type OauthApp,
  type PlatformRequest,
  type Settings,
} from './platform.js';

/** The differences between platforms that follow RFC 6749. */
interface CodeGrant {
  readonly consent: { readonly base: string; readonly path: string };
  readonly token: { readonly base: string; readonly path: string };
  readonly scope: string;
  readonly pkce?: true;
  /** Further parameters of the consent page. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Further fields of the exchange. */
  readonly form?: Readonly<Record<string, string>>;
  /** The app's credentials are sent in the header `authorization`, not in the form. */
  readonly basic?: true;
  readonly headers?: Readonly<Record<string, string>>;
  settings: Authorization['settings'];
  problem?(settings: Settings): string | undefined;
}

export function codeGrant(grant: CodeGrant): Authorization {
  const { consent, token, scope, pkce = false, parameters, form, basic, headers, settings, problem } = grant;
  return {
    pkce,
    codeParameter: 'code',
    consentUrl: (app, { redirectUri, state, challenge }) =>
      withQuery(endpointUrl(app, consent.base, consent.path), {
        response_type: 'code',
        client_id: app.clientId,
        redirect_uri: redirectUri,
        scope,
        state,
        ...(challenge !== undefined && { code_challenge: challenge, code_challenge_method: 'S256' }),
        ...parameters,
      }),
    exchange: (app, { code, redirectUri, verifier }) => ({
      ...formPost(endpointUrl(app, token.base, token.path), {
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
        ...(verifier !== undefined && { code_verifier: verifier }),
        ...(!basic && { client_id: app.clientId, client_secret: app.clientSecret }),
        ...form,
      }),
      headers: { ...FORM_HEADERS, ...headers, ...(basic && basicAuthorization(app.clientId, app.clientSecret)) },
    }),
    tokens: standardTokens,
    settings,
    ...(problem && { problem }),
  };
}

const FORM_HEADERS = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };

export function formPost(url: string, form: Readonly<Record<string, string>>): PlatformRequest {
  return { method: 'POST', url, headers: FORM_HEADERS, body: new URLSearchParams(form).toString() };
}

export function withQuery(url: string, parameters: Readonly<Record<string, string>>): string {
  return `${url}?${new URLSearchParams(parameters)}`;
}

/** RFC 6749: both are form-encoded before they are joined. */
export function basicAuthorization(clientId: string, clientSecret: string): { authorization: string } {
  const credentials = [clientId, clientSecret].map(encodeURIComponent).join(':');
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

export function standardTokens(json: unknown): GrantedTokens | undefined {
  const accessToken = textAt(json, 'access_token');
  if (!accessToken) return undefined;
  const seconds = Number(at(json, 'expires_in'));
  return {
    accessToken,
    refreshToken: textAt(json, 'refresh_token') || undefined,
    lifetimeMs: seconds > 0 ? seconds * 1_000 : undefined,
  };
}

/** For connections that obtain access tokens with a refresh token. */
export function refreshSettings({ clientId, clientSecret }: OauthApp, tokens: GrantedTokens): Settings | undefined {
  const { refreshToken } = tokens;
  if (refreshToken === undefined) return undefined;
  return { client_id: clientId, client_secret: clientSecret, refresh_token: refreshToken };
}
