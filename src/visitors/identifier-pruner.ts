import { Inject, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { EventLog } from '../log/event-log.js';
import { Postgres } from '../postgres/postgres.js';
import { type CopiedProgress, expireClicked, expireUnidentified } from './erasure/expiry.js';
import { pruneIdentifiers } from './prune-identifiers.js';

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

  @Interval(60_000)
  async prune(): Promise<void> {
    // What is deleted by a wrong clock does not come back.
    if (this.postgres.clock.problem() !== undefined) return;
    try {
      const nowMs = this.postgres.clock.nowMs();
      await pruneIdentifiers(this.postgres, new Date(nowMs - this.settings.identifierTtlMs));
      const before = new Date(nowMs - this.settings.unidentifiedTtlMs);
      await expireUnidentified(this.postgres, this.log, before, this.copied);
      // Not before the rows that were made of them, which a rebuild would make again.
      const oldest = Math.max(this.settings.identifierTtlMs, this.settings.unidentifiedTtlMs);
      await expireClicked(this.postgres, this.log, new Date(nowMs - oldest), this.copiedClicks);
    } catch (error) {
      this.logger.warn('Pruning expired identifiers failed; retrying in a minute', { error: messageOf(error) });
    }
  }
}
