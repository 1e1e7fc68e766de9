import type { PositionRange } from './event.js';
import type { Queryable } from './event-reader.js';

export interface FieldOptions extends PositionRange {
  readonly limit: number;
  readonly category: string;
  /** The type of the events that open a stream, and the data field to read from them. */
  readonly opening: { readonly type: string; readonly field: string };
  /** The data field to read from the other events. */
  readonly field: string;
}

/** One data field of an event. */
export interface EventField {
  readonly position: number;
  /** Id of the stream, without its category. */
  readonly stream: string;
  readonly isOpening: boolean;
  /** Only of an opening. */
  readonly site: string;
  /** Only of an opening. */
  readonly timeMs: number;
  /** As JSON; null if the event has no such field. */
  readonly value: string | null;
}

type Row = [
  position: string,
  stream: string,
  isOpening: boolean,
  site: string | null,
  timeMs: number | null,
  data: string,
];

/**
 * One field of the events of a category, in log order, for readers of the whole log that need nothing else of them. The data is
 * transferred as text and the field extracted here: PostgreSQL's JSON operators would double the cost of the query.
 */
export async function readEventFields(source: Queryable, options: FieldOptions): Promise<EventField[]> {
  const { after, until, limit, category, opening, field } = options;
  const { rows } = await source.query<Row>({
    name: 'read-event-fields',
    rowMode: 'array',
    text: `SELECT position, stream, type = $4, CASE WHEN type = $4 THEN site END, CASE WHEN type = $4 THEN date_part('epoch', time) * 1000 END, data::text
             FROM cc.events WHERE position > $1 AND position <= $2 AND category = $3 ORDER BY position LIMIT $5`,
    values: [after, until, category, opening.type, limit],
  });
  const openingField = fieldReader(opening.field);
  const otherField = fieldReader(field);
  return rows.map(([position, stream, isOpening, site, timeMs, data]) => ({
    position: Number(position),
    stream,
    isOpening,
    site: site ?? '',
    timeMs: timeMs ?? 0,
    value: isOpening ? openingField(data) : otherField(data),
  }));
}

/** Reads a field from JSON text. A string or a list of strings, which nearly all are, is found without parsing the rest. */
export function fieldReader(name: string): (json: string) => string | null {
  const key = JSON.stringify(name);
  const text = '"[^"\\\\]*"';
  // A quotation mark inside a string is escaped, so this is a key; and no object or list begins before it, so not a nested one.
  const simple = new RegExp(`^\\s*\\{[^[{]*?(?<!\\\\)${key}\\s*:\\s*(${text}|\\[(?:${text}(?:,\\s*${text})*)?\\])`);
  return (json) => {
    const found = simple.exec(json)?.[1];
    if (found !== undefined) return found;
    if (!json.includes(key)) return null;
    const value = (JSON.parse(json) as Record<string, unknown>)[name];
    return value === undefined ? null : JSON.stringify(value);
  };
}
