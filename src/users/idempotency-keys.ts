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

  /**
   * Deletes what is kept about the writes of a site, also of those that are being carried out: their answers are not stored then.
   * The keys stay, so that no write is carried out twice.
   */
  async forgetAnswers(site: string): Promise<void> {
    await this.postgres.pool.query(`UPDATE cc.idempotency_keys SET request = '', answer = NULL WHERE site = $1`, [
      site,
    ]);
  }
}
