import { type ReaderHold, withReaderHold } from '../log/retention-holds.js';
import type { Postgres } from '../postgres/postgres.js';
import { type ExportJob, exportEvents } from './event-export.js';
import type { EventFilter } from './event-filter.js';
import type { ExportCheckpoint } from './export-file.js';
import { FORMATS, type FormatName } from './export-formats.js';
import { withClient } from './with-client.js';

export interface ExportRun extends Pick<ExportJob, 'write' | 'progress' | 'pageEvents'> {
  readonly format: FormatName;
  /** Progress of an earlier, interrupted process; undefined to start at the beginning. */
  readonly resumeFrom?: Omit<ExportCheckpoint, 'bytes'> | undefined;
  /** Ends the export at once, also while it waits for the database. */
  readonly signal?: AbortSignal | undefined;
  /** Before the first event is read; may throw if events that are needed were removed. */
  onHold(hold: ReaderHold): void;
  /** After the last event is written, and it is certain that retention has removed none meanwhile. */
  finish?(): Promise<void>;
}

/** Exports the events that match the filter while retention keeps them. Returns their number. */
export function runExport(postgres: Postgres, filter: EventFilter, run: ExportRun): Promise<number> {
  const { format, resumeFrom, signal, onHold, finish, ...job } = run;
  return withClient(postgres, 'export', signal, (client) =>
    withReaderHold(postgres, 'events export', resumeFrom?.position ?? filter.after, async (hold) => {
      onHold(hold);
      const encoder = FORMATS[format](resumeFrom !== undefined, resumeFrom?.state);
      const events = await exportEvents({ ...job, client, filter, format: encoder, resumeFrom });
      await hold.confirm();
      await finish?.();
      return events;
    }),
  );
}
