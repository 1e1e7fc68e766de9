import { Injectable } from '@nestjs/common';
import type { Actor } from '../kernel/command.js';
import { uuidv7 } from '../kernel/uuid.js';
import { Postgres } from '../postgres/postgres.js';
import type { Scope } from './access.js';
import { digestOf, generateSecretToken, hashSecretToken } from './secret-token.js';
import { inTransaction } from './transaction.js';
import { ApiTokenRow } from './user.row.js';

/** Lets secret scanners find a leaked token, and tells it from an inbound key. */
const PREFIX = 'cct_';
const DISPLAYED_LENGTH = 12;
const USE_RECORDED_EVERY = '1 minute';

interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null: all sites of its owner. */
  readonly sites: readonly string[] | null;
  readonly expiresInDays?: number | undefined;
}

/** A signed-in user. */
export interface TokenCreator {
  readonly userId: string;
  /** The value of the session's cookie. */
  readonly session: string;
}

type NewRow = Omit<ApiTokenRow, 'owner' | 'hash'>;

export interface CreatedToken {
  readonly row: NewRow;
  /** The token itself. */
  readonly token: string;
}

const NEW_ROW = `id, owner_id AS "ownerId", name, prefix, scopes, sites, created_at AS "createdAt",
  last_used_at AS "lastUsedAt", expires_at AS "expiresAt", revoked_at AS "revokedAt"`;

@Injectable()
export class TokensService {
  constructor(private readonly postgres: Postgres) {}

  /** All tokens, or those of one user. */
  async list(ownerId?: string): Promise<ApiTokenRow[]> {
    const where = ownerId === undefined ? {} : { ownerId };
    return (await this.tokens()).find({ where, order: { createdAt: 'ASC', id: 'ASC' } });
  }

  /** Undefined if the session has ended meanwhile: what ended it must not be survived by a token. */
  async create({ userId: ownerId, session }: TokenCreator, token: NewToken): Promise<CreatedToken | undefined> {
    const { text, hash } = generateSecretToken(PREFIX);
    const id = uuidv7();
    const { name, scopes, sites, expiresInDays } = token;
    const row = await inTransaction(this.postgres, `user:${ownerId}`, async (client, record) => {
      // Waits for a reset that revokes the tokens of the user, and is waited for by it: that revokes this token as well.
      await client.query('SELECT FROM users WHERE id = $1 FOR SHARE', [ownerId]);
      // In a statement of its own, which sees what was committed while the one before waited.
      const { rowCount } = await client.query('SELECT FROM user_sessions WHERE hash = $1 AND user_id = $2', [
        hashSecretToken(session),
        ownerId,
      ]);
      if (rowCount === 0) return undefined;
      // Nothing is read after the commit: if that failed, a token would be stored that was never shown.
      const { rows } = await client.query<NewRow>(
        `INSERT INTO api_tokens (id, owner_id, name, prefix, hash, scopes, sites, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(days => $8::integer)) RETURNING ${NEW_ROW}`,
        [id, ownerId, name, text.slice(0, DISPLAYED_LENGTH), hash, scopes, sites, expiresInDays],
      );
      const [created] = rows as [NewRow];
      const expiresAt = created.expiresAt?.toISOString() ?? null;
      const data = { tokenId: id, scopes, sites, expiresAt, digest: digestOf(hash) };
      await record(ownerId, { type: 'user.token_created.v1', data });
      return created;
    });
    return row && { row, token: text };
  }

  /**
   * A token that may be used, with its owner. Read from the database each time: a revocation takes effect at once. Only with
   * `isUse` the time of its last use changes.
   */
  async find(text: string, isUse = true): Promise<ApiTokenRow | undefined> {
    const tokens = await this.tokens();
    const token = await tokens
      .createQueryBuilder('token')
      .innerJoinAndSelect('token.owner', 'owner')
      .where('token.hash = :hash AND token.revokedAt IS NULL', { hash: hashSecretToken(text) })
      .andWhere('(token.expiresAt IS NULL OR token.expiresAt > now()) AND owner.disabledAt IS NULL')
      .getOne();
    if (!token) return undefined;
    if (!isUse) return token;
    await this.postgres.reserved.query(
      `UPDATE api_tokens SET last_used_at = now()
        WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - $2::interval)`,
      [token.id, USE_RECORDED_EVERY],
    );
    return token;
  }

  /** False if there is no such token, or it belongs to another user than the given one. */
  async revoke(id: string, ownerId: string | undefined, actor: Actor): Promise<boolean> {
    return inTransaction(this.postgres, actor, async (client, record) => {
      const { rows } = await client.query<{ owner: string; revoked: boolean }>(
        `SELECT owner_id AS owner, revoked_at IS NOT NULL AS revoked FROM api_tokens
          WHERE id = $1 AND ($2::uuid IS NULL OR owner_id = $2) FOR UPDATE`,
        [id, ownerId],
      );
      const [token] = rows;
      if (!token) return false;
      if (token.revoked) return true;
      await client.query('UPDATE api_tokens SET revoked_at = now() WHERE id = $1', [id]);
      await record(token.owner, { type: 'user.token_revoked.v1', data: { tokenId: id } });
      return true;
    });
  }

  private tokens() {
    return this.postgres.repository(ApiTokenRow);
  }
}
