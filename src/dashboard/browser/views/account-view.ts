import type { Schemas } from '../api.js';
import { counted } from '../format.js';
import type { User } from '../session.js';

const ROLE_TITLES: Readonly<Record<User['role'], string>> = {
  admin: 'Administrator: everything, and users',
  operator: 'Operator: reads, changes and erases',
  analyst: 'Analyst: reads',
};

/** What the user may do, and where. */
export function accountRows({ name, email, role, sites }: User): [title: string, value: string][] {
  return [
    ['name', name],
    ['email', email],
    ['role', ROLE_TITLES[role]],
    ['sites', role === 'admin' || sites === null ? 'all' : sites.length === 0 ? 'none' : sites.join(', ')],
  ];
}

export function otherSessions(sessions: readonly Schemas['Session'][]): number {
  return sessions.filter(({ current }) => !current).length;
}

export function sessionsText(sessions: readonly Schemas['Session'][]): string {
  const others = otherSessions(sessions);
  return others === 0 ? 'this browser only' : `this browser and ${counted(others, 'other')}`;
}

/** What is wrong with a new password before it is sent. Undefined if nothing is. */
export function passwordError(password: string, repeated: string): string | undefined {
  return repeated !== '' && password !== repeated ? 'The passwords differ.' : undefined;
}
