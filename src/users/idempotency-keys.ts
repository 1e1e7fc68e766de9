import type { Postgres } from '../postgres/postgres.js';

const KEPT_HOURS = 24;

/** The keys of writes whose answers can be repeated, in the table `cc.idempotency_keys`. */
export class IdempotencyKeys {
  constructor(private readonly postgres: Pick<Postgres, 'pool'>) {}

  /** Deletes those whose answers are not repeated any more. */
  async clean(): Promise<void> {
    await this.postgres.pool.query(
      'DELETE FROM idempotency_keys WHERE created_at < now() - make_interval(hours => $1)',
      [KEPT_HOURS],
    );
  }
}
