import { Injectable } from '@nestjs/common';
import type { PoolClient } from 'pg';
import type { UserEvent } from '../events/user.events.js';
import type { Actor } from '../kernel/command.js';
import { isEmail, normaliseEmail } from '../kernel/email.js';
import { UserError } from '../kernel/errors.js';
import { requireStrongPassword } from '../kernel/password-strength.js';
import { uuidv7 } from '../kernel/uuid.js';
import { Postgres } from '../postgres/postgres.js';
import type { Role } from './access.js';
import { endAccess, revokeTokensOf, VALID_TOKEN } from './end-access.js';
import { type HashCaller, knownUser, PasswordHasher } from './password.js';
import { digestOf, generateSecretToken, hashSecretToken } from './secret-token.js';
import { deleteSessions } from './sessions.service.js';
import { inTransaction } from './transaction.js';
import { UserRow } from './user.row.js';

export const LINK_HOURS = 24;
const ACTIVE_ADMIN = `SELECT FROM users WHERE role = 'admin' AND disabled_at IS NULL LIMIT 1`;

interface NewUser {
  readonly email: string;
  readonly name?: string | undefined;
  readonly role: Role;
  /** Null: all sites. */
  readonly sites: string[] | null;
}

interface Reset {
  /** Secret of the link with which the user chooses a password. */
  readonly secret: string;
  /** How many API tokens of the user can still be used. */
  readonly validTokens: number;
}

interface UserChange {
  readonly name?: string | undefined;
  readonly role?: Role | undefined;
  readonly sites?: string[] | null | undefined;
  readonly disabled?: boolean | undefined;
}

interface PasswordChange {
  readonly current: string;
  readonly password: string;
  /** The value of the session's cookie that stays valid. */
  readonly session: string;
}

@Injectable()
export class UsersService {
  constructor(
    private readonly postgres: Postgres,
    private readonly passwords: PasswordHasher,
  ) {}

  async list(): Promise<UserRow[]> {
    return (await this.users()).find({ order: { createdAt: 'ASC', id: 'ASC' } });
  }

  async exist(): Promise<boolean> {
    return (await this.users()).exists();
  }

  async find(id: string): Promise<UserRow | null> {
    return (await this.users()).findOneBy({ id });
  }

  async findByEmail(email: string): Promise<UserRow | null> {
    return (await this.users()).findOneBy({ email: normaliseEmail(email) });
  }

  async add({ email, name, role, sites }: NewUser, actor: Actor = 'system'): Promise<UserRow> {
    const address = normaliseEmail(email);
    if (!isEmail(address)) throw new UserError('The email address of the user is not valid.');
    const id = uuidv7();
    await inTransaction(this.postgres, actor, async (client, record) => {
      const { rowCount } = await client.query(
        `INSERT INTO users (id, email, name, role, sites) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (email) DO NOTHING`,
        [id, address, name ?? address, role, sites],
      );
      if (rowCount === 0) throw new UserError('There is a user with this email address already.');
      await record(id, { type: 'user.added.v1', data: { role, sites } });
    });
    return (await this.find(id)) as UserRow;
  }

  /** Refuses to leave the installation without an administrator who can sign in. */
  async change(
    id: string,
    { name, role, sites, disabled }: UserChange,
    actor: Actor = 'system',
  ): Promise<UserRow | undefined> {
    const changed = await inTransaction(this.postgres, actor, async (client, record) => {
      // One change at a time: two administrators must not remove each other.
      await client.query('LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE');
      const before = await client.query(ACTIVE_ADMIN);
      const { rows: earlier } = await client.query<UserState>(`SELECT ${USER_STATE} FROM users WHERE id = $1`, [id]);
      const { rows: later } = await client.query<UserState>(
        `UPDATE users SET name = coalesce($2, name), role = coalesce($3, role),
                sites = CASE WHEN $4 THEN $5::text[] ELSE sites END,
                disabled_at = CASE $6::boolean WHEN true THEN coalesce(disabled_at, now()) WHEN false THEN NULL ELSE disabled_at END
          WHERE id = $1 RETURNING ${USER_STATE}`,
        [id, name, role, sites !== undefined, sites ?? null, disabled],
      );
      if (!(earlier[0] && later[0])) return false;
      const after = await client.query(ACTIVE_ADMIN);
      if (before.rowCount === 1 && after.rowCount === 0)
        throw new UserError('This is the last administrator. Make another user an administrator first.');
      if (disabled) await endAccess(client, id);
      // Also when the user is enabled: earlier versions left the tokens of a disabled user valid.
      const hasSwitched = earlier[0].disabled !== later[0].disabled;
      const revocations = hasSwitched ? await revokeTokensOf(client, id) : [];
      await record(id, ...eventsOfChange(earlier[0], later[0]), ...revocations);
      return true;
    });
    return changed ? ((await this.find(id)) as UserRow) : undefined;
  }

  /**
   * Ends all sessions and the password of a user, and returns what a link to choose a new one contains. Programs use the tokens
   * of the user, so they stay valid unless they are to be revoked, too.
   */
  async reset(id: string, actor: Actor = 'system', { revokeTokens = false } = {}): Promise<Reset> {
    const { text, hash } = generateSecretToken();
    return inTransaction(this.postgres, actor, async (client, record) => {
      // First, because it locks the row: a session that is being opened meanwhile is seen by what follows.
      await client.query('UPDATE users SET password_hash = NULL WHERE id = $1', [id]);
      await endAccess(client, id);
      await client.query(
        'INSERT INTO sign_in_links (hash, user_id, expires_at) VALUES ($1, $2, now() + make_interval(hours => $3))',
        [hash, id, LINK_HOURS],
      );
      const revocations = revokeTokens ? await revokeTokensOf(client, id) : [];
      // Nothing is read after the commit: if that failed, the link would be lost.
      const validTokens = await countValidTokens(client, id);
      await record(id, { type: 'user.reset.v1', data: {} }, ...revocations);
      return { secret: text, validTokens };
    });
  }

  /** Sets the password of the user that the link belongs to. Undefined if the link is unknown, used or expired. */
  async choosePassword(link: string, password: string): Promise<UserRow | undefined> {
    const hash = hashSecretToken(link);
    const { rows } = await this.postgres.pool.query<{ id: string; email: string }>(
      `SELECT u.id, u.email FROM sign_in_links l JOIN users u ON u.id = l.user_id
        WHERE l.hash = $1 AND l.expires_at > now() AND u.disabled_at IS NULL`,
      [hash],
    );
    const [user] = rows;
    if (!user) return undefined;
    requireStrongPassword(password, user.email);
    const stored = await this.passwords.hash(password, knownUser(user.id));
    const isChosen = await inTransaction(this.postgres, `user:${user.id}`, async (client, record) => {
      // The user before the link, as everywhere: otherwise this and a reset could each wait for the other.
      await client.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [user.id]);
      const { rowCount } = await client.query(
        `WITH used AS (DELETE FROM sign_in_links WHERE hash = $1 AND expires_at > now() RETURNING user_id)
         UPDATE users SET password_hash = $2 FROM used WHERE users.id = used.user_id AND disabled_at IS NULL`,
        [hash, stored],
      );
      if (rowCount === 1)
        await record(user.id, { type: 'user.password_chosen.v1', data: { digest: digestOf(stored) } });
      return rowCount === 1;
    });
    return isChosen ? ((await this.find(user.id)) ?? undefined) : undefined;
  }

  /** Sets another password, and ends the other sessions and links of the user. False if the current one is not the given. */
  async changePassword(id: string, change: PasswordChange): Promise<boolean> {
    const before = await this.find(id);
    if (before?.passwordHash === null)
      throw new UserError('You have no password here. An administrator can create a link with which you choose one.');
    if (!before || !(await this.passwords.matches(change.current, before.passwordHash, knownUser(id)))) return false;
    requireStrongPassword(change.password, before.email);
    const stored = await this.passwords.hash(change.password, knownUser(id));
    return inTransaction(this.postgres, `user:${id}`, async (client, record) => {
      // Not if it was changed or reset while the passwords were hashed.
      const { rowCount } = await client.query(
        'UPDATE users SET password_hash = $2 WHERE id = $1 AND password_hash = $3 AND disabled_at IS NULL',
        [id, stored, before.passwordHash],
      );
      if (rowCount === 0) return false;
      await deleteSessions(client, id, change.session);
      await client.query('DELETE FROM sign_in_links WHERE user_id = $1', [id]);
      const kept = digestOf(hashSecretToken(change.session));
      await record(id, { type: 'user.password_chosen.v1', data: { digest: digestOf(stored), kept } });
      return true;
    });
  }

  /** Undefined unless the password is that of an active user. */
  async authenticate(user: UserRow | null, password: string, caller: HashCaller): Promise<UserRow | undefined> {
    const isRight = await this.passwords.matches(password, user?.passwordHash, caller);
    return user && isRight && user.disabledAt === null ? user : undefined;
  }

  private users() {
    return this.postgres.repository(UserRow);
  }
}

interface UserState {
  readonly name: string;
  readonly role: Role;
  readonly sites: string[] | null;
  readonly disabled: boolean;
}

const USER_STATE = 'name, role, sites, disabled_at IS NOT NULL AS disabled';

function eventsOfChange(before: UserState, after: UserState): UserEvent[] {
  const role = before.role !== after.role && { role: after.role };
  const sites = JSON.stringify(before.sites) !== JSON.stringify(after.sites) && { sites: after.sites };
  const events: UserEvent[] = [];
  if (before.name !== after.name) events.push({ type: 'user.renamed.v1', data: {} });
  if (role || sites) events.push({ type: 'user.changed.v1', data: { ...role, ...sites } });
  if (before.disabled !== after.disabled)
    events.push({ type: after.disabled ? 'user.disabled.v1' : 'user.enabled.v1', data: {} });
  return events;
}

/** They can be used unless the user is disabled. */
async function countValidTokens(client: PoolClient, userId: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM api_tokens WHERE owner_id = $1 AND ${VALID_TOKEN}`,
    [userId],
  );
  return (rows[0] as { count: number }).count;
}
