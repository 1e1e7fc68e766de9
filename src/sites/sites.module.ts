import { randomUUID } from 'node:crypto';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Sealer } from '../kernel/sealing.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { EventLog } from '../log/event-log.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteDirectory } from './site-directory.js';
import { SiteSecrets } from './site-secrets.js';

@Injectable()
export class DirectoryKeeper implements OnModuleInit {
  constructor(private readonly directory: SiteDirectory) {}

  async onModuleInit(): Promise<void> {
    await this.directory.start();
  }

  @Interval(60_000)
  sumUpFailures(): void {
    this.directory.sumUpFailures(Date.now());
  }
}

@Module({
  providers: [
    {
      provide: SiteSecrets,
      useFactory: (postgres: Postgres, sealer: Sealer) => new SiteSecrets(postgres.pool, sealer),
      inject: [Postgres, Sealer],
    },
    {
      provide: SiteDirectory,
      useFactory: (log: EventLog, secrets: SiteSecrets, settings: Settings) =>
        new SiteDirectory(log, secrets, { ...settings, instance: randomUUID() }),
      inject: [EventLog, SiteSecrets, SETTINGS],
    },
    DirectoryKeeper,
  ],
  exports: [SiteSecrets, SiteDirectory],
})
export class SitesModule {}
