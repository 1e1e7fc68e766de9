import { type DynamicModule, Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Registry } from 'prom-client';
import { HotRoutes } from '../http/hot-routes.js';
import { CLOCK } from '../kernel/clock.js';
import { Logger } from '../kernel/logger.js';
import { Sealer } from '../kernel/sealing.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { Shutdown } from '../kernel/shutdown.js';
import { Postgres } from '../postgres/postgres.js';
import { Tracing } from '../tracing/tracing.js';

/** Share of the grace period that is left when the wait for the collector to accept the last spans ends. */
const TRACING_SHARE = 0.02;

export interface Kernel {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly sealer: Sealer;
  readonly postgres: Postgres;
  readonly hotRoutes: HotRoutes;
  readonly shutdown: Shutdown;
  readonly tracing: Tracing;
}

/**
 * What every module uses. It is opened before Nest starts, so that an invalid setting is reported in one line without a
 * stack trace. Global modules stop last, so PostgreSQL closes after everything that uses it.
 */
@Global()
@Module({})
export class KernelModule implements OnApplicationShutdown {
  static with(kernel: Kernel): DynamicModule {
    const providers = [
      { provide: SETTINGS, useValue: kernel.settings },
      { provide: Logger, useValue: kernel.logger },
      { provide: Sealer, useValue: kernel.sealer },
      { provide: Postgres, useValue: kernel.postgres },
      { provide: CLOCK, useValue: kernel.postgres.clock },
      { provide: HotRoutes, useValue: kernel.hotRoutes },
      { provide: Shutdown, useValue: kernel.shutdown },
      { provide: Tracing, useValue: kernel.tracing },
      { provide: Registry, useValue: new Registry() },
    ];
    return { module: KernelModule, providers, exports: providers.map(({ provide }) => provide) };
  }

  constructor(
    private readonly postgres: Postgres,
    private readonly shutdown: Shutdown,
    private readonly tracing: Tracing,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    // A collector that hangs must not use up the time that the database needs to close.
    const traced = this.shutdown.within(this.tracing.stop(), TRACING_SHARE);
    // They use the embedded server, which stops when it has no users left.
    await this.shutdown.within(this.shutdown.companionsStopped(), 0.03);
    await this.shutdown.within(this.postgres.close(), 0);
    await traced;
  }
}
