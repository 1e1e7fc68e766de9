import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Schemas } from './api.js';

export type User = Schemas['User'] & Pick<Schemas['SessionUser'], 'provider'>;
export type Site = Schemas['Site'];

export interface Session {
  readonly user: User;
  /** Those that the user may see. */
  readonly sites: readonly Site[];
  /** Where the service accepts conversions on its own machine. Undefined if the dashboard is used from another one. */
  readonly localUrl: string | undefined;
  /** The sandbox that the service started beside it. Undefined if there is none. */
  readonly sandboxUrl: string | undefined;
  /** Names of the other cells. Undefined until they are known. */
  readonly cells: readonly string[] | undefined;
  /** How often totals are pushed to webhooks, such as `15 min`. Undefined until it is known. */
  readonly pushEvery: string | undefined;
  /** After a site was added or removed. */
  reloadSites(): void;
  /** In this browser, or in all of them. */
  signOut(where: 'here' | 'everywhere'): void;
}

export const SessionContext = createContext<Session | undefined>(undefined);

/** Only for pages that are shown to a signed-in user. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('There is no session');
  return session;
}

/** Whether there is more than the only site of the user: others, or other cells. */
export function hasAllSites({ sites, cells = [] }: Pick<Session, 'sites' | 'cells'>): boolean {
  return sites.length > 1 || cells.length > 0;
}

/** Whether the user may change sites. The API decides; this hides what it would refuse. */
export function mayWrite({ role }: Pick<User, 'role'>): boolean {
  return role !== 'analyst';
}

/** Whether the user may see and change what concerns the whole installation, apart from its users: health, new sites. */
export function mayOperateAll({ role, sites }: Pick<User, 'role' | 'sites'>): boolean {
  return role === 'admin' || (role === 'operator' && sites === null);
}

export function mayAdminister({ role }: Pick<User, 'role'>): boolean {
  return role === 'admin';
}

/** The pages of the settings that the user may open. */
export function settingsOf(user: Pick<User, 'role' | 'sites'>): { path: string; title: string }[] {
  const isAdministrator = mayAdminister(user);
  return [
    ...(isAdministrator ? [{ path: '/settings/users', title: 'Users' }] : []),
    ...(isAdministrator ? [{ path: '/settings/oauth-apps', title: 'OAuth apps' }] : []),
    { path: '/settings/tokens', title: 'API tokens' },
    ...(mayOperateAll(user) ? [{ path: '/settings/health', title: 'Health' }] : []),
    ...(mayOperateAll(user) ? [{ path: '/settings/projections', title: 'Projections' }] : []),
    ...(isAdministrator ? [{ path: '/settings/audit', title: 'Audit' }] : []),
  ];
}
