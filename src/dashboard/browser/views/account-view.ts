import type { Schemas } from '../api.js';
import { counted } from '../format.js';
import type { User } from '../session.js';

export const ROLE_TITLES: Readonly<Record<User['role'], string>> = {
  admin: 'Administrator: everything, and users',
  operator: 'Operator: reads, changes and erases',
  analyst: 'Analyst: reads',
};

/** What the user may do, and where. */
export function accountRows({ name, email, role, sites }: User): { name: string; value: string }[] {
  return [
    { name: 'name', value: name },
    { name: 'email', value: email },
    { name: 'role', value: ROLE_TITLES[role] },
    { name: 'sites', value: role === 'admin' || sites === null ? 'all' : sites.join(', ') || 'none' },
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
