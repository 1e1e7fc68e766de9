import { LineBuffer, type LoggedRow } from '../log/event-row.js';
import { ParquetFormat } from './parquet-format.js';
import { isShownWhole, type ShownEvent, shown } from './shown.js';

/** How events are written down. Rows are added one by one, and what they made is taken page by page. */
export interface ExportFormat {
  add(row: LoggedRow): void;
  take(): Uint8Array;
  /** What belongs behind the last page. */
  end(): Uint8Array;
  /** What a later process needs, besides the bytes taken so far, to go on after them; JSON. */
  state?(): unknown;
}

export const FORMATS = {
  ndjson: () => new NdjsonFormat(),
  csv: (isBegun: boolean) => new CsvFormat(isBegun),
  parquet: (_: boolean, state?: unknown) => new ParquetFormat(state),
} as const satisfies Record<string, (isBegun: boolean, state?: unknown) => ExportFormat>;
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

const NOTHING = new Uint8Array();

class NdjsonFormat implements ExportFormat {
  private readonly lines = new LineBuffer();

  add(row: LoggedRow): void {
    if (isShownWhole(row.type)) row.writeLine(this.lines);
    else this.lines.text(`${JSON.stringify(shown(row.event()))}\n`);
  }

  take(): Uint8Array {
    return this.lines.take();
  }

  end(): Uint8Array {
    return NOTHING;
  }
}

/** RFC 4180. `data` and `personal` are JSON in their cell, so that reading them back gives what was written. */
class CsvFormat implements ExportFormat {
  private readonly lines = new LineBuffer();

  constructor(isBegun: boolean) {
    if (!isBegun) this.lines.text(`${COLUMNS.join(',')}\r\n`);
  }

  add(row: LoggedRow): void {
    const event = shown(row.event());
    this.lines.text(`${COLUMNS.map((column) => cell(textOf(event, column))).join(',')}\r\n`);
  }

  take(): Uint8Array {
    return this.lines.take();
  }

  end(): Uint8Array {
    return NOTHING;
  }
}

function textOf(event: ShownEvent, column: (typeof COLUMNS)[number]): string {
  return column === 'data' || column === 'personal' ? JSON.stringify(event[column]) : String(event[column]);
}

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
