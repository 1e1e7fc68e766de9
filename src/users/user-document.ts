import type { Settings } from '../kernel/settings/settings.js';
import type { ApiTokenRow, UserRow } from './user.row.js';

export function userDocument({ id, email, name, role, sites, disabledAt, createdAt }: UserRow) {
  return { id, email, name, role, sites, disabled: disabledAt !== null, createdAt: createdAt.toISOString() };
}

export function tokenDocument(token: Omit<ApiTokenRow, 'owner' | 'hash'>) {
  const { id, ownerId, name, prefix, scopes, sites, createdAt, lastUsedAt, expiresAt, revokedAt } = token;
  return {
    id,
    ownerId,
    name,
    prefix,
    scopes,
    sites,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    expiresAt: expiresAt?.toISOString() ?? null,
    revoked: revokedAt !== null,
  };
}

/** In the fragment, which browsers do not send to servers and proxies do not log. */
export function signInLink(url: string, secret: string): string {
  return `${url}/sign-in#${secret}`;
}

/** Where the management API is reached, as far as the settings say. */
export function adminAddress({ adminUrl, adminPort }: Pick<Settings, 'adminUrl' | 'adminPort'>): string {
  return adminUrl ?? `http://localhost:${adminPort}`;
}
