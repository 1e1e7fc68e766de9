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

/** Only triggers a check: leases in the database decide what is due and which instance acts. */
@Injectable()
export class OutboundScheduler {
  constructor(private readonly sync: OutboundSync) {}

  @Interval(500)
  check(): void {
    this.sync.checkQuietly();
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
          disabled: (site, reason) =>
            logger.warn('Webhook disabled until it is enabled again with "webhook enable"', { site, reason }),
        });
        return new OutboundSync(postgres.pool, directory, secrets, pusher, {
          everyMs: settings.outboundEveryMs,
          timeoutMs: settings.outboundTimeoutMs,
          onError: (site, error) =>
            logger.warn('Push failed with an internal error', { site, error: messageOf(error) }),
        });
      },
      inject: [Postgres, EventLog, SiteDirectory, SiteSecrets, CommandBus, SETTINGS, Registry, Logger],
    },
    OutboundScheduler,
  ],
  exports: [OutboundSync],
})
export class OutboundModule {}
