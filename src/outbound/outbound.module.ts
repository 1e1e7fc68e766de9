import { Inject, Injectable, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { SchedulerRegistry } from '@nestjs/schedule';
import { Registry } from 'prom-client';
import { newestCheckpoint } from '../checkpoints/checkpoints.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { EventLog } from '../log/event-log.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import { SitesModule } from '../sites/sites.module.js';
import { countDisabledWebhooks, countPushes } from './outbound-metrics.js';
import { OutboundSync } from './outbound-sync.js';
import { openHttpClient, Pusher, pusherOptions } from './pusher.js';

/** Only triggers a check: leases in the database decide what is due and which instance acts. */
@Injectable()
export class OutboundScheduler implements OnApplicationBootstrap {
  constructor(
    private readonly sync: OutboundSync,
    private readonly schedule: SchedulerRegistry,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onApplicationBootstrap(): void {
    const timer = setInterval(() => this.sync.checkQuietly(), this.settings.intervals.pushMs);
    this.schedule.addInterval('outbound sync', timer);
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
        countDisabledWebhooks(registry, directory);
        const options = {
          ...pusherOptions(settings, 'system', postgres.clock),
          count: countPushes(registry),
          checkpoint: () => newestCheckpoint(postgres.pool),
        };
        const pusher = new Pusher(log, commands, openHttpClient(settings), {
          ...options,
          disabled: (site, reason) =>
            logger.warn('Webhook disabled until it is enabled again with "webhook enable"', { site, reason }),
          incomplete: (site, removedUntil) =>
            logger.warn('A reporting window lacks events that LOG_RETENTION removed while the webhook was disabled', {
              site,
              removedUntil,
            }),
        });
        return new OutboundSync(postgres, directory, secrets, pusher, {
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
})
export class OutboundModule implements OnApplicationShutdown {
  constructor(private readonly sync: OutboundSync) {}

  async onApplicationShutdown(): Promise<void> {
    await this.sync.stop();
  }
}
