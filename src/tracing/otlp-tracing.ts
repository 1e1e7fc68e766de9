import { randomUUID } from 'node:crypto';
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../kernel/logger.js';
import { productVersion } from '../kernel/product-version.js';
import { parentIdOf, traceIdOf } from '../kernel/traceparent.js';
import { DroppedSpans } from './dropped-spans.js';
import { ReportedExporter } from './reported-exporter.js';
import { SpanQueue } from './span-queue.js';
import type { SpanAttributes, SpanStart, TraceSpan, Tracing } from './tracing.js';

/** An export that takes longer has failed. Meanwhile spans wait, and those that exceed the queue are dropped. */
const EXPORT_TIMEOUT_MS = 5_000;
const QUEUE_MAX = 4_096;
const KINDS = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;

export interface OtlpOptions {
  /** Base URL of the collector. */
  readonly endpoint: string;
  /** Share of the traces that are recorded, 0 to 1. */
  readonly ratio: number;
  readonly cell: string;
}

/** Exports spans with OpenTelemetry's SDK. Only imported when a collector is configured: loading it takes time and memory. */
export class OtlpTracing implements Tracing {
  readonly isOn = true;
  private readonly provider: TracerProvider;
  private readonly tracer: Tracer;
  private readonly droppedSpans: DroppedSpans;

  constructor({ endpoint, ratio, cell }: OtlpOptions, logger: Pick<Logger, 'warn' | 'info'>) {
    const exporter = new OTLPTraceExporter({
      url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
      timeoutMillis: EXPORT_TIMEOUT_MS,
    });
    this.droppedSpans = new DroppedSpans(logger);
    const version = productVersion();
    this.provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.name': 'clean-conversions',
        'service.namespace': cell,
        'service.version': version,
        'service.instance.id': randomUUID(),
      }),
      // Not based on the parent: a sender must decide neither that its requests are recorded nor that they are not.
      sampler: new TraceIdRatioBasedSampler(ratio),
      spanProcessors: [
        new SpanQueue(
          new ReportedExporter(exporter, logger, this.droppedSpans),
          this.droppedSpans,
          QUEUE_MAX,
          batching,
        ),
      ],
    });
    this.tracer = this.provider.getTracer('clean-conversions', version);
  }

  start(start: SpanStart, parent: string | undefined): TraceSpan {
    return startSpan(this.tracer, start, parent === undefined ? ROOT_CONTEXT : contextOf(parent));
  }

  get dropped(): number {
    return this.droppedSpans.total;
  }

  async stop(): Promise<void> {
    try {
      await this.provider.shutdown();
    } finally {
      this.droppedSpans.report();
    }
  }
}

function batching(exporter: SpanExporter, maxQueueSize: number): BatchSpanProcessor {
  return new BatchSpanProcessor({ exporter, maxQueueSize, exportTimeoutMillis: EXPORT_TIMEOUT_MS });
}

function contextOf(traceparent: string): Context {
  const parent = { traceId: traceIdOf(traceparent), spanId: parentIdOf(traceparent), traceFlags: 0, isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

function startSpan(tracer: Tracer, { name, kind, attributes = {} }: SpanStart, context: Context): TraceSpan {
  return new OtlpSpan(tracer, tracer.startSpan(name, { kind: KINDS[kind], attributes }, context));
}

class OtlpSpan implements TraceSpan {
  constructor(
    private readonly tracer: Tracer,
    private readonly span: Span,
  ) {}

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.span.spanContext();
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  child(start: SpanStart): TraceSpan {
    return startSpan(this.tracer, start, trace.setSpan(ROOT_CONTEXT, this.span));
  }

  end(attributes: SpanAttributes = {}, failed = false): void {
    this.span.setAttributes(attributes);
    // Without a message: an error may repeat what was sent.
    if (failed) this.span.setStatus({ code: SpanStatusCode.ERROR });
    this.span.end();
  }
}
