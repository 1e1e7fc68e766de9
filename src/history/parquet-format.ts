import { type BasicType, ByteWriter, ParquetWriter, type SchemaElement, schemaFromColumnData } from 'hyparquet-writer';
import type { StoredEvent } from '../log/event.js';
import type { LoggedRow } from '../log/event-row.js';
import type { ExportFormat } from './export-formats.js';
import { type RedactedEvent, redactEvent } from './redact-event.js';

type Column = keyof StoredEvent;

/** Types that DuckDB, pandas and warehouses read without configuration; `data` and `personal` are JSON columns. */
const TYPES: Readonly<Record<Column, { readonly type: BasicType; readonly nullable: boolean }>> = {
  position: { type: 'INT64', nullable: false },
  id: { type: 'STRING', nullable: false },
  type: { type: 'STRING', nullable: false },
  stream: { type: 'STRING', nullable: false },
  version: { type: 'INT32', nullable: false },
  site: { type: 'STRING', nullable: false },
  time: { type: 'TIMESTAMP', nullable: false },
  actor: { type: 'STRING', nullable: false },
  data: { type: 'JSON', nullable: false },
  personal: { type: 'JSON', nullable: true },
};
const NAMES = Object.keys(TYPES) as Column[];

const SCHEMA: SchemaElement[] = schemaFromColumnData({
  columnData: NAMES.map((name) => ({ name, data: [], ...TYPES[name] })),
});

interface State {
  readonly offset: number;
  readonly rows: bigint;
  readonly rowGroups: ParquetWriter['row_groups'];
}

/** Each page becomes a row group. The metadata of all groups is at the end of the file, so it is held in memory until then. */
export class ParquetFormat implements ExportFormat {
  private readonly bytes = new ByteWriter();
  private readonly writer: ParquetWriter;
  private columns = emptyColumns();

  constructor(state?: unknown) {
    this.writer = new ParquetWriter({ writer: this.bytes, schema: SCHEMA });
    if (state === undefined) return;
    const { offset, rows, rowGroups } = fromTaggedJson(state) as State;
    this.writer.row_groups = rowGroups;
    this.writer.num_rows = rows;
    this.bytes.offset = offset;
    this.bytes.index = 0;
  }

  add(row: LoggedRow): void {
    const event = redactEvent(row.event());
    for (const name of NAMES) this.columns[name].push(cellOf(event, name));
  }

  take(): Uint8Array {
    if (this.columns.position.length > 0) {
      const columnData = NAMES.map((name) => ({ name, data: this.columns[name], offsetIndex: false }));
      void this.writer.write({ columnData, rowGroupSize: this.columns.position.length });
      this.columns = emptyColumns();
    }
    return this.drain();
  }

  end(): Uint8Array {
    void this.writer.finish();
    return this.drain();
  }

  state(): unknown {
    const { row_groups, num_rows } = this.writer;
    return toTaggedJson({ offset: this.bytes.offset, rows: num_rows, rowGroups: row_groups } satisfies State);
  }

  private drain(): Uint8Array {
    const taken = this.bytes.getBytes().slice();
    this.bytes.index = 0;
    return taken;
  }
}

function emptyColumns(): Record<Column, unknown[]> {
  return Object.fromEntries(NAMES.map((name) => [name, []])) as never;
}

function cellOf(event: RedactedEvent, name: Column): unknown {
  if (name === 'position') return BigInt(event.position);
  return name === 'time' ? new Date(event.time) : event[name];
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
