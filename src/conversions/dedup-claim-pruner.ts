import { Inject, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { dedupWindowOf } from './dedup-key.js';

const BATCH_ROWS = 500;

/** Deletes dedup claims older than every site's dedup window, in batches, so that appends do not wait long for a lock. */
@Injectable()
export class DedupClaimPruner {
  constructor(
    private readonly postgres: Postgres,
    private readonly sites: SiteDirectory,
    private readonly logger: Logger,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Interval(60_000)
  async prune(): Promise<void> {
    // A clock that is ahead would delete claims that count again when it is set back.
    if (this.postgres.clock.problem() !== undefined) return;
    try {
      const windows = this.sites.all().map(({ site }) => dedupWindowOf(site.settings, this.settings.dedupWindowMs));
      await pruneClaims(this.postgres, new Date(this.postgres.clock.nowMs() - Math.max(0, ...windows)));
    } catch (error) {
      this.logger.warn('Pruning expired dedup claims failed; retrying in 60 s', { error: messageOf(error) });
    }
  }
}

export async function pruneClaims(postgres: Postgres, before: Date): Promise<number> {
  for (let total = 0; ; ) {
    const { rows } = await postgres.pool.query<{ pruned: number }>('SELECT cc.prune_claims($1, $2) AS pruned', [
      before,
      BATCH_ROWS,
    ]);
    const pruned = rows[0]?.pruned ?? 0;
    total += pruned;
    if (pruned < BATCH_ROWS) return total;
  }
}
