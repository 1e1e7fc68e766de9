import { deflateSync, inflateSync } from 'node:zlib';
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { scaledValue, VALUE_PRECISION, VALUE_SCALE } from '../kernel/decimal.js';
import { UserError } from '../kernel/errors.js';
import { type ColumnType, FLAT_COLUMNS, type FlatColumn, type FlatValue } from './flat-columns.js';
import type { RedactedEvent } from './redact-event.js';

export interface ParquetColumn<Row> {
  readonly element: SchemaElement;
  of(row: Row): unknown;
}

type ElementType = Omit<SchemaElement, 'name' | 'repetition_type'>;

const TEXT: ElementType = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
const JSON_TEXT: ElementType = { type: 'BYTE_ARRAY', converted_type: 'JSON', logical_type: { type: 'JSON' } };
/** Adjusted to UTC: readers show it in the zone of their session, and it stays the same moment. */
const TIME: ElementType = {
  type: 'INT64',
  converted_type: 'TIMESTAMP_MILLIS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
};
const SURROGATE = /[\ud800-\udfff]/;
const FLAT_TYPES: Readonly<Record<ColumnType, ElementType>> = {
  text: TEXT,
  time: TIME,
  boolean: { type: 'BOOLEAN' },
  integer: { type: 'INT32' },
  position: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  decimal: {
    type: 'FIXED_LEN_BYTE_ARRAY',
    type_length: 16,
    converted_type: 'DECIMAL',
    logical_type: { type: 'DECIMAL', precision: VALUE_PRECISION, scale: VALUE_SCALE },
    precision: VALUE_PRECISION,
    scale: VALUE_SCALE,
  },
};

export const EVENT_COLUMNS: readonly ParquetColumn<RedactedEvent>[] = [
  column('position', { type: 'INT64' }, (event) => BigInt(event.position)),
  column('id', TEXT, ({ id }) => id),
  column('type', TEXT, ({ type }) => type),
  column('stream', TEXT, ({ stream }) => stream),
  column('version', { type: 'INT32' }, ({ version }) => version),
  column('site', TEXT, ({ site }) => site),
  column('time', TIME, ({ time }) => millisecondsOf(time)),
  column('actor', TEXT, ({ actor }) => actor),
  column('data', JSON_TEXT, ({ data }) => data),
  column('personal', JSON_TEXT, ({ personal }) => personal, 'OPTIONAL'),
  ...FLAT_COLUMNS.map(toParquet),
];

interface State {
  readonly offset: number;
  readonly rows: bigint;
  readonly rowGroups: ParquetWriter['row_groups'];
}

/**
 * Each page becomes a row group; strings that repeat are dictionary-encoded. The metadata of all groups is at the end of the file,
 * so it is held in memory until then.
 */
export class ParquetFormat<Source, Row> {
  private readonly bytes = new ByteWriter();
  private readonly writer: ParquetWriter;
  private values: unknown[][];

  constructor(
    private readonly columns: readonly ParquetColumn<Row>[],
    private readonly read: (source: Source) => Row,
    /** State of the process that is continued; undefined for a new file. */
    packed?: { readonly state: unknown },
  ) {
    const schema = [{ name: 'events', num_children: columns.length }, ...columns.map(({ element }) => element)];
    this.writer = new ParquetWriter({ writer: this.bytes, schema });
    this.values = columns.map(() => []);
    if (!packed) return;
    const { offset, rows, rowGroups } = readState(packed.state);
    if (rowGroups.some(({ columns }) => columns.length !== this.columns.length))
      throw new UserError(
        'The unfinished Parquet file was started by another version and has other columns. Remove it and its .part.json, and start again.',
      );
    this.writer.row_groups = rowGroups;
    this.writer.num_rows = rows;
    this.bytes.offset = offset;
    this.bytes.index = 0;
  }

  add(source: Source): void {
    const row = this.read(source);
    for (const [at, { of }] of this.columns.entries()) this.values[at]?.push(of(row));
  }

  take(): Uint8Array {
    const rowGroupSize = this.values[0]?.length ?? 0;
    if (rowGroupSize > 0) {
      const columnData = this.columns.map(({ element }, at) => ({
        name: element.name,
        data: this.values[at] as unknown[],
        offsetIndex: false,
      }));
      void this.writer.write({ columnData, rowGroupSize });
      this.dropWrongBounds();
      this.values = this.columns.map(() => []);
    }
    return this.drain();
  }

  end(): Uint8Array {
    void this.writer.finish();
    return this.drain();
  }

  state(): unknown {
    const { row_groups, num_rows } = this.writer;
    return packState({ offset: this.bytes.offset, rows: num_rows, rowGroups: row_groups });
  }

  /**
   * The writer orders texts by UTF-16 code unit, readers by UTF-8 byte. The orders differ where a text has surrogates, and by a wrong
   * smallest or largest value a reader would skip a row group that has what it looks for.
   */
  private dropWrongBounds(): void {
    for (const [at, chunk] of (this.writer.row_groups.at(-1)?.columns ?? []).entries()) {
      const statistics = chunk.meta_data?.statistics;
      if (!statistics || !this.values[at]?.some((value) => typeof value === 'string' && SURROGATE.test(value)))
        continue;
      delete statistics.min_value;
      delete statistics.max_value;
    }
  }

  private drain(): Uint8Array {
    const taken = this.bytes.getBytes().slice();
    this.bytes.index = 0;
    return taken;
  }
}

export function toParquet<Row>({ name, type, of }: FlatColumn<Row>): ParquetColumn<Row> {
  return column(name, FLAT_TYPES[type], (row) => physicalOf(type, of(row)), 'OPTIONAL');
}

function column<Row>(
  name: string,
  type: ElementType,
  of: ParquetColumn<Row>['of'],
  repetition_type: 'REQUIRED' | 'OPTIONAL' = 'REQUIRED',
): ParquetColumn<Row> {
  return { element: { name, repetition_type, ...type }, of };
}

function physicalOf(type: ColumnType, value: FlatValue): unknown {
  if (type === 'time') return typeof value === 'string' ? millisecondsOf(value) : null;
  if (type === 'position') return typeof value === 'number' ? BigInt(value) : null;
  return type === 'decimal' && typeof value === 'number' ? scaledValue(value) : value;
}

/** As a number: for dates the writer records no smallest and largest value, by which readers skip row groups. */
function millisecondsOf(time: string): bigint {
  return BigInt(Date.parse(time));
}

/** Deflated: it has some hundred bytes for each column of each row group, almost all of them the same, and is stored often. */
function packState(state: State): unknown {
  return { deflated: deflateSync(JSON.stringify(toTaggedJson(state))).toString('base64') };
}

/** A file that goes on at a wrong offset, or without its first row groups, would be finished and could not be read. */
function readState(packed: unknown): State {
  try {
    const state = unpackState(packed);
    const { offset, rows, rowGroups } = state;
    const counted = rowGroups.reduce((sum, { num_rows }) => sum + num_rows, 0n);
    if (Number.isSafeInteger(offset) && rows === counted && rowGroups.every(({ columns }) => Array.isArray(columns)))
      return state;
  } catch {
    // The message below says what to do.
  }
  throw new UserError(
    'The checkpoint of the unfinished Parquet file is damaged, so the export cannot be resumed. Remove its .part.json to start the export over.',
  );
}

function unpackState(packed: unknown): State {
  const { deflated } = packed as { deflated?: string };
  // Version 0.2 and earlier did not deflate it.
  const state = deflated === undefined ? packed : JSON.parse(inflateSync(Buffer.from(deflated, 'base64')).toString());
  return fromTaggedJson(state) as State;
}

/** JSON has no bigint, date or byte array: each becomes an object tagged with its type. */
function toTaggedJson(value: unknown): unknown {
  if (typeof value === 'bigint') return { $number: String(value) };
  if (value instanceof Date) return { $date: value.getTime() };
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
  if (Array.isArray(value)) return value.map(toTaggedJson);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, toTaggedJson(part)]));
}

function fromTaggedJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromTaggedJson);
  if (value === null || typeof value !== 'object') return value;
  const { $number, $date, $bytes } = value as { $number?: string; $date?: number; $bytes?: string };
  if ($number !== undefined) return BigInt($number);
  if ($date !== undefined) return new Date($date);
  if ($bytes !== undefined) return new Uint8Array(Buffer.from($bytes, 'base64'));
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, fromTaggedJson(part)]));
}
