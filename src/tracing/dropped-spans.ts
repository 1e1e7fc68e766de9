import type { Logger } from '../kernel/logger.js';

const REPORT_AFTER_MS = 60_000;

/** Counts spans that were dropped. The log gets their number, at most once a minute. */
export class DroppedSpans {
  total = 0;
  private unreported = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly logger: Pick<Logger, 'warn'>) {}

  add(count: number): void {
    this.total += count;
    this.unreported += count;
    this.timer ??= setTimeout(() => this.report(), REPORT_AFTER_MS).unref();
  }

  /** Logs what was counted since the last line. */
  report(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.unreported === 0) return;
    this.logger.warn(
      'Spans were dropped: the collector did not accept them, or not as fast as they were recorded. Check OTEL_EXPORTER_OTLP_ENDPOINT, or record fewer with OTEL_TRACES_SAMPLER_ARG',
      { dropped: this.unreported },
    );
    this.unreported = 0;
  }
}
