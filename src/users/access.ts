import type { Actor } from '../kernel/command.js';

export const ROLES = ['admin', 'operator', 'analyst'] as const;
export type Role = (typeof ROLES)[number];

/** What a token may be created for. `move`: another cell moves its sites here; it reads nothing. */
export const SCOPES = ['read', 'write', 'erase', 'move'] as const;
export type Scope = (typeof SCOPES)[number];

/** `administer`: users and everything else that concerns the whole installation. No token has it. */
export type Permission = Scope | 'administer';

const PERMISSIONS: Readonly<Record<Role, readonly Permission[]>> = {
  admin: ['read', 'write', 'erase', 'move', 'administer'],
  operator: ['read', 'write', 'erase'],
  analyst: ['read'],
};

/** Hosts, or all sites including those added later. */
type SiteAccess = 'all' | readonly string[];

/** A user as far as access is concerned. */
interface UserAccess {
  readonly id: string;
  readonly role: Role;
  readonly sites: SiteAccess;
}

/** A token can do what its scopes and sites allow, and never more than its owner can do at the moment. */
interface TokenAccess {
  readonly id: string;
  readonly scopes: readonly Scope[];
  readonly sites: SiteAccess;
  readonly owner: UserAccess;
}

/** Who makes a request, and what it may do. */
export interface Principal {
  readonly actor: Actor;
  readonly userId: string;
  readonly permissions: readonly Permission[];
  readonly sites: SiteAccess;
}

export function userPrincipal({ id, role, sites }: UserAccess): Principal {
  // An administrator without all sites could give them to itself.
  return { actor: `user:${id}`, userId: id, permissions: PERMISSIONS[role], sites: role === 'admin' ? 'all' : sites };
}

export function tokenPrincipal({ id, scopes, sites, owner }: TokenAccess): Principal {
  const limit = userPrincipal(owner);
  return {
    actor: `token:${id}`,
    userId: owner.id,
    permissions: scopes.filter((scope) => limit.permissions.includes(scope)),
    sites: commonSites(sites, limit.sites),
  };
}

export function may({ permissions }: Principal, permission: Permission): boolean {
  return permissions.includes(permission);
}

/** Personal parts and payloads: for those who operate the sites, not for those who only read figures. */
export function seesPersonalData(principal: Principal): boolean {
  return may(principal, 'write');
}

/** Whether the site's data may be seen at all. What may be done with it is a matter of permissions. */
export function seesSite({ sites }: Principal, host: string): boolean {
  return sites === 'all' || sites.includes(host);
}

/** Whether it may see and change what concerns the whole installation, apart from its users. */
export function operatesAll(principal: Principal): boolean {
  return principal.sites === 'all' && may(principal, 'write');
}

function commonSites(one: SiteAccess, other: SiteAccess): SiteAccess {
  if (one === 'all') return other;
  return other === 'all' ? one : one.filter((host) => other.includes(host));
}
