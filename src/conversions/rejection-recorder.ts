import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { Shutdown } from '../kernel/shutdown.js';
import type { Caller } from './inbound/inbound-answers.js';
import { InboundMetrics } from './inbound/inbound-metrics.js';
import type { RejectionReason } from './rejection-reason.js';
import { Rejections } from './rejections.js';

/** Share of the grace period that is left for the modules that stop later. */
const LEFT = 0.3;

/** Refused conversions of authenticated senders, in metrics and in the log: stored every minute, and before the service ends. */
@Injectable()
export class RejectionRecorder implements OnApplicationShutdown {
  constructor(
    private readonly rejections: Rejections,
    private readonly metrics: InboundMetrics,
    private readonly shutdown: Shutdown,
    private readonly logger: Logger,
  ) {}

  count({ loadedSite, key }: Caller, reason: RejectionReason): void {
    const { host } = loadedSite.site;
    this.metrics.countRejection(host, reason);
    this.rejections.count(host, `key:${key.id}`, reason);
  }

  @Interval(60_000)
  async store(): Promise<void> {
    try {
      await this.rejections.flush();
    } catch (error) {
      this.logger.warn('Storing the counts of refused conversions failed; retrying in 60 s', {
        error: messageOf(error),
      });
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.shutdown.within(this.store(), LEFT);
  }
}
