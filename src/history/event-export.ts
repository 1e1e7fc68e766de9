import type { ClientBase } from 'pg';
import type { EventFilter, PageLimits } from './event-filter.js';
import type { ExportProgress } from './export-file.js';
import type { ExportFormat } from './export-formats.js';

export interface ExportJob {
  readonly client: ClientBase;
  readonly filter: EventFilter;
  readonly format: ExportFormat;
  /** What is held in memory at a time, twice: a page is read while the one before is written. */
  readonly pageLimits: PageLimits;
  /** Progress of an earlier, interrupted process; undefined to start at the beginning. */
  readonly resumeFrom: Pick<ExportProgress, 'position' | 'events' | 'complete'> | undefined;
  /** `reached` returns the progress that these bytes complete. */
  write(bytes: Uint8Array, reached: () => Omit<ExportProgress, 'bytes'>): Promise<void>;
  /** Called after each page; may throw to stop the export. */
  progress(events: number, position: number): void;
}

/** Writes all events that match the filter, page by page. The next page is read while the previous one is being written. */
export async function exportEvents({
  client,
  filter,
  format,
  pageLimits,
  resumeFrom,
  write,
  progress,
}: ExportJob): Promise<number> {
  if (resumeFrom?.complete) return resumeFrom.events;
  let position = resumeFrom?.position ?? filter.after;
  let events = resumeFrom?.events ?? 0;
  let limit = pageLimits.events;
  let writing: Promise<void> = Promise.resolve();
  try {
    for (let isLast = false; !isLast; ) {
      const limits = { ...pageLimits, events: limit };
      const page = await filter.copyPage(client, position, (row) => format.add(row), limits);
      ({ position, isLast } = page);
      // Where events are large, asks for about as many as fit, so that few are read in vain.
      limit = page.isFull ? page.events : Math.min(pageLimits.events, limit * 2);
      events += page.events;
      await writing;
      const reached = { position, events };
      writing = write(format.take(), () => ({ ...reached, ...(format.state && { state: format.state() }) }));
      // The error is handled where `writing` is awaited. Until then Node.js must not report an unhandled rejection.
      writing.catch(() => {});
      progress(events, position);
    }
  } finally {
    // Also when `progress` has thrown: a later process resumes after the page that is being written.
    await writing.catch(() => {});
  }
  await writing;
  await write(format.end(), () => ({ position, events, complete: true }));
  return events;
}
