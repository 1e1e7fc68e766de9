import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { messageOf } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';
import type { DroppedSpans } from './dropped-spans.js';

type Result = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** Logs that the collector does not accept spans, and when it does again: once each, not for every export. */
export class ReportedExporter implements SpanExporter {
  private isFailing = false;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly logger: Pick<Logger, 'warn' | 'info'>,
    private readonly dropped: DroppedSpans,
  ) {}

  export(spans: ReadableSpan[], done: (result: Result) => void): void {
    this.exporter.export(spans, (result) => {
      if (result.code !== 0) this.dropped.add(spans.length);
      this.report(result);
      done(result);
    });
  }

  forceFlush(): Promise<void> {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  private report({ code, error }: Result): void {
    const hasFailed = code !== 0;
    if (hasFailed === this.isFailing) return;
    this.isFailing = hasFailed;
    if (hasFailed)
      this.logger.warn('The collector accepts no spans, so they are dropped; check OTEL_EXPORTER_OTLP_ENDPOINT', {
        error: messageOf(error ?? 'no reason given'),
      });
    else this.logger.info('The collector accepts spans again');
  }
}
