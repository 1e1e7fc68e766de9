import { randomUUID } from 'node:crypto';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Logger } from '../kernel/logger.js';
import { Sealer } from '../kernel/sealing.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { EventLog } from '../log/event-log.js';
import { LogModule } from '../log/log.module.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteDirectory } from './site-directory.js';
import { openSecrets, SiteSecrets } from './site-secrets.js';

@Injectable()
export class DirectoryKeeper implements OnModuleInit {
  constructor(
    private readonly directory: SiteDirectory,
    private readonly secrets: SiteSecrets,
    private readonly logger: Logger,
  ) {}

  async onModuleInit(): Promise<void> {
    const resealed = await this.secrets.resealAll();
    if (resealed > 0)
      this.logger.info('Sealed anew with SECRET_KEY what only SECRET_KEY_PREVIOUS opened', { resealed });
    await this.directory.start();
  }

  @Interval(60_000)
  sumUpFailures(): void {
    this.directory.sumUpFailures(Date.now());
  }
}

@Module({
  imports: [LogModule],
  providers: [
    {
      provide: SiteSecrets,
      useFactory: (postgres: Postgres, sealer: Sealer, settings: Settings) =>
        openSecrets(postgres.pool, sealer, settings),
      inject: [Postgres, Sealer, SETTINGS],
    },
    {
      provide: SiteDirectory,
      useFactory: (log: EventLog, secrets: SiteSecrets, settings: Settings, logger: Logger) =>
        new SiteDirectory(log, secrets, { ...settings, instance: randomUUID(), warn: (line) => logger.warn(line) }),
      inject: [EventLog, SiteSecrets, SETTINGS, Logger],
    },
    DirectoryKeeper,
  ],
  exports: [SiteSecrets, SiteDirectory],
})
export class SitesModule {}
