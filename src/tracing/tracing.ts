/** Values of attributes are never personal data or secrets: they leave the service. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'internal' | 'client';
  readonly attributes?: SpanAttributes;
}

export interface TraceSpan {
  /** For the next service. */
  readonly traceparent: string;
  child(start: SpanStart): TraceSpan;
  end(attributes?: SpanAttributes, failed?: boolean): void;
}

/** Records spans of what the service does. None of its methods throws or waits for the collector, except `stop`. */
export abstract class Tracing {
  /** Whether a collector is configured. Callers ask first, so that nothing is made for a span that is not recorded. */
  abstract readonly isOn: boolean;
  /** Undefined while no collector is configured. `parent`: the place in the sender's trace, whose sampling flag is not obeyed. */
  abstract start(start: SpanStart, parent: string | undefined): TraceSpan | undefined;
  /** Spans that were recorded and that the collector did not get. */
  abstract readonly dropped: number;
  /** Sends what was recorded. */
  abstract stop(): Promise<void>;
}

export const NO_TRACING: Tracing = { isOn: false, dropped: 0, start: () => undefined, stop: async () => {} };

/** Ends the span with the promise. */
export async function endWith<Result>(span: TraceSpan, work: Promise<Result>): Promise<Result> {
  try {
    const result = await work;
    span.end();
    return result;
  } catch (error) {
    span.end({}, true);
    throw error;
  }
}
