import { hash } from 'node:crypto';
import type { Memory } from './double.js';

const GRANTS_MAX = 1_000;

/** What a person allowed on the consent page, until the code is exchanged. */
export interface Grant {
  readonly clientId: string;
  readonly redirectUri: string;
  /** PKCE. */
  readonly challenge: string | undefined;
  /** `expired`: the code is refused. `revoked`: its tokens are refused. */
  readonly kind: 'good' | 'expired' | 'revoked';
}

export interface PresentedCode {
  readonly code: string | null | undefined;
  readonly clientId: string | null | undefined;
  /** Undefined: the platform does not compare it. */
  readonly redirectUri?: string | null | undefined;
  readonly verifier?: string | null | undefined;
}

export function addGrant(memory: Memory, grant: Grant): string {
  const grants = grantsOf(memory);
  const code = `sandbox-code-${nextNumber(memory, 'codes')}`;
  grants.set(code, grant);
  const [oldest] = grants.keys();
  if (grants.size > GRANTS_MAX && oldest !== undefined) grants.delete(oldest);
  return code;
}

/** A code can be used once. Undefined if it cannot be used, or not by this client. */
export function takeGrant(memory: Memory, presented: PresentedCode): Grant | undefined {
  const grants = grantsOf(memory);
  const { code, clientId, redirectUri, verifier } = presented;
  const grant = grants.get(code ?? '');
  grants.delete(code ?? '');
  if (!grant || grant.kind === 'expired' || grant.clientId !== clientId) return undefined;
  if (redirectUri !== undefined && grant.redirectUri !== redirectUri) return undefined;
  const isVerified =
    grant.challenge === undefined || (verifier && hash('sha256', verifier, 'base64url') === grant.challenge);
  return isVerified ? grant : undefined;
}

/** Tokens that the doubles accept, unless the access was revoked. */
export function issueTokens(memory: Memory, { kind }: Grant): { accessToken: string; refreshToken: string } {
  const number = nextNumber(memory, 'tokens');
  const refreshToken = `sandbox-refresh-${number}`;
  if (kind !== 'revoked') return { accessToken: `sandbox-token-${number}`, refreshToken };
  revokedTokens(memory).add(refreshToken);
  return { accessToken: `sandbox-bad-token-${number}`, refreshToken };
}

export function revokedTokens(memory: Memory): Set<string> {
  const revoked = (memory.get('revoked refresh tokens') as Set<string> | undefined) ?? new Set<string>();
  memory.set('revoked refresh tokens', revoked);
  return revoked;
}

export function nextNumber(memory: Memory, name: string): number {
  const number = ((memory.get(name) as number | undefined) ?? 0) + 1;
  memory.set(name, number);
  return number;
}

function grantsOf(memory: Memory): Map<string, Grant> {
  const grants = (memory.get('grants') as Map<string, Grant> | undefined) ?? new Map<string, Grant>();
  memory.set('grants', grants);
  return grants;
}
