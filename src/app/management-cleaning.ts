import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { PlatformSignIns } from '../authorizations/platform-sign-ins.js';
import { JobStore } from '../jobs/job-store.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { Sealer } from '../kernel/sealing.js';
import { Postgres } from '../postgres/postgres.js';
import { IdempotencyKeys } from '../users/idempotency-keys.js';
import { SignInThrottle } from '../users/sign-in-throttle.js';

/**
 * Deletes what the management API keeps for a while: files of exports, tokens of sign-ins at platforms that were not used, and
 * answers to writes with an `Idempotency-Key`, which may have secrets, and attempts to sign in. The service does it, because `ADMIN_PORT=off` may be set while there are some.
 */
@Injectable()
export class ManagementCleaning {
  constructor(
    private readonly postgres: Postgres,
    private readonly sealer: Sealer,
    private readonly logger: Logger,
  ) {}

  @Interval(30_000)
  async clean(): Promise<void> {
    // Apart: tokens must not stay because files cannot be deleted.
    await this.attempt('files', new JobStore(this.postgres));
    await this.attempt('sign-ins', new PlatformSignIns(this.postgres, this.sealer));
    await this.attempt('answers', new IdempotencyKeys(this.postgres));
    await this.attempt('attempts to sign in', new SignInThrottle(this.postgres));
  }

  private async attempt(what: string, kept: { clean(): Promise<void> }): Promise<void> {
    try {
      await kept.clean();
    } catch (error) {
      this.logger.warn(`Old ${what} were not deleted; retrying in 30 s`, { error: messageOf(error) });
    }
  }
}
