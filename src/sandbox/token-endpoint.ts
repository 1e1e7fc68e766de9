import { isFormContentType, jsonAnswer } from './answers.js';
import type { FailureAnswers, SandboxAnswer, SandboxRequest } from './double.js';
import { issueTokens, nextNumber, revokedTokens, takeGrant } from './grants.js';

const EXPIRES_IN_SECONDS = 3_600;

/** The differences between the OAuth 2 token endpoints. */
export interface TokenRules {
  /** The scope that the form must contain; undefined: no scope is required. */
  readonly scope?: string;
  /** Each refresh returns a new refresh token and invalidates the old one. */
  readonly rotates?: boolean;
  /** The client's id and secret are in the header `authorization`, not in the form. */
  readonly basic?: true;
  /** In seconds. */
  readonly lifetime?: number;
}

interface Client {
  readonly id: string | null | undefined;
  readonly secret: string | null | undefined;
}

/** Answers the exchange of a code, and the refresh of an access token. */
export function tokenAnswer(request: SandboxRequest, rules: TokenRules = {}): SandboxAnswer {
  if (request.method !== 'POST') return oauthError(405, 'invalid_request', 'Use POST.');
  if (!isFormContentType(request)) return oauthError(400, 'invalid_request', 'The body must be form encoded.');
  const form = new URLSearchParams(request.body);
  const isExchange = form.get('grant_type') === 'authorization_code';
  const client = rules.basic ? basicClient(request) : { id: form.get('client_id'), secret: form.get('client_secret') };
  const needed = ['grant_type', ...(isExchange ? ['code', 'redirect_uri'] : ['refresh_token'])];
  const missing = [...needed, ...(rules.basic ? [] : ['client_id', 'client_secret'])].find((name) => !form.get(name));
  if (missing !== undefined) return oauthError(400, 'invalid_request', `Missing required parameter: ${missing}`);
  if (!isExchange && form.get('grant_type') !== 'refresh_token')
    return oauthError(400, 'unsupported_grant_type', 'The sandbox exchanges codes and refreshes tokens.');
  if (rules.scope !== undefined && !form.get('scope')?.split(' ').includes(rules.scope)) {
    return oauthError(400, 'invalid_scope', 'The scope is not allowed for this client.');
  }
  if (!client.id || !client.secret || client.secret.includes('bad'))
    return oauthError(401, 'invalid_client', 'Unauthorized');
  return isExchange ? exchangeAnswer(request, form, client, rules) : refreshAnswer(request, form, rules);
}

function exchangeAnswer(
  { memory }: SandboxRequest,
  form: URLSearchParams,
  { id }: Client,
  { lifetime = EXPIRES_IN_SECONDS }: TokenRules,
): SandboxAnswer {
  const [code, redirectUri, verifier] = ['code', 'redirect_uri', 'code_verifier'].map((name) => form.get(name));
  const grant = takeGrant(memory, { code, clientId: id, redirectUri, verifier });
  if (!grant) return oauthError(400, 'invalid_grant', 'The code is unknown, used or expired.');
  const { accessToken, refreshToken } = issueTokens(memory, grant);
  return jsonAnswer(200, {
    token_type: 'Bearer',
    access_token: accessToken,
    expires_in: lifetime,
    refresh_token: refreshToken,
  });
}

function refreshAnswer(
  { memory }: SandboxRequest,
  form: URLSearchParams,
  { rotates, lifetime = EXPIRES_IN_SECONDS }: TokenRules,
): SandboxAnswer {
  const given = form.get('refresh_token') as string;
  const revoked = revokedTokens(memory);
  if (given.includes('bad') || revoked.has(given)) return invalidGrant();
  const number = nextNumber(memory, 'tokens');
  if (rotates === true) revoked.add(given);
  return jsonAnswer(200, {
    token_type: 'Bearer',
    access_token: `sandbox-token-${number}`,
    expires_in: lifetime,
    ...(rotates === true ? { refresh_token: `sandbox-refresh-${number}` } : {}),
  });
}

export const tokenFailures: FailureAnswers = {
  refuse: () => invalidGrant(),
  refuse_one: () => invalidGrant(),
  throttle: () => oauthError(429, 'temporarily_unavailable', 'Too many requests.'),
  server_error: () => oauthError(503, 'temporarily_unavailable', 'Try again later.'),
  unauthorized: () => oauthError(401, 'invalid_client', 'Unauthorized'),
  forbidden: () => oauthError(403, 'access_denied', 'The client may not use this.'),
};

function basicClient({ headers }: SandboxRequest): Client {
  const [, encoded = ''] = /^Basic (\S+)$/.exec(headers['authorization'] ?? '') ?? [];
  const [id, secret] = Buffer.from(encoded, 'base64').toString().split(':', 2).map(decodeURIComponent);
  return { id, secret };
}

function invalidGrant(): SandboxAnswer {
  return oauthError(400, 'invalid_grant', 'Token has been expired or revoked.');
}

export function oauthError(status: number, error: string, description: string): SandboxAnswer {
  return jsonAnswer(status, { error, error_description: description });
}
