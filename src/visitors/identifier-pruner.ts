import { Inject, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { KEY_BYTES, VISITOR_BYTES } from '../events/person-keys.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { expirePersonalParts } from '../log/erasure.js';
import { EventLog } from '../log/event-log.js';
import { readArrivedSites } from '../log/site-copy/arrived-sites.js';
import { readCertainlyBefore } from '../log/stored-time.js';
import { Lease } from '../postgres/lease.js';
import { Postgres } from '../postgres/postgres.js';
import { positionBefore } from '../sites/position-before.js';
import { expiry } from './erasure/erasure.js';

const BATCH_ROWS = 1_000;

/** Visits of which the personal parts expire. The `reached` of a lease is the position up to which they were deleted. */
interface Expiring {
  readonly lease: string;
  readonly subjectBytes: number;
  readonly types?: readonly string[];
}

/** For which no email was given. */
const UNIDENTIFIED: Expiring = { lease: 'unidentified-visits', subjectBytes: VISITOR_BYTES };
/** That are found by a click id, as long as the identifier record has them. */
const CLICKED: Expiring = {
  ...{ lease: 'clicked-visits', subjectBytes: KEY_BYTES },
  types: ['visitor.clicked.v1', 'visitor.rejudged.v1'],
};
const PAGE_EVENTS = 5_000;

/**
 * Deletes expired identifiers, unmatched conversions that are too old for a late match, attributions of the same age, and the
 * personal parts of visits that no email was given for. Consent does not expire.
 */
@Injectable()
export class IdentifierPruner {
  private readonly copied: CopiedProgress = new Map();
  private readonly copiedClicks: CopiedProgress = new Map();

  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly logger: Logger,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Interval(10 * 60_000)
  async prune(): Promise<void> {
    // What is deleted by a wrong clock does not come back.
    if (this.postgres.clock.problem() !== undefined) return;
    try {
      const nowMs = this.postgres.clock.nowMs();
      await pruneIdentifiers(this.postgres, new Date(nowMs - this.settings.identifierTtlMs));
      const before = new Date(nowMs - this.settings.unidentifiedTtlMs);
      await pruneUnidentified(this.postgres, this.log, before, this.copied);
      // Not before the rows that were made of them, which a rebuild would make again.
      const oldest = Math.max(this.settings.identifierTtlMs, this.settings.unidentifiedTtlMs);
      await pruneVisits(this.postgres, this.log, CLICKED, new Date(nowMs - oldest), this.copiedClicks);
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

/** Up to where copied visits were looked at, by site. It only saves work: after a restart they are looked at again. */
type CopiedProgress = Map<string, number>;

export function pruneUnidentified(
  postgres: Postgres,
  log: EventLog,
  before: Date,
  copied?: CopiedProgress,
): Promise<number> {
  return pruneVisits(postgres, log, UNIDENTIFIED, before, copied);
}

export function pruneClicked(postgres: Postgres, log: EventLog, before: Date): Promise<number> {
  return pruneVisits(postgres, log, CLICKED, before);
}

/** One process at a time, by lease. Returns the number of visits that lost their personal part. */
async function pruneVisits(
  postgres: Postgres,
  log: EventLog,
  { lease: name, ...parts }: Expiring,
  before: Date,
  copied: CopiedProgress = new Map(),
): Promise<number> {
  const lease = await Lease.take(postgres, name);
  if (!lease) return 0;
  try {
    const end = await readCertainlyBefore(postgres.pool, before, postgres.clock.nowMs());
    let total = 0;
    while (lease.held && lease.reached < end) {
      const until = Math.min(end, await log.pageEnd(lease.reached, PAGE_EVENTS));
      const range = { after: lease.reached, until, ...parts };
      total += await expirePersonalParts(postgres, range, expiry);
      lease.reached = until;
    }
    // A visit that came from another log is as old as it says, whenever it came. Those up to `end` are done.
    for (const site of await readArrivedSites(postgres.pool)) {
      const last = await positionBefore(log, before, site);
      for (let after = Math.max(end, copied.get(site) ?? 0); lease.held && after < last; ) {
        const until = Math.min(last, await log.pageEnd(after, PAGE_EVENTS));
        total += await expirePersonalParts(postgres, { after, until, ...parts, site }, expiry);
        after = until;
        copied.set(site, after);
      }
    }
    return total;
  } finally {
    await lease.release();
  }
}
