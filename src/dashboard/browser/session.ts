import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Schemas } from './api.js';

export type User = Schemas['User'] & Pick<Schemas['SessionUser'], 'provider'>;
export type Site = Schemas['Site'];

export interface Session {
  readonly user: User;
  /** Whether the user may change sites. The API decides; this hides what it would refuse. */
  readonly isWriter: boolean;
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

interface SettingsPageFacts {
  readonly path: string;
  readonly title: string;
  readonly note: string;
  /** Who has a link to it. The API decides what others may see. */
  may(user: Pick<User, 'role' | 'sites'>): boolean;
  /** In place of the page, for others. */
  readonly refusal?: string;
}

/** The pages of the settings of the whole installation, in the order of their links. */
const SETTINGS_PAGES = [
  {
    path: '/settings/users',
    title: 'Users',
    note: 'Who may use this installation',
    may: mayAdminister,
    refusal: 'Only administrators manage users',
  },
  {
    path: '/settings/oauth-apps',
    title: 'OAuth apps',
    note: 'Your apps at platforms, for connecting by signing in there',
    may: mayAdminister,
  },
  {
    path: '/settings/tokens',
    title: 'API tokens',
    note: 'With which programs call the management API in your name',
    may: () => true,
  },
  {
    path: '/settings/alerts',
    title: 'Alerts',
    note: 'Who is told of what needs attention',
    may: mayAdminister,
    refusal: 'Only administrators choose who is told',
  },
  {
    path: '/settings/health',
    title: 'Health',
    note: 'Whether the service and what it depends on work',
    may: mayOperateAll,
  },
  {
    path: '/settings/projections',
    title: 'Projections',
    note: 'The rows that numbers and searches are read from, folded from the log',
    may: mayOperateAll,
    refusal: 'Only those who operate all sites see the projections',
  },
  {
    path: '/settings/audit',
    title: 'Audit',
    note: 'Who changed users, API tokens and OAuth apps',
    may: mayAdminister,
    refusal: 'Only administrators see who changed users',
  },
] as const satisfies readonly SettingsPageFacts[];

export type SettingsPath = (typeof SETTINGS_PAGES)[number]['path'];

export function settingsPage(path: SettingsPath): SettingsPageFacts {
  return SETTINGS_PAGES.find((page) => page.path === path) as SettingsPageFacts;
}

/** The pages of the settings that the user may open. */
export function settingsOf(user: Pick<User, 'role' | 'sites'>) {
  return SETTINGS_PAGES.filter(({ may }) => may(user));
}
