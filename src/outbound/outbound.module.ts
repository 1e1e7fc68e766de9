import { Injectable, Module } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { Interval } from '@nestjs/schedule';
import { Registry } from 'prom-client';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { EventLog } from '../log/event-log.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import { SitesModule } from '../sites/sites.module.js';
import { countPushes } from './outbound-metrics.js';
import { OutboundSync } from './outbound-sync.js';
import { openOutgoing, Pusher, pusherOptions } from './pusher.js';

/** Only wakes: what is due, and whose it is, is decided in the database. */
@Injectable()
export class OutboundClock {
  constructor(private readonly sync: OutboundSync) {}

  @Interval(500)
  ring(): void {
    this.sync.lookQuietly();
  }
}

@Module({
  imports: [SitesModule],
  providers: [
    {
      provide: OutboundSync,
      useFactory: (
        postgres: Postgres,
        log: EventLog,
        directory: SiteDirectory,
        secrets: SiteSecrets,
        commands: CommandBus,
        settings: Settings,
        registry: Registry,
        logger: Logger,
      ) => {
        const options = { ...pusherOptions(settings, 'system'), count: countPushes(registry) };
        const pusher = new Pusher(log, commands, openOutgoing(settings), {
          ...options,
          disabled: (site, reason) => logger.warn('A webhook is disabled until somebody enables it', { site, reason }),
        });
        return new OutboundSync(postgres.pool, directory, secrets, pusher, {
          everyMs: settings.outboundEveryMs,
          timeoutMs: settings.outboundTimeoutMs,
          fault: (site, error) => logger.warn('A push met a fault of our own', { site, error: messageOf(error) }),
        });
      },
      inject: [Postgres, EventLog, SiteDirectory, SiteSecrets, CommandBus, SETTINGS, Registry, Logger],
    },
    OutboundClock,
  ],
  exports: [OutboundSync],
})
export class OutboundModule {}
