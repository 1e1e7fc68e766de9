import { randomUUID } from 'node:crypto';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { Interval } from '@nestjs/schedule';
import { CLOCK, type Clock } from '../kernel/clock.js';
import { provideCommandHandler } from '../kernel/command-handler.provider.js';
import { Logger } from '../kernel/logger.js';
import { Sealer } from '../kernel/sealing.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { EventLog } from '../log/event-log.js';
import { LogModule } from '../log/log.module.js';
import { Postgres } from '../postgres/postgres.js';
import { SITE_COMMAND_HANDLERS } from './site-command-handlers.js';
import { SiteDirectory } from './site-directory.js';
import { SiteRepository } from './site-repository.js';
import { SiteSecrets } from './site-secrets.js';

@Injectable()
export class SitesLifecycle implements OnModuleInit {
  constructor(
    private readonly directory: SiteDirectory,
    private readonly secrets: SiteSecrets,
    private readonly logger: Logger,
  ) {}

  async onModuleInit(): Promise<void> {
    const resealed = await this.secrets.resealAll();
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
  imports: [CqrsModule, LogModule],
  providers: [
    {
      provide: SiteSecrets,
      useFactory: (postgres: Postgres, sealer: Sealer) => new SiteSecrets(postgres.pool, sealer),
      inject: [Postgres, Sealer],
    },
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
    { provide: SiteRepository, useFactory: (log: EventLog) => new SiteRepository(log), inject: [EventLog] },
    ...SITE_COMMAND_HANDLERS.map((Handler) => provideCommandHandler(Handler, [SiteRepository, SiteSecrets])),
    SitesLifecycle,
  ],
  // Nest bootstraps CqrsModule before the modules that import this one, so they can execute commands when they start.
  exports: [CqrsModule, SiteSecrets, SiteDirectory],
})
export class SitesModule {}
