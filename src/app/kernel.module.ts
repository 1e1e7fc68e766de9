import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { HotRoutes } from '../http/hot-routes.js';
import { Logger } from '../kernel/logger.js';
import { Sealer } from '../kernel/sealing.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { Postgres } from '../postgres/postgres.js';

export interface Kernel {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly sealer: Sealer;
  readonly postgres: Postgres;
  readonly hotRoutes: HotRoutes;
}

/** What every room stands on. It is opened before Nest starts, so that a bad setting is one clear line and no stack. */
@Global()
@Module({})
export class KernelModule {
  static with(kernel: Kernel): DynamicModule {
    const providers = [
      { provide: SETTINGS, useValue: kernel.settings },
      { provide: Logger, useValue: kernel.logger },
      { provide: Sealer, useValue: kernel.sealer },
      { provide: Postgres, useValue: kernel.postgres },
      { provide: HotRoutes, useValue: kernel.hotRoutes },
      { provide: Registry, useValue: new Registry() },
    ];
    return { module: KernelModule, providers, exports: providers.map(({ provide }) => provide) };
  }
}
