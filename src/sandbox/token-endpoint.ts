import { isFormContentType, jsonAnswer } from './answers.js';
import type { FailureAnswers, Memory, SandboxAnswer, SandboxRequest } from './double.js';

const EXPIRES_IN_SECONDS = 3_600;

/** The differences between the OAuth 2 token endpoints. */
export interface TokenRules {
  /** The scope that the form must contain; undefined: no scope is required. */
  readonly scope?: string;
  /** Each refresh returns a new refresh token and invalidates the old one. */
  readonly rotates?: boolean;
}

/** Answers the refresh of an access token. */
export function tokenAnswer(request: SandboxRequest, rules: TokenRules = {}): SandboxAnswer {
  if (request.method !== 'POST') return oauthError(405, 'invalid_request', 'Use POST.');
  if (!isFormContentType(request)) return oauthError(400, 'invalid_request', 'The body must be form encoded.');
  const form = new URLSearchParams(request.body);
  for (const field of ['grant_type', 'refresh_token', 'client_id', 'client_secret']) {
    if (!form.get(field)) return oauthError(400, 'invalid_request', `Missing required parameter: ${field}`);
  }
  if (form.get('grant_type') !== 'refresh_token') {
    return oauthError(400, 'unsupported_grant_type', 'The sandbox only refreshes tokens.');
  }
  if (rules.scope !== undefined && !form.get('scope')?.split(' ').includes(rules.scope)) {
    return oauthError(400, 'invalid_scope', 'The scope is not allowed for this client.');
  }
  if (form.get('client_secret')?.includes('bad')) return oauthError(401, 'invalid_client', 'Unauthorized');
  const given = form.get('refresh_token') as string;
  const revoked = revokedTokens(request.memory);
  if (given.includes('bad') || revoked.has(given)) return invalidGrant();
  const number = nextNumber(request.memory);
  if (rules.rotates === true) revoked.add(given);
  return jsonAnswer(200, {
    token_type: 'Bearer',
    access_token: `sandbox-token-${number}`,
    expires_in: EXPIRES_IN_SECONDS,
    ...(rules.rotates === true ? { refresh_token: `sandbox-refresh-${number}` } : {}),
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

function invalidGrant(): SandboxAnswer {
  return oauthError(400, 'invalid_grant', 'Token has been expired or revoked.');
}

function oauthError(status: number, error: string, description: string): SandboxAnswer {
  return jsonAnswer(status, { error, error_description: description });
}

function revokedTokens(memory: Memory): Set<string> {
  const revoked = (memory.get('revoked refresh tokens') as Set<string> | undefined) ?? new Set<string>();
  memory.set('revoked refresh tokens', revoked);
  return revoked;
}

function nextNumber(memory: Memory): number {
  const number = ((memory.get('tokens') as number | undefined) ?? 0) + 1;
  memory.set('tokens', number);
  return number;
}
