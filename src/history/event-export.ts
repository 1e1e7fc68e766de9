import type { ClientBase } from 'pg';
import type { EventFilter } from './event-filter.js';
import type { Mark } from './export-file.js';
import type { ExportFormat } from './export-formats.js';

export interface ExportJob {
  readonly client: ClientBase;
  readonly filter: EventFilter;
  readonly format: ExportFormat;
  /** What an earlier process has done of it. */
  readonly begun: Pick<Mark, 'position' | 'events'> | undefined;
  /** `mark` tells how far everything is written, with these bytes. */
  write(bytes: Uint8Array, mark: () => Omit<Mark, 'bytes'>): Promise<void>;
  /** Called after each page; may throw to stop. */
  progress(events: number, position: number): void;
}

/** Writes down all that the filter leaves, page by page; the next page is read while the last one is being written. */
export async function exportEvents({ client, filter, format, begun, write, progress }: ExportJob): Promise<number> {
  let position = begun?.position ?? filter.after;
  let events = begun?.events ?? 0;
  let writing: Promise<void> = Promise.resolve();
  try {
    for (let isLast = false; !isLast; ) {
      const page = await filter.copyPage(client, position, (row) => format.add(row));
      ({ position, isLast } = page);
      events += page.events;
      await writing;
      const reached = { position, events };
      writing = write(format.take(), () => ({ ...reached, ...(format.state && { state: format.state() }) }));
      // Heard where it is waited for; until then it must not be taken for one that nobody hears.
      writing.catch(() => {});
      progress(events, position);
    }
  } finally {
    // Also when somebody stopped it: what is being written is what a later process goes on with.
    await writing.catch(() => {});
  }
  await writing;
  await write(format.end(), () => ({ position, events }));
  return events;
}
