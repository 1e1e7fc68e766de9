import { Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { HotRoutes } from '../http/hot-routes.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { SitesModule } from '../sites/sites.module.js';
import { Forwarding } from './forwarding.js';
import { ForwardingMetrics } from './forwarding-metrics.js';

@Module({
  imports: [SitesModule],
  providers: [
    ForwardingMetrics,
    {
      provide: Forwarding,
      useFactory: (sites: SiteDirectory, metrics: ForwardingMetrics, logger: Logger, settings: Settings) =>
        new Forwarding(sites, metrics, logger, settings),
      inject: [SiteDirectory, ForwardingMetrics, Logger, SETTINGS],
    },
  ],
})
export class ForwardingModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly forwarding: Forwarding,
    private readonly hotRoutes: HotRoutes,
  ) {}

  onModuleInit(): void {
    this.forwarding.start(this.hotRoutes);
  }

  onApplicationShutdown(): void {
    this.forwarding.stop();
  }
}
