import type { StreamEvent } from '../log/event.js';
import type { Role } from './access.js';
import { SESSION_DAYS } from './session-days.js';

/** A row of `cc.users`, or what its events say. */
export interface UserState {
  readonly id: string;
  readonly role: Role;
  readonly sites: readonly string[] | null;
  readonly disabled: boolean;
  /** Digest; null without a password, undefined if the events do not say. */
  readonly password: string | null | undefined;
  /** Digest of the account at the sign-in provider; null without one, undefined if the events do not say. */
  readonly identity: string | null | undefined;
}

export interface SessionState {
  readonly digest: string;
  readonly userId: string;
  readonly expiresAt: Date;
}

export interface TokenState {
  readonly id: string;
  readonly userId: string;
  readonly scopes: readonly string[];
  readonly sites: readonly string[] | null;
  readonly expiresAt: Date | null;
  readonly revoked: boolean;
  /** Undefined if the events do not say. */
  readonly digest: string | undefined;
}

/** Who has access: as stored, or as the log says. */
export interface AccessState {
  readonly users: readonly UserState[];
  readonly sessions: readonly SessionState[];
  readonly tokens: readonly TokenState[];
  /** The users who have a link to choose a password. */
  readonly links: readonly string[];
}

interface RecordedAccess extends AccessState {
  /** The users who chose a password with a link that no event created. */
  readonly withoutLink: readonly string[];
}

const SESSION_MS = SESSION_DAYS * 24 * 60 * 60 * 1_000;
/** Between the start of the transaction that opens a session, and the time of its event. */
const SESSION_TOLERANCE_MS = 60_000;

/** What the events about users, in log order, say about who has access. Sessions that ended by themselves are among them. */
export function foldAccess(events: readonly StreamEvent<'user'>[]): RecordedAccess {
  const users = new Map<string, UserState>();
  const links = new Set<string>();
  const withoutLink = new Set<string>();
  const tokens = new Map<string, TokenState>();
  let sessions: SessionState[] = [];
  const end = (userId: string, kept?: string) => {
    sessions = sessions.filter((session) => session.userId !== userId || session.digest === kept);
  };
  for (const event of events) {
    const id = event.stream.slice('user-'.length);
    const user = users.get(id);
    const change = (changed: Partial<UserState>) => user && users.set(id, { ...user, ...changed });
    switch (event.type) {
      case 'user.added.v1': {
        // Earlier versions did not record that the first administrator chose a password.
        const isFirst = users.size === 0;
        users.set(id, { id, ...event.data, disabled: false, password: isFirst ? undefined : null, identity: null });
        // There is no user yet whose link it could be.
        if (isFirst) links.add(id);
        break;
      }
      case 'user.changed.v1':
        change(event.data);
        break;
      case 'user.disabled.v1':
        change({ disabled: true });
        end(id);
        break;
      case 'user.enabled.v1':
        change({ disabled: false });
        break;
      case 'user.reset.v1':
        change({ password: null });
        end(id);
        links.add(id);
        break;
      case 'user.identity_linked.v1':
        change({ identity: event.data.digest });
        break;
      case 'user.password_chosen.v1':
        change({ password: event.data.digest });
        if (event.data.kept !== undefined) end(id, event.data.kept);
        else if (event.data.digest !== undefined && !links.has(id)) withoutLink.add(id);
        links.delete(id);
        break;
      case 'user.signed_in.v1': {
        const expiresAt = new Date(Date.parse(event.time) + SESSION_MS);
        sessions.push({ digest: event.data.session, userId: id, expiresAt });
        break;
      }
      case 'user.signed_out.v1':
        sessions = sessions.filter(({ digest }) => digest !== event.data.session);
        break;
      case 'user.signed_out_everywhere.v1':
        end(id, event.data.kept);
        break;
      case 'user.token_created.v1': {
        const { tokenId, expiresAt, digest, ...data } = event.data;
        const until = expiresAt === null ? null : new Date(expiresAt);
        tokens.set(tokenId, { id: tokenId, userId: id, ...data, expiresAt: until, digest, revoked: false });
        break;
      }
      case 'user.token_revoked.v1': {
        const token = tokens.get(event.data.tokenId);
        if (token) tokens.set(token.id, { ...token, revoked: true });
        break;
      }
    }
  }
  return {
    ...{ users: [...users.values()], sessions, tokens: [...tokens.values()] },
    ...{ links: [...links], withoutLink: [...withoutLink] },
  };
}

/** How what is stored differs from what the events say. Ids only, because names are personal. */
export function accessDifferences(expected: RecordedAccess, stored: AccessState): string[] {
  const planted = stored.links.filter((id) => !expected.links.includes(id));
  return [
    ...expected.withoutLink.map((id) => `user ${id} chose a password with a link that was not created by an event`),
    ...planted.map((id) => `a sign-in link of user ${id} was not created by an event`),
    ...differences('user', expected.users, stored.users, ['role', 'sites', 'disabled', 'password', 'identity']),
    ...differences('token', expected.tokens, stored.tokens, [
      'userId',
      'scopes',
      'sites',
      'expiresAt',
      'revoked',
      'digest',
    ]),
    ...stored.sessions.flatMap((session) => sessionDifference(session, expected.sessions)),
  ];
}

function differences<Row extends { readonly id: string }>(
  what: string,
  expected: readonly Row[],
  stored: readonly Row[],
  fields: readonly (keyof Row & string)[],
): string[] {
  const rows = new Map(stored.map((row) => [row.id, row]));
  const known = new Set(expected.map(({ id }) => id));
  return [
    ...stored.filter(({ id }) => !known.has(id)).map(({ id }) => `${what} ${id} was not added by an event`),
    ...expected.flatMap((user) => {
      const row = rows.get(user.id);
      if (!row) return [`${what} ${user.id} is missing`];
      const changed = fields.filter((field) => user[field] !== undefined && !isSame(user[field], row[field]));
      return changed.length === 0 ? [] : [`${what} ${user.id} has another ${changed.join(', ')} than its events say`];
    }),
  ];
}

function sessionDifference({ digest, userId, expiresAt }: SessionState, expected: readonly SessionState[]): string[] {
  const opened = expected.find((session) => session.digest === digest && session.userId === userId);
  if (!opened) return [`a session of user ${userId} was not opened by an event, or has ended`];
  const isLonger = expiresAt.getTime() > opened.expiresAt.getTime() + SESSION_TOLERANCE_MS;
  return isLonger ? [`a session of user ${userId} is valid for longer than its event says`] : [];
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
