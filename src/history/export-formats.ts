import { hasUnpublished } from '../events/unpublished-fields.js';
import { escapeFormula } from '../kernel/formulas.js';
import type { StoredEvent } from '../log/event.js';
import { LineBuffer, type LoggedRow } from '../log/event-row.js';
import { FLAT_COLUMNS, type FlatColumn, type FlatValue } from './flat-columns.js';
import { EVENT_COLUMNS, ParquetFormat, toParquet } from './parquet-format.js';
import { type RedactedEvent, redactEvent } from './redact-event.js';
import { withoutPersonal } from './without-personal.js';

/** Encodes events, or rows of a table. They are added one at a time; the encoded bytes are taken page by page. */
export interface ExportFormat<Row = LoggedRow> {
  add(row: Row): void;
  take(): Uint8Array;
  /** The bytes after the last page. */
  end(): Uint8Array;
  /** The state, as JSON, that a later process needs to append to the bytes taken so far. */
  state?(): unknown;
}

/** What an export contains of each event. */
export interface ExportContent {
  /** The columns of `FLAT_COLUMNS` beside the event. Parquet always has them. */
  readonly flat?: boolean | undefined;
  /** False: without the personal part, and without what other parts tell about people. */
  readonly personal?: boolean | undefined;
}

export interface FormatOptions extends ExportContent {
  readonly isResumed?: boolean | undefined;
  readonly state?: unknown;
}

export const FORMATS = {
  ndjson: (options: FormatOptions = {}) => (options.flat ? new FlatNdjsonFormat(options) : new NdjsonFormat(options)),
  csv: (options: FormatOptions = {}) => new CsvFormat(options),
  parquet: (options: FormatOptions = {}) =>
    new ParquetFormat(EVENT_COLUMNS, contentOf(options), options.isResumed ? { state: options.state } : undefined),
} as const satisfies Record<string, (options: FormatOptions) => ExportFormat>;
export type FormatName = keyof typeof FORMATS;

const COLUMNS = [
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
] as const satisfies (keyof RedactedEvent)[];

const NO_BYTES = new Uint8Array();

function contentOf(content: ExportContent): (row: Pick<LoggedRow, 'event'>) => RedactedEvent {
  const exported = exportedBy(content);
  return (row) => exported(row.event());
}

/** The event as an export has it. */
export function exportedBy({ personal }: ExportContent): (event: StoredEvent) => RedactedEvent {
  return personal === false ? (event) => withoutPersonal(redactEvent(event)) : redactEvent;
}

/** Rows with these columns and nothing else. */
export function tableFormat<Row>(
  name: FormatName,
  columns: readonly FlatColumn<Row>[],
  { isResumed = false, state }: Pick<FormatOptions, 'isResumed' | 'state'> = {},
): ExportFormat<Row> {
  if (name === 'parquet')
    return new ParquetFormat(columns.map(toParquet), (row: Row) => row, isResumed ? { state } : undefined);
  return name === 'csv' ? new CsvTable(columns, isResumed) : new NdjsonTable(columns);
}

abstract class TextFormat<Row = LoggedRow> implements ExportFormat<Row> {
  protected readonly lines = new LineBuffer();

  abstract add(row: Row): void;

  take(): Uint8Array {
    return this.lines.take();
  }

  end(): Uint8Array {
    return NO_BYTES;
  }
}

class NdjsonFormat extends TextFormat {
  private readonly read;

  constructor(private readonly content: ExportContent) {
    super();
    this.read = contentOf(content);
  }

  add(row: LoggedRow): void {
    if (this.content.personal !== false && !hasUnpublished(row.type, row.dataText)) row.writeLine(this.lines);
    else this.lines.text(`${JSON.stringify(this.read(row))}\n`);
  }
}

/** `data` and `personal` are JSON in a string: readers that infer one type for each field would fail on the objects. */
class FlatNdjsonFormat extends TextFormat {
  private readonly read;

  constructor(content: ExportContent) {
    super();
    this.read = contentOf(content);
  }

  add(row: LoggedRow): void {
    const event = this.read(row);
    const flat = Object.fromEntries(FLAT_COLUMNS.map((column) => [column.name, column.of(event)]));
    this.lines.text(
      `${JSON.stringify({ ...event, data: jsonOf(event.data), personal: jsonOf(event.personal), ...flat })}\n`,
    );
  }
}

/** RFC 4180. `data` and `personal` are JSON in their cells, so that they can be parsed back without loss. */
class CsvFormat extends TextFormat {
  private readonly read;
  private readonly flatColumns;

  constructor({ isResumed, flat, ...content }: FormatOptions) {
    super();
    this.read = contentOf(content);
    this.flatColumns = flat ? FLAT_COLUMNS : [];
    if (!isResumed) this.lines.text(`${[...COLUMNS, ...this.flatColumns.map(({ name }) => name)].join(',')}\r\n`);
  }

  add(row: LoggedRow): void {
    const event = this.read(row);
    const values = [
      ...COLUMNS.map((column) => columnValue(event, column)),
      ...this.flatColumns.map((flat) => flat.of(event)),
    ];
    this.lines.text(`${values.map(cell).join(',')}\r\n`);
  }
}

class NdjsonTable<Row> extends TextFormat<Row> {
  constructor(private readonly columns: readonly FlatColumn<Row>[]) {
    super();
  }

  add(row: Row): void {
    const values = Object.fromEntries(this.columns.map(({ name, of }) => [name, of(row)]));
    this.lines.text(`${JSON.stringify(values)}\n`);
  }
}

class CsvTable<Row> extends TextFormat<Row> {
  constructor(
    private readonly columns: readonly FlatColumn<Row>[],
    isResumed: boolean,
  ) {
    super();
    if (!isResumed) this.lines.text(`${columns.map(({ name }) => cell(name)).join(',')}\r\n`);
  }

  add(row: Row): void {
    this.lines.text(`${this.columns.map(({ of }) => cell(of(row))).join(',')}\r\n`);
  }
}

function columnValue(event: RedactedEvent, column: (typeof COLUMNS)[number]): FlatValue {
  return column === 'data' || column === 'personal' ? jsonOf(event[column]) : event[column];
}

function jsonOf(value: object | null): string | null {
  return value && JSON.stringify(value);
}

/** Null is an empty cell; an empty text is quoted, so that readers can tell them apart. */
function cell(value: FlatValue): string {
  if (value === null) return '';
  const text = typeof value === 'string' ? escapeFormula(value) : String(value);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
