import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { UserEvent } from '../events/user.events.js';
import { isEmail, normaliseEmail } from '../kernel/email.js';
import { UserError } from '../kernel/errors.js';
import { uuidv7 } from '../kernel/uuid.js';
import { Postgres } from '../postgres/postgres.js';
import type { Role } from './access.js';
import { endAccess, revokeTokensOf } from './end-access.js';
import { type ExternalIdentity, identityDigest } from './external-identity.js';
import { digestOf } from './secret-token.js';
import { inTransaction } from './transaction.js';
import { UserRow } from './user.row.js';
import { UsersService } from './users.service.js';

const SALT_BYTES = 16;

/** Users who sign in at a provider, which may also decide about their roles. */
@Injectable()
export class ExternalUsersService {
  constructor(
    private readonly postgres: Postgres,
    private readonly users: UsersService,
  ) {}

  /**
   * The active user of an account at the sign-in provider: the one that it was linked to, otherwise the one with its verified
   * email address, which is linked from now on. A person who is not a user becomes one only if the provider states a role.
   */
  async findOrAdd(identity: ExternalIdentity): Promise<UserRow | undefined> {
    const { email, name, role } = identity;
    const digest = identityDigest(identity);
    const address = email === undefined ? undefined : normaliseEmail(email);
    // Without a role at the provider a person has no access, also with an account here.
    if (role !== null && address !== undefined) await this.link(digest, address);
    if (role && address !== undefined && isEmail(address))
      await this.add({ email: address, name: name ?? address, role, digest });
    const user = await (await this.postgres.repository(UserRow)).findOneBy({ identity: digest });
    return user && user.disabledAt === null ? this.follow(user, role) : undefined;
  }

  /** Gives the user the role that the provider states. Undefined if it has no access. */
  async follow(user: UserRow, role: Role | null | undefined): Promise<UserRow | undefined> {
    if (role === null) {
      await this.end(user.id, { revokeTokens: true });
      return undefined;
    }
    if (role === undefined || role === user.role) return user;
    // All sites belong to the role of an administrator, not to the person.
    const sites = user.role === 'admin' ? { sites: user.sites ?? [] } : {};
    try {
      return await this.users.change(user.id, { role, ...sites });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      // The last administrator cannot get another role here, and must not keep the one that was withdrawn.
      await this.end(user.id, { revokeTokens: true });
      throw error;
    }
  }

  /** The provider has just stated that the user has access. `grant`: what it is asked with again, sealed. */
  async confirm(id: string, grant: Buffer | null): Promise<void> {
    await this.postgres.pool.query('UPDATE users SET confirmed_at = now(), provider_grant = $2 WHERE id = $1', [
      id,
      grant,
    ]);
  }

  /** Ends sessions and links. Without `revokeTokens`, tokens can be used again once the user has signed in at the provider. */
  async end(id: string, { revokeTokens }: { readonly revokeTokens: boolean }): Promise<void> {
    await inTransaction(this.postgres, 'system', async (client, record) => {
      await client.query('UPDATE users SET confirmed_at = NULL, provider_grant = NULL WHERE id = $1', [id]);
      const { rowCount } = await client.query('SELECT FROM user_sessions WHERE user_id = $1', [id]);
      await endAccess(client, id);
      const revocations = revokeTokens ? await revokeTokensOf(client, id) : [];
      const signedOut = rowCount ? [{ type: 'user.signed_out_everywhere.v1', data: {} } as const] : [];
      await record(id, ...signedOut, ...revocations);
    });
  }

  /** From then on the account at the provider can sign in as the user, also with another address. */
  private async link(digest: Buffer, email: string): Promise<void> {
    const unlinked = `FROM users WHERE email = $2 AND identity IS NULL AND NOT EXISTS (SELECT FROM users WHERE identity = $1)`;
    // As a rule it was linked before: then nothing is to be recorded, which would let other appends wait.
    if ((await this.postgres.pool.query(`SELECT ${unlinked}`, [digest, email])).rowCount === 0) return;
    const salt = randomBytes(SALT_BYTES);
    await inTransaction(this.postgres, 'system', async (client, record) => {
      const { rows } = await client.query<{ id: string }>(
        `UPDATE users SET identity = $1, identity_salt = $3 WHERE id = (SELECT id ${unlinked} FOR UPDATE) RETURNING id`,
        [digest, email, salt],
      );
      for (const { id } of rows) await record(id, linkedEvent(digest, salt));
    });
  }

  private async add(user: { email: string; name: string; role: Role; digest: Buffer }): Promise<void> {
    const { email, name, role, digest } = user;
    // Sites are given by an administrator; a role at the provider says nothing about them.
    const [id, sites, salt] = [uuidv7(), role === 'admin' ? null : [], randomBytes(SALT_BYTES)];
    await inTransaction(this.postgres, 'system', async (client, record) => {
      const { rowCount } = await client.query(
        `INSERT INTO users (id, email, name, role, sites, identity, identity_salt)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
        [id, email, name, role, sites, digest, salt],
      );
      if (rowCount === 1) await record(id, { type: 'user.added.v1', data: { role, sites } }, linkedEvent(digest, salt));
    });
  }
}

/** Salted, because an account at a provider can be guessed, as if it was an email address. */
function linkedEvent(identity: Buffer, salt: Buffer): UserEvent {
  return { type: 'user.identity_linked.v1', data: { digest: digestOf(Buffer.concat([identity, salt])) } };
}
