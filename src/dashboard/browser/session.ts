import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Schemas } from './api.js';

export type User = Schemas['User'];
export type Site = Schemas['Site'];

export interface Session {
  readonly user: User;
  /** Those that the user may see. */
  readonly sites: readonly Site[];
  /** Where the service accepts conversions on its own machine. Undefined if the dashboard is used from another one. */
  readonly localUrl: string | undefined;
  /** The sandbox that the service started beside it. Undefined if there is none. */
  readonly sandboxUrl: string | undefined;
  /** After a site was added or removed. */
  reloadSites(): void;
  signOut(): void;
}

export const SessionContext = createContext<Session | undefined>(undefined);

/** Only for pages that are shown to a signed-in user. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('There is no session');
  return session;
}

/** Whether the user may change sites. The API decides; this hides what it would refuse. */
export function mayWrite({ role }: Pick<User, 'role'>): boolean {
  return role !== 'analyst';
}

export function mayAdminister({ role }: Pick<User, 'role'>): boolean {
  return role === 'admin';
}
