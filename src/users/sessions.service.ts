import { Injectable } from '@nestjs/common';
import type { ClientBase } from 'pg';
import { Postgres } from '../postgres/postgres.js';
import { digestOf, generateSecretToken, hashSecretToken } from './secret-token.js';
import { SESSION_DAYS } from './session-days.js';
import { inTransaction } from './transaction.js';
import { UserRow, UserSessionRow } from './user.row.js';

/** A session ends when it has not been used for so long. */
const IDLE_HOURS = 12;
/** The time of the last use is exact to this, so that not every request writes. */
const USE_RECORDED_EVERY = '1 minute';

@Injectable()
export class SessionsService {
  constructor(private readonly postgres: Postgres) {}

  /**
   * Returns the value of the cookie. It is always a new one: a value that another person knows must not become valid. Undefined
   * if the user was disabled or got another password since it was read: that ended the sessions, and must end this one too.
   */
  async open({ id, passwordHash }: Pick<UserRow, 'id' | 'passwordHash'>): Promise<string | undefined> {
    const { text, hash } = generateSecretToken();
    return inTransaction(this.postgres, `user:${id}`, async (client, record) => {
      const { rowCount } = await client.query(
        `WITH ended AS (DELETE FROM user_sessions WHERE expires_at < now() OR last_used_at < now() - make_interval(hours => $4))
       INSERT INTO user_sessions (hash, user_id, expires_at)
       SELECT $1, id, now() + make_interval(days => $3) FROM users
        WHERE id = $2 AND disabled_at IS NULL AND password_hash IS NOT DISTINCT FROM $5
          FOR SHARE`,
        [hash, id, SESSION_DAYS, IDLE_HOURS, passwordHash],
      );
      if (rowCount === 0) return undefined;
      await record(id, { type: 'user.signed_in.v1', data: { session: digestOf(hash) } });
      return text;
    });
  }

  /**
   * The user of a valid session. Read from the database each time: a session that was ended elsewhere ends at once. Without
   * `isUse` its time without use goes on.
   */
  async find(hash: Buffer, isUse = true): Promise<UserRow | undefined> {
    const sessions = await this.postgres.repository(UserSessionRow);
    const session = await sessions
      .createQueryBuilder('session')
      .innerJoinAndSelect('session.user', 'user')
      .where('session.hash = :hash AND session.expiresAt > now() AND user.disabledAt IS NULL', { hash })
      .andWhere('session.lastUsedAt > now() - make_interval(hours => :hours)', { hours: IDLE_HOURS })
      .getOne();
    if (!session) return undefined;
    if (!isUse) return session.user;
    await this.postgres.reserved.query(
      `UPDATE user_sessions SET last_used_at = now() WHERE hash = $1 AND last_used_at < now() - $2::interval`,
      [hash, USE_RECORDED_EVERY],
    );
    return session.user;
  }

  async close(cookie: string): Promise<void> {
    const hash = hashSecretToken(cookie);
    const { rows } = await this.postgres.pool.query<{ user: string }>(
      'SELECT user_id AS user FROM user_sessions WHERE hash = $1',
      [hash],
    );
    const [session] = rows;
    if (!session) return;
    await inTransaction(this.postgres, `user:${session.user}`, async (client, record) => {
      const { rowCount } = await client.query('DELETE FROM user_sessions WHERE hash = $1', [hash]);
      if (rowCount === 1) await record(session.user, { type: 'user.signed_out.v1', data: { session: digestOf(hash) } });
    });
  }

  /** The sessions of a user that are valid, the one used last first. `current`: the one with this cookie. */
  async list(userId: string, cookie: string): Promise<OpenSession[]> {
    const { rows } = await this.postgres.pool.query<OpenSession>(
      `SELECT hash = $2 AS current, created_at AS "createdAt", last_used_at AS "lastUsedAt",
              least(expires_at, last_used_at + make_interval(hours => $3)) AS "expiresAt"
         FROM user_sessions
        WHERE user_id = $1 AND expires_at > now() AND last_used_at > now() - make_interval(hours => $3)
        ORDER BY current DESC, last_used_at DESC, created_at DESC`,
      [userId, hashSecretToken(cookie), IDLE_HOURS],
    );
    return rows;
  }

  /** Ends all sessions of a user, or all but the one with this cookie. */
  async closeAll(userId: string, kept?: string): Promise<void> {
    await inTransaction(this.postgres, `user:${userId}`, async (client, record) => {
      await deleteSessions(client, userId, kept);
      const data = kept === undefined ? {} : { kept: digestOf(hashSecretToken(kept)) };
      await record(userId, { type: 'user.signed_out_everywhere.v1', data });
    });
  }
}

interface OpenSession {
  readonly current: boolean;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  /** Unless it is used before. */
  readonly expiresAt: Date;
}

/** Ends the sessions of a user, apart from the one with this cookie. */
export async function deleteSessions(client: ClientBase, userId: string, kept?: string): Promise<void> {
  const hash = kept === undefined ? null : hashSecretToken(kept);
  await client.query('DELETE FROM user_sessions WHERE user_id = $1 AND hash IS DISTINCT FROM $2::bytea', [
    userId,
    hash,
  ]);
}
