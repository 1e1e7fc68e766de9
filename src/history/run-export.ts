import { type ReaderHold, withReaderHold } from '../log/retention/retention-holds.js';
import type { Postgres } from '../postgres/postgres.js';
import { type ExportJob, exportEvents } from './event-export.js';
import type { EventFilter, PageLimits } from './event-filter.js';
import type { ExportProgress } from './export-file.js';
import { type ExportContent, FORMATS, type FormatName } from './export-formats.js';
import { withReadClient } from './with-client.js';

/** A page of Parquet is a row group: readers scan few large ones faster than many small ones. */
const PAGE_LIMITS: Readonly<Record<FormatName, PageLimits>> = {
  ndjson: { events: 10_000, bytes: 16e6 },
  csv: { events: 10_000, bytes: 16e6 },
  parquet: { events: 20_000, bytes: 16e6 },
};

export interface ExportRun extends Pick<ExportJob, 'write' | 'progress'>, ExportContent {
  readonly format: FormatName;
  /** Default: as large as suits a process that does nothing else. */
  readonly pageLimits?: PageLimits | undefined;
  /** Progress of an earlier, interrupted process; undefined to start at the beginning. */
  readonly resumeFrom?: Omit<ExportProgress, 'bytes'> | undefined;
  /** Ends the export at once, also while it waits for the database. */
  readonly signal?: AbortSignal | undefined;
  /** Before the first event is read; may throw if events that are needed were removed. */
  onHold(hold: ReaderHold): void;
  /** After the last event is written, and it is certain that retention has removed none meanwhile. */
  finish?(): Promise<void>;
}

/** Exports the events that match the filter while retention keeps them. Returns their number. */
export function runExport(postgres: Postgres, filter: EventFilter, run: ExportRun): Promise<number> {
  const { format, flat, personal, pageLimits = PAGE_LIMITS[format], resumeFrom, signal, onHold, finish, ...job } = run;
  return withReadClient(postgres, 'export', signal, async (client) => {
    // In a new partition PostgreSQL expects few events, and would read and sort all that are left for each page.
    await client.query('SET enable_bitmapscan = off; SET enable_sort = off');
    return withReaderHold(postgres, 'events export', resumeFrom?.position ?? filter.after, async (hold) => {
      onHold(hold);
      const encoder = FORMATS[format]({
        flat,
        personal,
        // To a complete file nothing is added.
        isResumed: resumeFrom !== undefined && !resumeFrom.complete,
        state: resumeFrom?.state,
      });
      const events = await exportEvents({ ...job, pageLimits, client, filter, format: encoder, resumeFrom });
      await hold.confirm();
      await finish?.();
      return events;
    });
  });
}
