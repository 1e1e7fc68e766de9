import { Inject, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { expirePersonalParts } from '../log/erasure.js';
import { EventLog } from '../log/event-log.js';
import { Lease } from '../postgres/lease.js';
import { Postgres } from '../postgres/postgres.js';
import { expiry } from './expiry.js';
import { VISITOR_BYTES } from './visitor.js';

const BATCH_ROWS = 1_000;

/** Its `reached` is the position up to which personal parts of visits without an email were deleted. */
const UNIDENTIFIED_LEASE = 'unidentified-visits';
const PAGE_EVENTS = 5_000;

/**
 * Deletes expired identifiers, unmatched conversions that are too old for a late match, attributions of the same age, and the
 * personal parts of visits that no email was given for. Consent does not expire.
 */
@Injectable()
export class IdentifierPruner {
  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly logger: Logger,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Interval(10 * 60_000)
  async prune(): Promise<void> {
    try {
      const nowMs = this.postgres.clock.nowMs();
      await pruneIdentifiers(this.postgres, new Date(nowMs - this.settings.identifierTtlMs));
      await pruneUnidentified(this.postgres, this.log, new Date(nowMs - this.settings.unidentifiedTtlMs));
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
    { table: 'attributions', time: 'quarter' },
    { table: 'attribution_limits', time: 'quarter' },
    { table: 'identifier_statistics', time: 'quarter' },
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

/** One process at a time, by lease. Returns the number of visits that lost their personal part. */
export async function pruneUnidentified(postgres: Postgres, log: EventLog, before: Date): Promise<number> {
  const lease = await Lease.take(postgres, UNIDENTIFIED_LEASE);
  if (!lease) return 0;
  try {
    const end = await log.positionBefore(before);
    let total = 0;
    while (lease.held && lease.reached < end) {
      const until = Math.min(end, await log.pageEnd(lease.reached, PAGE_EVENTS));
      const range = { after: lease.reached, until, subjectBytes: VISITOR_BYTES };
      total += await expirePersonalParts(postgres, range, expiry);
      lease.reached = until;
    }
    return total;
  } finally {
    await lease.release();
  }
}
