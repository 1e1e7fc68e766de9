import { Inject, Injectable, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { messageOf } from '../../kernel/errors.js';
import { Logger } from '../../kernel/logger.js';
import { SETTINGS, type Settings } from '../../kernel/settings/settings.js';
import { openHttpClient } from '../../outbound/pusher.js';
import { SiteDirectory } from '../../sites/site-directory.js';
import { SitesModule } from '../../sites/sites.module.js';
import type { Services } from '../services.js';
import { SERVICES } from '../services.providers.js';
import { AlertStore } from './alert-store.js';
import { AlertWatch } from './alert-watch.js';
import { channelSecrets, readChannels } from './channels.js';
import { observe } from './observe.js';
import { attemptMs, senderOf } from './operate-channels.js';
import { sendMessage } from './send-message.js';

@Injectable()
export class Alerts implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly httpClient;
  private readonly watch: AlertWatch;

  constructor(
    @Inject(SERVICES) services: Services,
    directory: SiteDirectory,
    @Inject(SETTINGS) settings: Settings,
    logger: Logger,
  ) {
    const { log, postgres, secrets } = services;
    this.httpClient = openHttpClient(settings);
    const transports = { httpClient: this.httpClient, smtp: settings.smtp };
    this.watch = new AlertWatch(postgres, new AlertStore(postgres), {
      everyMs: settings.intervals.alertMs,
      holdMs: settings.intervals.alertHoldMs,
      attemptMs: attemptMs(settings),
      channels: () => readChannels(log),
      observe: async (nowMs) => {
        if (!directory.isFresh()) await directory.refresh();
        return observe(
          services,
          directory.all().map(({ site }) => site),
          nowMs,
        );
      },
      send: async (channel, message, mayGo) => {
        const opened = (await channelSecrets(secrets))(channel);
        const of = { channel, secrets: opened, sender: senderOf(settings) };
        return sendMessage(transports, of, message, postgres.clock.nowMs(), mayGo);
      },
      onError: (error) => logger.warn('Alerts failed; retrying', { error: messageOf(error) }),
    });
  }

  onApplicationBootstrap(): void {
    this.watch.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.watch.stop();
    await this.httpClient.close();
  }
}

/** Tells people what needs attention. */
@Module({ imports: [SitesModule], providers: [Alerts] })
export class AlertsModule {}
