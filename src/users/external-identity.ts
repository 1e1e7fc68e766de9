import { hash } from 'node:crypto';
import { ROLES, type Role } from './access.js';

/** What a sign-in provider states about a person. */
export interface ExternalIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Undefined unless the provider has verified it. */
  readonly email: string | undefined;
  readonly name: string | undefined;
  /** Undefined if no claim is configured; null if the claim contains none of the roles. */
  readonly role: Role | null | undefined;
}

/** Reads the verified claims of an ID token. `roleClaim`: name of the claim that contains a role or a list of roles. */
export function identityOf(claims: Readonly<Record<string, unknown>>, roleClaim: string | undefined): ExternalIdentity {
  const { iss, sub, email, email_verified, name } = claims;
  return {
    issuer: String(iss),
    subject: String(sub),
    email: typeof email === 'string' && email_verified === true ? email : undefined,
    name: typeof name === 'string' && name.trim() !== '' ? name.trim().slice(0, 100) : undefined,
    role: roleClaim === undefined ? undefined : highestRole(claims[roleClaim]),
  };
}

/** Identifies the account at the provider, for ever. */
export function identityDigest({ issuer, subject }: Pick<ExternalIdentity, 'issuer' | 'subject'>): Buffer {
  return hash('sha256', JSON.stringify([issuer, subject]), 'buffer');
}

function highestRole(claim: unknown): Role | null {
  const values: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  return ROLES.find((role) => values.includes(role)) ?? null;
}
