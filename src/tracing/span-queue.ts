import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { DroppedSpans } from './dropped-spans.js';

/** OpenTelemetry's queue of spans, which drops what exceeds it without telling: what is dropped is counted here. */
export class SpanQueue implements SpanProcessor {
  private waiting = 0;
  private readonly batches: SpanProcessor;

  /**
   * @param max spans that wait at most
   * @param batching makes OpenTelemetry's queue of this size, which hands its spans to the exporter
   */
  constructor(
    exporter: SpanExporter,
    private readonly dropped: DroppedSpans,
    private readonly max: number,
    batching: (exporter: SpanExporter, max: number) => SpanProcessor,
  ) {
    const leaving: SpanExporter = {
      export: (spans, done) => {
        this.waiting -= spans.length;
        exporter.export(spans, done);
      },
      forceFlush: async () => exporter.forceFlush?.(),
      shutdown: () => exporter.shutdown(),
    };
    this.batches = batching(leaving, max);
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.waiting >= this.max) {
      this.dropped.add(1);
      return;
    }
    this.waiting += 1;
    this.batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.batches.shutdown();
  }
}
