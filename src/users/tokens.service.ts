import { Injectable } from '@nestjs/common';
import { uuidv7 } from '../kernel/uuid.js';
import { Postgres } from '../postgres/postgres.js';
import type { Scope } from './access.js';
import { generateSecretToken, hashSecretToken } from './secret-token.js';
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
    await this.postgres.pool.query(
      `INSERT INTO api_tokens (id, owner_id, name, prefix, hash, scopes, sites, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(days => $8::integer))`,
      [id, ownerId, token.name, text.slice(0, DISPLAYED_LENGTH), hash, token.scopes, token.sites, token.expiresInDays],
    );
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
    await this.postgres.pool.query(
      `UPDATE api_tokens SET last_used_at = now()
        WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - $2::interval)`,
      [token.id, USE_RECORDED_EVERY],
    );
    return token;
  }

  /** False if there is no such token, or it belongs to another user than the given one. */
  async revoke(id: string, ownerId?: string): Promise<boolean> {
    const { rowCount } = await this.postgres.pool.query(
      `UPDATE api_tokens SET revoked_at = coalesce(revoked_at, now())
        WHERE id = $1 AND ($2::uuid IS NULL OR owner_id = $2)`,
      [id, ownerId],
    );
    return rowCount === 1;
  }

  private tokens() {
    return this.postgres.repository(ApiTokenRow);
  }
}
