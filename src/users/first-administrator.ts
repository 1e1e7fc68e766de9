import { Injectable } from '@nestjs/common';
import { normaliseEmail } from '../kernel/email.js';
import { requireStrongPassword } from '../kernel/password-strength.js';
import { uuidv7 } from '../kernel/uuid.js';
import { Postgres } from '../postgres/postgres.js';
import { knownUser, PasswordHasher } from './password.js';
import { digestOf, generateSecretToken, hashSecretToken } from './secret-token.js';
import { inTransaction } from './transaction.js';
import { UserRow } from './user.row.js';
import { LINK_HOURS } from './users.service.js';

/** A page tells by it that the link needs an email address, too. */
const PREFIX = 'first_';

/** The first user, before an administrator exists who could add one. Has no effect once a user exists. */
@Injectable()
export class FirstAdministrator {
  constructor(
    private readonly postgres: Postgres,
    private readonly passwords: PasswordHasher,
  ) {}

  /** Undefined if there is a user already. */
  async add(email: string, password: string): Promise<UserRow | undefined> {
    return (await this.hasUsers()) ? undefined : this.insert(email, password, 'system');
  }

  /** What the link contains; undefined if there is a user. Links of other instances and starts stay valid until one is used. */
  async createLink(): Promise<string | undefined> {
    if (await this.hasUsers()) return undefined;
    const { text, hash } = generateSecretToken(PREFIX);
    await this.postgres.pool.query(
      `WITH expired AS (DELETE FROM sign_in_links WHERE expires_at < now())
       INSERT INTO sign_in_links (hash, expires_at) VALUES ($1, now() + make_interval(hours => $2))`,
      [hash, LINK_HOURS],
    );
    return text;
  }

  isLink(link: string): boolean {
    return link.startsWith(PREFIX);
  }

  /** Undefined if the link is unknown or expired, or there is a user. */
  async useLink(link: string, email: string, password: string): Promise<UserRow | undefined> {
    const hash = hashSecretToken(link);
    const { rowCount } = await this.postgres.pool.query(
      `SELECT FROM sign_in_links
        WHERE hash = $1 AND user_id IS NULL AND expires_at > now() AND NOT EXISTS (SELECT FROM users)`,
      [hash],
    );
    return rowCount === 0 ? undefined : this.insert(email, password, 'self');
  }

  private async insert(email: string, password: string, by: 'system' | 'self'): Promise<UserRow | undefined> {
    const [id, address] = [uuidv7(), normaliseEmail(email)];
    requireStrongPassword(password, address);
    const stored = await this.passwords.hash(password, knownUser(id));
    const actor = by === 'self' ? (`user:${id}` as const) : by;
    const isAdded = await inTransaction(this.postgres, actor, async (client, record) => {
      // Also keeps others from adding users: of all that try at once, one is the first.
      await client.query('LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE');
      const { rowCount } = await client.query(
        `INSERT INTO users (id, email, name, role, password_hash)
         SELECT $1, $2, $2, 'admin', $3 WHERE NOT EXISTS (SELECT FROM users)`,
        [id, address, stored],
      );
      await client.query('DELETE FROM sign_in_links WHERE user_id IS NULL');
      if (rowCount === 1)
        await record(
          id,
          { type: 'user.added.v1', data: { role: 'admin', sites: null } },
          { type: 'user.password_chosen.v1', data: { digest: digestOf(stored) } },
        );
      return rowCount === 1;
    });
    return isAdded ? ((await (await this.postgres.repository(UserRow)).findOneBy({ id })) ?? undefined) : undefined;
  }

  private hasUsers(): Promise<boolean> {
    return hasUsers(this.postgres);
  }
}

export async function hasUsers({ pool }: Pick<Postgres, 'pool'>): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM users LIMIT 1');
  return rowCount === 1;
}
