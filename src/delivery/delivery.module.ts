import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { Registry } from 'prom-client';
import { type Outcome } from '../events/delivery.events.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { EventLog } from '../log/event-log.js';
import { ProjectionRunner } from '../log/projection-runner.js';
import { platformOf } from '../platforms/index.js';
import type { Platform, PlatformName } from '../platforms/platform.js';
import { Postgres } from '../postgres/postgres.js';
import { ParkConnection, PauseConnection, ResumeConnection } from '../sites/connection.commands.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import { SitesModule } from '../sites/sites.module.js';
import { AccessTokens } from './access-tokens.js';
import { Confirmations } from './confirmations.js';
import { asConnection, Courier } from './courier.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { Dispatcher } from './dispatcher.js';
import { Retries } from './retries.js';
import { Wires } from './wires.js';

@Module({
  imports: [SitesModule],
  providers: [
    {
      provide: Wires,
      useFactory: (settings: Settings) => new Wires(settings.outboundAllowPrivate),
      inject: [SETTINGS],
    },
    {
      provide: DeliveryMetrics,
      useFactory: (registry: Registry) => new DeliveryMetrics(registry),
      inject: [Registry],
    },
    {
      provide: AccessTokens,
      useFactory: (wires: Wires, directory: SiteDirectory, secrets: SiteSecrets) => {
        const reload = async (site: string, { name }: Platform) => {
          await directory.reloadSecrets(site, name);
          const open = directory.find(site)?.connections.get(name);
          return open && asConnection(open);
        };
        return new AccessTokens({
          send: (platform, request, connection) => wires.send(platform, request, connection),
          keepRefreshToken: async (site, platform, refreshToken) => {
            await secrets.replaceSecret(site, platform.name, 'refresh_token', refreshToken);
            await reload(site, platform);
          },
          reload,
        });
      },
      inject: [Wires, SiteDirectory, SiteSecrets],
    },
    {
      provide: Courier,
      useFactory: makeCourier,
      inject: [SiteDirectory, AccessTokens, Wires, CommandBus, Logger, DeliveryMetrics, SETTINGS],
    },
    {
      provide: Confirmations,
      useFactory: (
        directory: SiteDirectory,
        wires: Wires,
        tokens: AccessTokens,
        metrics: DeliveryMetrics,
        settings: Settings,
      ) => {
        const connection = (site: string, name: PlatformName) => {
          const open = directory.find(site)?.connections.get(name);
          return open && asConnection(open);
        };
        const send: Wires['send'] = (platform, request, connection) => wires.send(platform, request, connection);
        const count = (outcome: Outcome) => metrics.count(outcome);
        return new Confirmations(
          { platform: platformOf, connection, send, count },
          tokens,
          settings.confirmationPollMs,
        );
      },
      inject: [SiteDirectory, Wires, AccessTokens, DeliveryMetrics, SETTINGS],
    },
    {
      provide: Dispatcher,
      useFactory: (
        postgres: Postgres,
        log: EventLog,
        projections: ProjectionRunner,
        courier: Courier,
        logger: Logger,
        settings: Settings,
      ) =>
        new Dispatcher(postgres, log, courier, {
          deadlineMs: settings.inboundDeadlineMs,
          say: (line) => logger.warn(line),
          foldOutcomes: () => projections.catchUp('deliveries'),
        }),
      inject: [Postgres, EventLog, ProjectionRunner, Courier, Logger, SETTINGS],
    },
    {
      provide: Retries,
      useFactory: (
        postgres: Postgres,
        log: EventLog,
        courier: Courier,
        confirmations: Confirmations,
        dispatcher: Dispatcher,
      ) => new Retries(postgres.pool, log, courier, confirmations, () => dispatcher.ownLease),
      inject: [Postgres, EventLog, Courier, Confirmations, Dispatcher],
    },
  ],
  exports: [Dispatcher, Retries, Wires],
})
export class DeliveryModule implements OnApplicationBootstrap {
  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly retries: Retries,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.dispatcher.start();
    this.retries.start();
  }
}

function makeCourier(
  directory: SiteDirectory,
  tokens: AccessTokens,
  wires: Wires,
  commands: CommandBus,
  logger: Logger,
  metrics: DeliveryMetrics,
  settings: Settings,
): Courier {
  /** The lane goes on when this process, too, has seen the change. */
  const change = async (what: string, site: string, platform: PlatformName, work: Promise<unknown>) => {
    await work;
    await directory.refresh();
    logger.warn(what, { site, platform });
  };
  return new Courier(
    directory,
    tokens,
    {
      platform: platformOf,
      send: (platform, request, connection) => wires.send(platform, request, connection),
      park: (site, name, reason) =>
        change(
          'A platform refused its credentials: the connection is parked until they are mended',
          site,
          name,
          commands.execute(new ParkConnection('system', site, name, reason)),
        ),
      pause: (site, name, reason) =>
        change(
          'A receiver wants nothing more: the connection is paused',
          site,
          name,
          commands.execute(new PauseConnection('system', site, name, reason)),
        ),
      resume: (site, name) =>
        change(
          'A parked connection works again',
          site,
          name,
          commands.execute(new ResumeConnection('system', site, name)),
        ),
      fault: (error) =>
        logger.error('A delivery met a fault of our own', { error: messageOf(error), stack: (error as Error).stack }),
      count: (outcome) => metrics.count(outcome),
    },
    {
      scheduleMs: settings.deliveryRetryScheduleMs,
      giveUpMs: settings.deliveryGiveUpMs,
      confirmationPollMs: settings.confirmationPollMs,
    },
  );
}
