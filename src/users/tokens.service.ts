import { Injectable } from '@nestjs/common';
import type { Actor } from '../kernel/command.js';
import { uuidv7 } from '../kernel/uuid.js';
import { Postgres } from '../postgres/postgres.js';
import type { Scope } from './access.js';
import { generateSecretToken, hashSecretToken } from './secret-token.js';
import { inTransaction } from './transaction.js';
import { ApiTokenRow } from './user.row.js';

/** Lets secret scanners find a leaked token, and tells it from an inbound key. */
const PREFIX = 'cct_';
const DISPLAYED_LENGTH = 12;
const USE_RECORDED_EVERY = '1 minute';

export interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null: all sites of its owner. */
  readonly sites: readonly string[] | null;
  readonly expiresInDays?: number | undefined;
}

@Injectable()
export class TokensService {
  constructor(private readonly postgres: Postgres) {}

  /** All tokens, or those of one user. */
  async list(ownerId?: string): Promise<ApiTokenRow[]> {
    const where = ownerId === undefined ? {} : { ownerId };
    return (await this.tokens()).find({ where, order: { createdAt: 'ASC', id: 'ASC' } });
  }

  async create(ownerId: string, token: NewToken): Promise<{ row: ApiTokenRow; token: string }> {
    const { text, hash } = generateSecretToken(PREFIX);
    const id = uuidv7();
    const { name, scopes, sites, expiresInDays } = token;
    await inTransaction(this.postgres, `user:${ownerId}`, async (client, record) => {
      const { rows } = await client.query<{ expires: Date | null }>(
        `INSERT INTO api_tokens (id, owner_id, name, prefix, hash, scopes, sites, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(days => $8::integer)) RETURNING expires_at AS expires`,
        [id, ownerId, name, text.slice(0, DISPLAYED_LENGTH), hash, scopes, sites, expiresInDays],
      );
      const expiresAt = rows[0]?.expires?.toISOString() ?? null;
      await record(ownerId, { type: 'user.token_created.v1', data: { tokenId: id, scopes, sites, expiresAt } });
    });
    return { row: (await (await this.tokens()).findOneBy({ id })) as ApiTokenRow, token: text };
  }

  /**
   * A token that may be used, with its owner. Read from the database each time: a revocation takes effect at once. Only with
   * `isUse` the time of its last use changes.
   */
  async find(text: string, isUse = true): Promise<ApiTokenRow | undefined> {
    const { IsNull, Raw } = await import('typeorm');
    const token = await (await this.tokens()).findOne({
      where: {
        hash: hashSecretToken(text),
        revokedAt: IsNull(),
        expiresAt: Raw((column) => `(${column} IS NULL OR ${column} > now())`),
        owner: { disabledAt: IsNull() },
      },
      relations: { owner: true },
    });
    if (!token || !isUse) return token ?? undefined;
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
