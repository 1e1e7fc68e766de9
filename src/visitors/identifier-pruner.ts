import { Inject, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { Postgres } from '../postgres/postgres.js';

const BATCH_ROWS = 1_000;

/**
 * Deletes expired identifiers, and unmatched conversions that are too old for a late match. Consent does not
 * expire.
 */
@Injectable()
export class IdentifierPruner {
  constructor(
    private readonly postgres: Postgres,
    private readonly logger: Logger,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Interval(10 * 60_000)
  async prune(): Promise<void> {
    try {
      await pruneIdentifiers(this.postgres, new Date(this.postgres.clock.nowMs() - this.settings.identifierTtlMs));
    } catch (error) {
      this.logger.warn('Pruning expired identifiers failed; retrying in 10 min', { error: messageOf(error) });
    }
  }
}

export async function pruneIdentifiers(postgres: Postgres, before: Date): Promise<number> {
  let total = 0;
  for (const { table, time } of [
    { table: 'identifiers', time: 'at' },
    { table: 'unmatched', time: 'time' },
  ]) {
    for (let pruned = BATCH_ROWS; pruned === BATCH_ROWS; total += pruned) {
      const { rowCount } = await postgres.pool.query(
        `DELETE FROM cc.${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM cc.${table} WHERE ${time} < $1 LIMIT ${BATCH_ROWS}))`,
        [before],
      );
      pruned = rowCount ?? 0;
    }
  }
  return total;
}
