import type { Queryable } from './event-reader.js';

export interface FieldOptions {
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly until: number;
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
  readonly timeMs: number;
  /** As JSON; null if the event has no such field. */
  readonly value: string | null;
}

type Row = [position: string, stream: string, isOpening: boolean, timeMs: number | null, value: string | null];

/** One field of the events of a category, in log order, for readers of the whole log that need nothing else of them. */
export async function readEventFields(source: Queryable, options: FieldOptions): Promise<EventField[]> {
  const { after, until, limit, category, opening, field } = options;
  const { rows } = await source.query<Row>({
    name: 'read-event-fields',
    rowMode: 'array',
    text: `SELECT position, stream, type = $4, CASE WHEN type = $4 THEN date_part('epoch', time) * 1000 END,
                  (data -> CASE WHEN type = $4 THEN $5 ELSE $6 END)::text
             FROM cc.events WHERE position > $1 AND position <= $2 AND category = $3 ORDER BY position LIMIT $7`,
    values: [after, until, category, opening.type, opening.field, field, limit],
  });
  return rows.map(([position, stream, isOpening, timeMs, value]) => ({
    position: Number(position),
    stream,
    isOpening,
    timeMs: timeMs ?? 0,
    value,
  }));
}
