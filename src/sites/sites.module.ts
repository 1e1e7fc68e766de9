import { randomUUID } from 'node:crypto';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { Interval } from '@nestjs/schedule';
import { CLOCK, type Clock } from '../kernel/clock.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { EventLog } from '../log/event-log.js';
import { SiteDirectory } from './site-directory.js';
import { SiteSecrets } from './site-secrets.js';

@Injectable()
export class SitesLifecycle implements OnModuleInit {
  constructor(
    private readonly directory: SiteDirectory,
    private readonly secrets: SiteSecrets,
    private readonly logger: Logger,
  ) {}

  async onModuleInit(): Promise<void> {
    const resealed = await this.secrets.reencryptAll();
    if (resealed > 0)
      this.logger.info('Sealed with SECRET_KEY all secrets that only SECRET_KEY_PREVIOUS opened', { resealed });
    await this.directory.start();
  }

  @Interval(60_000)
  flushFailures(): void {
    this.directory.flushFailures();
  }
}

@Module({
  imports: [CqrsModule],
  providers: [
    {
      provide: SiteDirectory,
      useFactory: (log: EventLog, secrets: SiteSecrets, settings: Settings, logger: Logger, clock: Clock) =>
        new SiteDirectory(log, secrets, {
          ...settings,
          instance: randomUUID(),
          clock,
          warn: (line) => logger.warn(line),
        }),
      inject: [EventLog, SiteSecrets, SETTINGS, Logger, CLOCK],
    },
    SitesLifecycle,
  ],
  // Nest bootstraps CqrsModule before the modules that import this one, so they can execute commands when they start.
  exports: [CqrsModule, SiteDirectory],
})
export class SitesModule {}
