import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Registry } from 'prom-client';
import { FIND_CHANGES } from '../delivery/decided.js';
import { HotRoutes } from '../http/hot-routes.js';
import { Logger } from '../kernel/logger.js';
import { Shutdown } from '../kernel/shutdown.js';
import { RecentEvents } from '../log/recent-events.js';
import { Tracing } from '../tracing/tracing.js';
import { findChanges } from '../visitors/find-opt-outs.js';
import { PartitionMaintenance } from './partition-maintenance.js';
import type { Services } from './services.js';
import { provideServices, SERVICES } from './services.providers.js';

/** Share of the grace period that is left when the wait for the collector to accept the last spans ends. */
const TRACING_SHARE = 0.02;

export interface Kernel {
  readonly services: Services;
  readonly logger: Logger;
  readonly hotRoutes: HotRoutes;
  readonly shutdown: Shutdown;
  readonly tracing: Tracing;
  readonly registry: Registry;
  readonly recent: RecentEvents;
}

/**
 * What every module uses. It is created before Nest starts, so that an invalid setting is reported in one line without a
 * stack trace. Global modules start first and stop last, so the projections run, and the log and PostgreSQL are open, as long as
 * anything uses them.
 */
@Global()
@Module({})
export class KernelModule implements OnApplicationBootstrap, OnApplicationShutdown {
  static with({ services, logger, hotRoutes, shutdown, tracing, registry, recent }: Kernel): DynamicModule {
    const providers = [
      ...provideServices(services),
      { provide: Logger, useValue: logger },
      { provide: HotRoutes, useValue: hotRoutes },
      { provide: Shutdown, useValue: shutdown },
      { provide: Tracing, useValue: tracing },
      { provide: Registry, useValue: registry },
      { provide: RecentEvents, useValue: recent },
      // Deliveries ask who has opted out, which visitors know: that folder is above theirs.
      { provide: FIND_CHANGES, useValue: findChanges(services.postgres) },
    ];
    return {
      module: KernelModule,
      providers: [...providers, PartitionMaintenance],
      exports: providers.map(({ provide }) => provide),
    };
  }

  constructor(
    @Inject(SERVICES) private readonly services: Services,
    private readonly shutdown: Shutdown,
    private readonly tracing: Tracing,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { projections, settings } = this.services;
    await projections.start(settings.intervals.foldMs);
  }

  async onApplicationShutdown(): Promise<void> {
    const { shutdown } = this;
    const { projections, log, postgres } = this.services;
    await shutdown.within(projections.stop(), 0.1);
    await shutdown.within(log.close(), 0.05);
    // A collector that hangs must not use up the time that the database needs to close.
    const traced = shutdown.within(this.tracing.stop(), TRACING_SHARE);
    // They use the embedded server, which stops when it has no users left.
    await shutdown.within(shutdown.companionsStopped(), 0.03);
    await shutdown.within(postgres.close(), 0);
    await traced;
  }
}
