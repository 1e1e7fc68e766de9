import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { PlatformSignIns } from '../authorizations/platform-sign-ins.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';

const CLEAN_EVERY_MS = 60_000;

/** Deletes the tokens of sign-ins at platforms that were not used, also if there is never another sign-in. */
@Injectable()
export class SignInCleaning implements OnApplicationBootstrap, OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;

  constructor(
    private readonly signIns: PlatformSignIns,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.clean();
    this.timer = setInterval(() => this.clean(), CLEAN_EVERY_MS);
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  private clean(): void {
    this.running ??= this.signIns
      .clean()
      // The database is unreachable: the next round tries again.
      .catch((error: unknown) => this.logger.warn('Old sign-ins were not deleted', { error: messageOf(error) }))
      .finally(() => {
        this.running = undefined;
      });
  }
}
