import { jest } from '@jest/globals';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import { DroppedSpans } from './dropped-spans.js';
import { SpanQueue } from './span-queue.js';

const MAX = 8;
const span = { spanContext: () => ({ traceFlags: 1 }), resource: {} } as unknown as ReadableSpan;

describe('the queue of spans', () => {
  let lines: unknown[];
  let exported: number;
  /** Ends the export that runs. */
  let finish: (() => void)[];
  let dropped: DroppedSpans;
  let queue: SpanQueue;

  beforeEach(() => {
    jest.useFakeTimers();
    [lines, exported, finish] = [[], 0, []];
    dropped = new DroppedSpans({ warn: (...line: unknown[]) => void lines.push(line) });
    const exporter: SpanExporter = {
      export: (spans, done) => {
        exported += spans.length;
        finish.push(() => done({ code: 0 }));
      },
      shutdown: async () => {},
    };
    queue = new SpanQueue(exporter, dropped, MAX, (each, maxQueueSize) => {
      return new BatchSpanProcessor({ exporter: each, maxQueueSize, exportTimeoutMillis: 3_600_000 });
    });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const record = (count: number) => {
    for (let at = 0; at < count; at += 1) queue.onEnd(span);
  };

  it('counts what exceeds it, and logs the number once a minute', () => {
    record(MAX + 3);
    // A full queue is exported at once, so that as many fit again; the export does not end.
    const first = dropped.total;
    record(2 * MAX);
    expect(exported + MAX + dropped.total).toBe(3 * MAX + 3);
    expect(dropped.total).toBeGreaterThan(first);
    expect(lines).toEqual([]);
    jest.advanceTimersByTime(60_000);
    expect(lines).toEqual([[expect.stringMatching(/^Spans were dropped: .*OTEL_/), { dropped: dropped.total }]]);
    record(2);
    jest.advanceTimersByTime(59_000);
    expect(lines).toHaveLength(1);
    jest.advanceTimersByTime(1_000);
    expect(lines[1]).toEqual([expect.any(String), { dropped: 2 }]);
    jest.advanceTimersByTime(600_000);
    expect(lines).toHaveLength(2);
  });

  it('accepts spans again when an export has made room', async () => {
    record(3 * MAX);
    const before = dropped.total;
    expect(before).toBeGreaterThan(0);
    for (let turn = 0; turn < 5; turn += 1) {
      for (const done of finish.splice(0)) done();
      await jest.advanceTimersByTimeAsync(10_000);
    }
    record(1);
    expect(dropped.total).toBe(before);
  });

  it('logs the rest when it is asked to, and nothing without a drop', () => {
    dropped.report();
    expect(lines).toEqual([]);
    dropped.add(5);
    dropped.report();
    expect(lines).toEqual([[expect.any(String), { dropped: 5 }]]);
    jest.advanceTimersByTime(600_000);
    expect(lines).toHaveLength(1);
  });
});
