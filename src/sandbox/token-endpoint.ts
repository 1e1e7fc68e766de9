import { isFormContentType, jsonAnswer } from './checks.js';
import type { FailureKind, Memory, SandboxAnswer, SandboxRequest } from './double.js';

const EXPIRES_IN_SECONDS = 3_600;

/** What differs between the OAuth 2 token endpoints. */
export interface TokenRules {
  /** What the form's `scope` must hold; undefined: no scope is asked for. */
  readonly scope?: string;
  /** Each refresh gives a new refresh token and ends the old one. */
  readonly rotates?: boolean;
}

/** Answers a refresh of an access token. */
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
    return oauthError(400, 'invalid_scope', 'The scope is not one this client can have.');
  }
  if (form.get('client_secret')?.includes('bad')) return oauthError(401, 'invalid_client', 'Unauthorized');
  const given = form.get('refresh_token') as string;
  const ended = endedTokens(request.memory);
  if (given.includes('bad') || ended.has(given)) return invalidGrant();
  const number = next(request.memory);
  if (rules.rotates === true) ended.add(given);
  return jsonAnswer(200, {
    token_type: 'Bearer',
    access_token: `sandbox-token-${number}`,
    expires_in: EXPIRES_IN_SECONDS,
    ...(rules.rotates === true ? { refresh_token: `sandbox-refresh-${number}` } : {}),
  });
}

export function tokenFailure(kind: FailureKind): SandboxAnswer {
  switch (kind) {
    case 'refuse':
    case 'refuse_one':
      return invalidGrant();
    case 'throttle':
      return oauthError(429, 'temporarily_unavailable', 'Too many requests.');
    case 'server_error':
      return oauthError(503, 'temporarily_unavailable', 'Try again later.');
    case 'unauthorized':
      return oauthError(401, 'invalid_client', 'Unauthorized');
    case 'forbidden':
      return oauthError(403, 'access_denied', 'The client may not use this.');
  }
}

function invalidGrant(): SandboxAnswer {
  return oauthError(400, 'invalid_grant', 'Token has been expired or revoked.');
}

function oauthError(status: number, error: string, description: string): SandboxAnswer {
  return jsonAnswer(status, { error, error_description: description });
}

function endedTokens(memory: Memory): Set<string> {
  const ended = (memory.get('ended refresh tokens') as Set<string> | undefined) ?? new Set<string>();
  memory.set('ended refresh tokens', ended);
  return ended;
}

function next(memory: Memory): number {
  const number = ((memory.get('tokens') as number | undefined) ?? 0) + 1;
  memory.set('tokens', number);
  return number;
}
