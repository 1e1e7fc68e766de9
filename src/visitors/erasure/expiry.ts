import { KEY_BYTES, VISITOR_BYTES } from '../../events/person-keys.js';
import { expirePersonalParts } from '../../log/erasure.js';
import type { EventLog } from '../../log/event-log.js';
import { RETAINED_CATEGORIES } from '../../log/retention/retention.js';
import { readArrivedSites } from '../../log/site-copy/arrived-sites.js';
import { readCertainlyBefore } from '../../log/stored-time.js';
import { Lease } from '../../postgres/lease.js';
import type { Postgres } from '../../postgres/postgres.js';
import { positionBefore } from '../../sites/position-before.js';
import { expiryOf } from './erasure.js';

/** Events of one transaction. Appends wait while it records which parts are gone. */
const PAGE_EVENTS = 2_000;

/** Personal parts that expire. The `reached` of a lease is the position up to which they were deleted. */
interface Expiring {
  readonly lease: string;
  readonly reason: 'unidentified' | 'expired';
  readonly subjectBytes?: number;
  readonly types?: readonly string[];
  readonly kept?: readonly string[];
}

/** Visits for which no email was given. */
const UNIDENTIFIED: Expiring = { lease: 'unidentified-visits', reason: 'unidentified', subjectBytes: VISITOR_BYTES };
/** Visits that are found by a click id, as long as the identifier record has them. */
const CLICKED: Expiring = {
  ...{ lease: 'clicked-visits', reason: 'unidentified', subjectBytes: KEY_BYTES },
  types: ['visitor.clicked.v1', 'visitor.rejudged.v1'],
};
export const PERSONAL_LEASE = 'personal-parts';
/** An opt-out is respected, and a filter applied, until the person or an operator ends it. */
export const KEPT_PERSONAL = [...RETAINED_CATEGORIES, 'visitor.consent_changed.v1'];
const PERSONAL: Expiring = { lease: PERSONAL_LEASE, reason: 'expired', kept: KEPT_PERSONAL };

/** Up to where copied events were looked at, by site. It only saves work: after a restart they are looked at again. */
export type CopiedProgress = Map<string, number>;

export function expireUnidentified(
  postgres: Postgres,
  log: EventLog,
  before: Date,
  copied?: CopiedProgress,
): Promise<number> {
  return expire(postgres, log, UNIDENTIFIED, before, copied);
}

export function expireClicked(
  postgres: Postgres,
  log: EventLog,
  before: Date,
  copied?: CopiedProgress,
): Promise<number> {
  return expire(postgres, log, CLICKED, before, copied);
}

/** All that are older, up to the position until which nothing needs them. */
export function expirePersonal(
  postgres: Postgres,
  log: EventLog,
  before: Date,
  held: number,
  copied?: CopiedProgress,
): Promise<number> {
  return expire(postgres, log, PERSONAL, before, copied, held);
}

/** One process at a time, by lease. Returns the number of events that lost their personal part. */
async function expire(
  postgres: Postgres,
  log: EventLog,
  { lease: name, reason, ...parts }: Expiring,
  before: Date,
  copied: CopiedProgress = new Map(),
  held = Number.POSITIVE_INFINITY,
): Promise<number> {
  const lease = await Lease.take(postgres, name);
  if (!lease) return 0;
  const record = expiryOf(reason);
  try {
    const end = Math.min(held, await readCertainlyBefore(postgres.pool, before, postgres.clock.nowMs()));
    let total = 0;
    while (lease.held && lease.reached < end) {
      const until = Math.min(end, await log.pageEnd(lease.reached, PAGE_EVENTS));
      total += await expirePersonalParts(postgres, { after: lease.reached, until, ...parts }, record);
      lease.reached = until;
    }
    // An event that came from another log is as old as it says, whenever it came. Those up to `end` are done.
    for (const site of await readArrivedSites(postgres.pool)) {
      const last = Math.min(held, await positionBefore(log, before, site));
      for (let after = Math.max(end, copied.get(site) ?? 0); lease.held && after < last; ) {
        const until = Math.min(last, await log.pageEnd(after, PAGE_EVENTS));
        total += await expirePersonalParts(postgres, { after, until, ...parts, site }, record);
        after = until;
        copied.set(site, after);
      }
    }
    return total;
  } finally {
    await lease.release();
  }
}
