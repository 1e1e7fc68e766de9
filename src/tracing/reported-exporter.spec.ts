import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { DroppedSpans } from './dropped-spans.js';
import { ReportedExporter } from './reported-exporter.js';

describe('a collector that accepts no spans', () => {
  it('is logged once, and once more when it accepts them again', () => {
    const lines: string[] = [];
    const results = [1, 1, 0, 0, 1];
    const exporter = {
      export: (_, done) => done({ code: results.shift() as number, error: new Error('connect ECONNREFUSED') }),
    } as SpanExporter;
    const logger = {
      warn: (message: string, ...rest: unknown[]) => void lines.push(`${message} ${JSON.stringify(rest)}`),
      info: (message: string) => void lines.push(message),
    };
    const dropped = new DroppedSpans(logger);
    const reported = new ReportedExporter(exporter, logger, dropped);
    const codes: number[] = [];
    for (let count = 0; count < 5; count += 1)
      reported.export([{}, {}] as ReadableSpan[], ({ code }) => codes.push(code));
    expect(codes).toEqual([1, 1, 0, 0, 1]);
    expect(dropped.total).toBe(6);
    dropped.report();
    expect(lines).toEqual([
      expect.stringMatching(/OTEL_EXPORTER_OTLP_ENDPOINT .*ECONNREFUSED/),
      'The collector accepts spans again',
      expect.stringMatching(/OTEL_EXPORTER_OTLP_ENDPOINT/),
      expect.stringMatching(/^Spans were dropped: .*"dropped":6/),
    ]);
  });
});
