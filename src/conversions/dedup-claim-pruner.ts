import { Inject, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { dedupWindowOf } from './dedup-window.js';

const SLICE_ROWS = 500;

/** Forgets claims that no site's window reaches back to, in slices, so that no append waits long behind it. */
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
    try {
      const windows = this.sites.all().map(({ site }) => dedupWindowOf(site.settings, this.settings.dedupWindowMs));
      await pruneClaims(this.postgres, new Date(Date.now() - Math.max(0, ...windows)));
    } catch (error) {
      this.logger.warn('Old claims could not be pruned; trying again in a minute', { error: messageOf(error) });
    }
  }
}

export async function pruneClaims(postgres: Postgres, before: Date): Promise<number> {
  for (let total = 0; ; ) {
    const { rows } = await postgres.pool.query<{ pruned: number }>('SELECT cc.prune_claims($1, $2) AS pruned', [
      before,
      SLICE_ROWS,
    ]);
    const pruned = rows[0]?.pruned ?? 0;
    total += pruned;
    if (pruned < SLICE_ROWS) return total;
  }
}
