import type { ImportCounts } from '../../conversions/import/import-run.js';
import type { SourceBytes } from '../../conversions/import/source-bytes.js';
import { formatDuration } from '../../kernel/durations.js';
import { type LogUnavailable, SitePaused } from '../../kernel/errors.js';
import { type Output, progressBar } from './output.js';

const SHOW_EVERY_MS = 200;

/** Rows, rate and, of a file, the remaining time, on a terminal. */
export class ImportProgress {
  private readonly startedMs = performance.now();
  private shownMs = Number.NEGATIVE_INFINITY;
  private waitingFor: 'site' | 'database' | undefined;

  constructor(
    private readonly output: Output,
    private readonly bytes: Pick<SourceBytes, 'bytesRead' | 'totalBytes'>,
  ) {}

  show(counts: Readonly<ImportCounts>): void {
    const nowMs = performance.now();
    if (nowMs - this.shownMs < SHOW_EVERY_MS) return;
    this.shownMs = nowMs;
    const lines = counts.accepted + counts.deduplicated + counts.filtered + counts.rejected;
    this.output.progress(
      describeProgress(lines, nowMs - this.startedMs, this.bytes.bytesRead(), this.bytes.totalBytes),
    );
  }

  /** Said once per outage, and again when something else is waited for. */
  waiting(round: number, error: LogUnavailable): void {
    const waitingFor = error instanceof SitePaused ? 'site' : 'database';
    if (round > 0 && waitingFor === this.waitingFor) return;
    this.waitingFor = waitingFor;
    this.output.note(`Waiting for the ${waitingFor}: ${error.message}`);
  }
}

function describeProgress(lines: number, elapsedMs: number, bytes: number, totalBytes: number | undefined): string {
  const rate = elapsedMs > 0 ? Math.round((lines * 1_000) / elapsedMs) : 0;
  const figures = `${lines.toLocaleString('en-US')} lines, ${rate.toLocaleString('en-US')}/s`;
  if (!totalBytes) return figures;
  const done = Math.min(1, bytes / totalBytes);
  const leftS = done > 0 ? Math.ceil(((elapsedMs / done) * (1 - done)) / 1_000) : undefined;
  return `${progressBar(done)} ${figures}${leftS === undefined ? '' : `, ${formatDuration(leftS * 1_000)} left`}`;
}
