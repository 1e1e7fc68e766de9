import { Inject, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { dedupWindowOf } from './dedup-window.js';

const SLICE_ROWS = 5_000;

/** Forgets claims that no site's window reaches back to, in slices, so that no append waits long behind it. */
@Injectable()
export class ClaimPruner {
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
  for (let pruned = 0; ; ) {
    const { rowCount } = await postgres.pool.query(
      'DELETE FROM cc.dedup WHERE ctid = ANY (ARRAY(SELECT ctid FROM cc.dedup WHERE at < $1 LIMIT $2))',
      [before, SLICE_ROWS],
    );
    pruned += rowCount ?? 0;
    if ((rowCount ?? 0) < SLICE_ROWS) return pruned;
  }
}
