import { LineBuffer, type LoggedRow } from '../log/event-row.js';
import { ParquetFormat } from './parquet-format.js';
import { isRedacted, type RedactedEvent, redactEvent } from './redact-event.js';

/** Encodes events. Rows are added one at a time; the encoded bytes are taken page by page. */
export interface ExportFormat {
  add(row: LoggedRow): void;
  take(): Uint8Array;
  /** The bytes after the last page. */
  end(): Uint8Array;
  /** The state, as JSON, that a later process needs to append to the bytes taken so far. */
  state?(): unknown;
}

export const FORMATS = {
  ndjson: () => new NdjsonFormat(),
  csv: (isResumed: boolean) => new CsvFormat(isResumed),
  parquet: (_: boolean, state?: unknown) => new ParquetFormat(state),
} as const satisfies Record<string, (isResumed: boolean, state?: unknown) => ExportFormat>;
export type FormatName = keyof typeof FORMATS;

export const COLUMNS = [
  'position',
  'id',
  'type',
  'stream',
  'version',
  'site',
  'time',
  'actor',
  'data',
  'personal',
] as const;

const NO_BYTES = new Uint8Array();

class NdjsonFormat implements ExportFormat {
  private readonly lines = new LineBuffer();

  add(row: LoggedRow): void {
    if (isRedacted(row.type)) this.lines.text(`${JSON.stringify(redactEvent(row.event()))}\n`);
    else row.writeLine(this.lines);
  }

  take(): Uint8Array {
    return this.lines.take();
  }

  end(): Uint8Array {
    return NO_BYTES;
  }
}

/** RFC 4180. `data` and `personal` are JSON in their cells, so that they can be parsed back without loss. */
class CsvFormat implements ExportFormat {
  private readonly lines = new LineBuffer();

  constructor(isResumed: boolean) {
    if (!isResumed) this.lines.text(`${COLUMNS.join(',')}\r\n`);
  }

  add(row: LoggedRow): void {
    const event = redactEvent(row.event());
    this.lines.text(`${COLUMNS.map((column) => cell(textOf(event, column))).join(',')}\r\n`);
  }

  take(): Uint8Array {
    return this.lines.take();
  }

  end(): Uint8Array {
    return NO_BYTES;
  }
}

function textOf(event: RedactedEvent, column: (typeof COLUMNS)[number]): string {
  return column === 'data' || column === 'personal' ? JSON.stringify(event[column]) : String(event[column]);
}

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
