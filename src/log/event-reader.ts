import { type ClientBase, escapeLiteral, type Pool, type QueryConfig } from 'pg';
import { nameOfSubject } from '../events/person-keys.js';
import { copyOut } from './copy.js';
import { type DataCondition, fieldText } from './data-condition.js';
import type { EventsOf, Opened, PositionRange, StoredEvent, StreamEvent } from './event.js';
import { EventRow, rowColumns } from './event-row.js';

const COUNTED_AT_ONCE = 200_000;

/** A pool, or a client inside a transaction. All SELECTs on events are in this folder. */
export type Queryable = Pool | ClientBase;

/** A pool whose queries time out, so that a connection that is lost without notice is not waited for forever. */
export function withQueryTimeout(pool: Pool, timeoutMs: number): Queryable {
  const query = (text: string | QueryConfig, values?: unknown[]) => {
    const config = typeof text === 'string' ? { text, values } : text;
    // pg supports this option, its types lack it.
    return pool.query({ ...config, query_timeout: timeoutMs } as unknown as QueryConfig);
  };
  // The readers only call `query`.
  return { query } as unknown as Queryable;
}

export interface ReadOptions<Type extends string = string> {
  /** Exclusive. */
  readonly after?: number;
  /** Inclusive. */
  readonly until?: number;
  readonly limit?: number;
  /** With a limit: the newest events instead of the oldest, still in log order. */
  readonly newest?: boolean;
  readonly categories?: readonly string[];
  readonly types?: readonly Type[];
  readonly site?: string;
  /** Their ids, without the category. */
  readonly streams?: readonly string[];
  /** Only events about a subject of at least this length. */
  readonly subjectBytes?: number;
  /** Excludes events whose data field has this value, so that they are not transferred. */
  readonly unless?: { readonly field: string; readonly is: string };
  /** Only events whose data meets all of these. */
  readonly where?: readonly DataCondition[];
}

interface Row {
  position: string;
  id: string;
  category: string;
  stream: string;
  version: number;
  type: string;
  site: string;
  time: string;
  actor: string;
  data: Record<string, unknown>;
  has_personal: boolean;
  subject: string | null;
  personal: Record<string, unknown> | null;
}

// Listed by name: a prepared `SELECT *` breaks when a migration adds a column.
const COLUMNS = `e.position, e.id, e.category, e.stream, e.version, e.type, e.site, e.actor, e.data,
  extract(epoch FROM e.time) * 1000 AS time,
  p.position IS NOT NULL AS has_personal, encode(p.subject, 'hex') AS subject, p.data AS personal`;
const FROM = 'cc.events e LEFT JOIN cc.personal p ON p.position = e.position';

export async function readEvents<Type extends string = string>(
  source: Queryable,
  options: ReadOptions<Type> = {},
): Promise<EventsOf<Type>[]> {
  const values: unknown[] = [];
  const { rows } = await source.query<Row>(
    select(COLUMNS, options, (value) => `$${values.push(value)}`),
    values,
  );
  return (options.newest ? rows.reverse() : rows).map((row) => toEvent<EventsOf<Type>>(row));
}

/**
 * The same events by `COPY`, one row at a time: twice as fast as pg's row parser, and one event in memory. Resolves with their
 * number.
 */
export async function copyEvents(
  client: ClientBase,
  options: ReadOptions,
  each: (row: EventRow) => void,
  personal: 'all' | 'subject' = 'all',
): Promise<number> {
  const row = new EventRow();
  let count = 0;
  await copyOut(client, `COPY (${select(rowColumns(personal), options, literal)}) TO STDOUT`, (line) => {
    count += 1;
    each(row.at(line));
  });
  return count;
}

/** `value` renders a value as a parameter, or as a literal where COPY allows no parameters. */
function select(columns: string, options: ReadOptions, value: (of: unknown) => string): string {
  const after = value(options.after ?? -1);
  const conditions = [`e.position > ${after}`];
  // Stated for both tables: PostgreSQL does not derive it across an outer join, and a merge join would scan all earlier rows.
  const joinConditions = [`p.position > ${after}`];
  if (options.until !== undefined) {
    const until = value(options.until);
    conditions.push(`e.position <= ${until}`);
    joinConditions.push(`p.position <= ${until}`);
  }
  // As literals, so that the planner can use a partial index on these categories.
  if (options.categories)
    conditions.push(
      `e.category IN (${options.categories.map((category) => `'${category.replaceAll("'", '')}'`).join(', ')})`,
    );
  if (options.types) conditions.push(`e.type = ANY (${value(options.types)})`);
  if (options.unless)
    conditions.push(`(e.data ->> ${value(options.unless.field)}) IS DISTINCT FROM ${value(options.unless.is)}`);
  for (const { anyOf, is } of options.where ?? [])
    conditions.push(`(${anyOf.map((path) => `e.data #>> ${value(path)} = ANY (${value(is)})`).join(' OR ')})`);
  if (options.site !== undefined) conditions.push(`e.site = ${value(options.site)}`);
  if (options.streams) conditions.push(`e.stream = ANY (${value(options.streams)}::uuid[])`);
  if (options.subjectBytes !== undefined) conditions.push(`octet_length(p.subject) >= ${Number(options.subjectBytes)}`);
  const limit = options.limit === undefined ? '' : `LIMIT ${Number(options.limit)}`;
  return `SELECT ${columns} FROM ${FROM} AND ${joinConditions.join(' AND ')}
    WHERE ${conditions.join(' AND ')} ORDER BY e.position ${options.newest ? 'DESC' : ''} ${limit}`;
}

function literal(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join(', ')}]::text[]`;
  return escapeLiteral(String(value));
}

export function readStream<Category extends string>(
  source: Queryable,
  category: Category,
  stream: string,
): Promise<StreamEvent<Category>[]> {
  return queryEvents(source, {
    name: 'read-stream',
    text: `SELECT ${COLUMNS} FROM ${FROM} WHERE e.stream = $1 AND e.category = $2 ORDER BY e.version`,
    values: [stream, category],
  });
}

/** The first event of each of these streams, in log order. */
export function readOpenings<Category extends string>(
  source: Queryable,
  category: Category,
  streams: readonly string[],
): Promise<StreamEvent<Category>[]> {
  return queryEvents(source, {
    name: 'read-openings',
    text: `SELECT ${COLUMNS} FROM ${FROM} WHERE e.stream = ANY ($1) AND e.version = 1 AND e.category = $2 ORDER BY e.position`,
    values: [streams, category],
  });
}

/** By index, in every partition. */
export async function findOpened(
  source: Queryable,
  category: string,
  streams: readonly string[],
): Promise<Map<string, Opened>> {
  const { rows } = await source.query<{ stream: string; type: string | null; id: string | null }>({
    name: 'find-opened',
    text: `SELECT stream, type, id FROM cc.events WHERE stream = ANY ($1) AND version = 1 AND category = $2
           UNION ALL SELECT stream, null, null FROM cc.removed_streams WHERE stream = ANY ($1)`,
    values: [streams, category],
  });
  return new Map(rows.map(({ stream, type, id }) => [stream, type === null || id === null ? {} : { type, id }]));
}

/** The last event of each of these streams, by index: the cost does not depend on their length. */
export function readEnds<Category extends string>(
  source: Queryable,
  category: Category,
  streams: readonly string[],
): Promise<StreamEvent<Category>[]> {
  return queryEvents(source, {
    name: 'read-ends',
    text: `SELECT ${COLUMNS} FROM unnest($1::uuid[]) AS s (stream) CROSS JOIN LATERAL (
             SELECT * FROM cc.events WHERE stream = s.stream AND category = $2 ORDER BY version DESC LIMIT 1) e
             LEFT JOIN cc.personal p ON p.position = e.position`,
    values: [streams, category],
  });
}

/** Where an event is; undefined if the log does not have it. */
export async function readPositionOf(source: Queryable, stream: string, version: number): Promise<number | undefined> {
  const { rows } = await source.query<{ position: number }>(
    'SELECT position::float8 AS position FROM cc.events WHERE stream = $1 AND version = $2',
    [stream, version],
  );
  return rows[0]?.position;
}

/** All events of these streams, each in version order, without personal parts. */
export function readStreams<Category extends string>(
  source: Queryable,
  category: Category,
  streams: readonly string[],
): Promise<StreamEvent<Category>[]> {
  return queryEvents(source, {
    name: 'read-streams',
    text: `SELECT ${COLUMNS} FROM cc.events e LEFT JOIN cc.personal p ON false
            WHERE e.stream = ANY ($1) AND e.category = $2 ORDER BY e.stream, e.version`,
    values: [streams, category],
  });
}

export interface SomeOptions {
  readonly types: readonly string[];
  readonly limit: number;
  /** The newest events instead of the oldest, still in log order. */
  readonly newest?: boolean;
  /** Exclusive. */
  readonly after?: number;
}

const HAS_REFERENCE_HASH = `e.reference IS NOT NULL
  AND hashtextextended(e.reference, hashtextextended(e.site, 0)) = hashtextextended($2, hashtextextended($1, 0))`;

/** The events of a site with this reference, in log order: all, or the oldest or newest of some types. */
export function findByReference(
  source: Queryable,
  site: string,
  reference: string,
  some?: SomeOptions,
): Promise<StoredEvent[]> {
  if (some) return findSomeByReference(source, site, reference, some);
  return queryEvents(source, {
    name: 'find-by-reference',
    text: `SELECT ${COLUMNS} FROM ${FROM} WHERE ${HAS_REFERENCE_HASH} AND e.site = $1 AND e.reference = $2
            ORDER BY e.position`,
    values: [site, reference],
  });
}

/**
 * The oldest or the newest of them, for callers whose work must not grow with what a sender repeats. In two steps: with a LIMIT the planner might
 * scan the log in order of position instead of using the index on references. Materialized, because it might combine that one with the index
 * on sites and types, of which it would read all entries of the site.
 */
async function findSomeByReference(
  source: Queryable,
  site: string,
  reference: string,
  { types, limit, newest, after = 0 }: SomeOptions,
): Promise<StoredEvent[]> {
  const found = await source.query<{ position: number }>({
    name: 'find-positions-by-reference',
    text: `WITH found AS MATERIALIZED (
             SELECT e.position, e.site, e.reference, e.type FROM cc.events e WHERE ${HAS_REFERENCE_HASH})
           SELECT position::float8 FROM found WHERE site = $1 AND reference = $2 AND type = ANY ($3)`,
    values: [site, reference, types],
  });
  const positions = found.rows
    .map(({ position }) => position)
    .filter((position) => position > after)
    .sort((one, other) => one - other);
  return readEventsAt(source, newest ? positions.slice(-limit) : positions.slice(0, limit));
}

/** The events at these positions, in log order. */
export function readEventsAt(
  source: Queryable,
  positions: readonly number[],
  types?: readonly string[],
): Promise<StoredEvent[]> {
  return queryEvents(source, {
    name: 'find-by-positions',
    text: `SELECT ${COLUMNS} FROM ${FROM} WHERE e.position = ANY ($1::bigint[]) AND ($2::text[] IS NULL OR e.type = ANY ($2))
            ORDER BY e.position`,
    values: [positions, types],
  });
}

export interface FieldsAt {
  readonly position: number;
  /** The data with these fields only. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Some data fields of the events at these positions, in log order. With `opened` only of streams whose first event has this value of a field. */
export async function readFieldsAt(
  source: Queryable,
  positions: readonly number[],
  fields: readonly string[],
  opened?: { readonly field: string; readonly is: string },
): Promise<FieldsAt[]> {
  const values = [positions, ...(opened ? [opened.field, opened.is] : [])];
  const pairs = fields.map((field) => `${escapeLiteral(field)}, e.data -> ${escapeLiteral(field)}`);
  const { rows } = await source.query<FieldsAt>(
    `SELECT e.position::float8 AS position, json_build_object(${pairs.join(', ')}) AS data FROM cc.events e
      WHERE e.position = ANY ($1::bigint[]) ${
        opened
          ? `AND EXISTS (SELECT FROM cc.events o
                          WHERE o.stream = e.stream AND o.version = 1 AND o.category = e.category AND o.data ->> $2 = $3)`
          : ''
      } ORDER BY e.position`,
    values,
  );
  return rows;
}

/** An event for publishing: without its personal part, and with its data as the stored JSON text. */
export interface PublicEvent {
  readonly position: number;
  readonly id: string;
  readonly category: string;
  /** `<category>-<id>` */
  readonly stream: string;
  readonly version: number;
  readonly type: string;
  readonly site: string;
  readonly time: string;
  readonly actor: string;
  readonly data: string;
}

type PublicRow = Omit<PublicEvent, 'position'> & { position: string };

const PUBLIC_COLUMNS = `position, id, category, category || '-' || stream AS stream, version, type, site,
                  extract(epoch FROM time) * 1000 AS time, actor, data::text AS data`;

export async function readPublicEvents(source: Queryable, after: number, limit: number): Promise<PublicEvent[]> {
  const { rows } = await source.query<PublicRow>({
    name: 'read-public-events',
    text: `SELECT ${PUBLIC_COLUMNS} FROM cc.events WHERE position > $1 ORDER BY position LIMIT $2`,
    values: [after, limit],
  });
  return rows.map(toPublicEvent);
}

/** The events at these positions; those that the log does not have are left out. */
export async function readPublicEventsAt(source: Queryable, positions: readonly number[]): Promise<PublicEvent[]> {
  const { rows } = await source.query<PublicRow>({
    name: 'read-public-events-at',
    text: `SELECT ${PUBLIC_COLUMNS} FROM cc.events WHERE position = ANY ($1)`,
    values: [positions],
  });
  return rows.map(toPublicEvent);
}

function toPublicEvent(row: PublicRow): PublicEvent {
  return { ...row, position: Number(row.position), time: new Date(Number(row.time)).toISOString() };
}

/** The id of the event at each position, or 'dropped' if retention removed it. */
export async function readIdsAt(
  source: Queryable,
  positions: readonly number[],
): Promise<Map<number, string | 'dropped'>> {
  const { rows } = await source.query<{ position: string; id: string | null; retained: boolean }>(
    `SELECT p AS position, e.id, EXISTS (
              SELECT FROM cc.log_partitions WHERE first <= p AND p < beyond AND NOT thinned) AS retained
       FROM unnest($1::bigint[]) AS p LEFT JOIN cc.events e ON e.position = p`,
    [positions],
  );
  const found = rows.filter(({ id, retained }) => id !== null || !retained);
  return new Map(found.map(({ position, id }) => [Number(position), id ?? 'dropped']));
}

/** Position of the newest event, 0 in an empty log. Everything up to it is committed and visible. */
export async function readHead(source: Queryable): Promise<number> {
  const { rows } = await source.query<{ head: string | null }>({
    name: 'read-head',
    text: 'SELECT max(position) AS head FROM cc.events',
  });
  return Number(rows[0]?.head ?? 0);
}

/** SQL for the position of the newest event, for a query on other tables that states as of which position it reads them. */
export const NEWEST_POSITION = `coalesce((SELECT last FROM cc.seals ORDER BY last DESC LIMIT 1),
  (SELECT max(position) FROM cc.events), 0)`;

/** Position of the newest event, at a lower cost than `readHead`: the newest seal names it. */
export async function readNewestPosition(source: Queryable): Promise<number> {
  const { rows } = await source.query<{ newest: number }>({
    name: 'read-newest-position',
    text: `SELECT ${NEWEST_POSITION}::float8 AS newest`,
  });
  return rows[0]?.newest ?? 0;
}

/** Number of events after a position, counted up to a limit. */
export async function countAfter(source: Queryable, after: number, limit: number): Promise<number> {
  const { rows } = await source.query<{ count: string }>(
    'SELECT count(*) FROM (SELECT FROM cc.events WHERE position > $1 LIMIT $2) page',
    [after, limit],
  );
  return Number(rows[0]?.count ?? 0);
}

export interface StreamGroup {
  readonly name: string;
  readonly streams: number;
  /** Position of the oldest first event of its streams. */
  readonly position: number;
}

/**
 * Groups streams by name. `streams` is a query with the columns "name" and "stream"; streams without a first event up to
 * `until` are left out.
 */
export async function readOldestOpenings(source: Queryable, streams: string, until: number): Promise<StreamGroup[]> {
  const { rows } = await source.query<StreamGroup>(
    `SELECT s.name, count(*)::float8 AS streams, min(e.position)::float8 AS position
       FROM (${streams}) s JOIN cc.events e ON e.stream = s.stream AND e.version = 1 AND e.position <= $1
      GROUP BY s.name ORDER BY 3`,
    [until],
  );
  return rows;
}

/** Last position of a page of at most `limit` events after `after`; `after` itself when there is none. */
export async function readPageEnd(source: Queryable, after: number, limit: number): Promise<number> {
  const { rows } = await source.query<{ last: string | null }>({
    name: 'read-page-end',
    text: `SELECT max(position) AS last
             FROM (SELECT position FROM cc.events WHERE position > $1 ORDER BY position LIMIT $2) page`,
    values: [after, limit],
  });
  return Number(rows[0]?.last ?? after);
}

/** Time of each actor's newest event in a position range, aggregated in the database. */
export async function readNewestByActor(source: Queryable, after: number, until: number, prefix: string) {
  const { rows } = await source.query<{ actor: string; time: Date }>({
    name: 'read-newest-by-actor',
    text: `SELECT actor, max(time) AS time FROM cc.events
            WHERE position > $1 AND position <= $2 AND starts_with(actor, $3) GROUP BY actor`,
    values: [after, until, prefix],
  });
  return rows;
}

export interface CountOptions extends PositionRange {
  readonly types: readonly string[];
  /** Data fields to group by. */
  readonly by: readonly string[];
  readonly site?: string;
}

export interface EventCount {
  readonly site: string;
  readonly type: string;
  /** Start of the minute, in milliseconds. */
  readonly minute: number;
  /** Values of the fields in `by`, as text. */
  readonly values: readonly (string | null)[];
  readonly count: number;
}

/**
 * Number of events of some types in a position range, by site and minute. Aggregated in the database, in bounded batches: each
 * query is short, whatever the length of the range.
 */
export async function countEvents(source: Queryable, options: CountOptions): Promise<EventCount[]> {
  const { until, site, types, by } = options;
  const values = [until, ...by, ...(site === undefined ? [] : [site])];
  const fields = by.map((_, index) => `data ->> $${index + 3}::text`);
  // As literals, so that the planner can use a partial index on these types.
  const literals = types.map((type) => `'${type.replaceAll("'", '')}'`);
  const text = `SELECT site, type, floor(extract(epoch FROM time) / 60)::float8 * 60000 AS minute,
           ARRAY[${fields.join(', ')}]::text[] AS values, count(*)::float8 AS count, max(position)::float8 AS last
      FROM (SELECT position, site, type, time, data FROM cc.events
             WHERE position > $1 AND position <= $2 AND type IN (${literals.join(', ')})
               ${site === undefined ? '' : `AND site = $${by.length + 3}`}
             ORDER BY position LIMIT ${COUNTED_AT_ONCE}) page
     GROUP BY 1, 2, 3, 4`;
  const counts: EventCount[] = [];
  for (let { after } = options; ; ) {
    const { rows } = await source.query<EventCount & { last: number }>(text, [after, ...values]);
    counts.push(...rows);
    if (rows.reduce((sum, { count }) => sum + count, 0) < COUNTED_AT_ONCE) return counts;
    after = Math.max(...rows.map(({ last }) => last));
  }
}

/** The same for events in memory. */
export function countAmong(events: readonly StoredEvent[], by: CountOptions['by']): EventCount[] {
  const counted = new CountedEvents(by);
  for (const { site, type, time, data } of events) counted.add(site, type, Date.parse(time), data);
  return counted.counts();
}

type Group = { -readonly [Field in keyof EventCount]: EventCount[Field] };

/** Counts events in memory as the database does it in `countEvents`. */
export class CountedEvents {
  private readonly groups = new Map<string, Group>();
  private last: Group | undefined;

  constructor(private readonly by: CountOptions['by']) {}

  /** As counted by the database. */
  static of(counts: readonly EventCount[], by: CountOptions['by']): CountedEvents {
    const counted = new CountedEvents(by);
    for (const [index, count] of counts.entries()) counted.groups.set(String(index), count);
    return counted;
  }

  add(site: string, type: string, timeMs: number, data: object): void {
    const minute = Math.floor(timeMs / 60_000) * 60_000;
    // Consecutive events are mostly counted together. Finding that out allocates nothing.
    const { last } = this;
    if (last && last.minute === minute && last.type === type && last.site === site && this.hasValues(last, data)) {
      last.count += 1;
      return;
    }
    const values = this.by.map((field) => fieldText(data, field));
    let key = `${minute} ${type} ${site}`;
    // With its length, because a value may contain anything.
    for (const value of values) key += value === null ? ' -' : ` ${value.length} ${value}`;
    this.last = this.groups.get(key) ?? { site, type, minute, values, count: 0 };
    this.last.count += 1;
    this.groups.set(key, this.last);
  }

  private hasValues({ values }: Group, data: object): boolean {
    return this.by.every((field, index) => {
      const value = (data as Readonly<Record<string, unknown>>)[field] ?? null;
      return value === values[index] || (value !== null && fieldText(data, field) === values[index]);
    });
  }

  counts(): EventCount[] {
    return [...this.groups.values()];
  }
}

export interface SubjectOptions {
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly until: number;
  readonly types: readonly string[];
  /** Length of the subject, at least. */
  readonly bytes: number;
}

export interface EventSubject {
  readonly position: number;
  readonly site: string;
  readonly subject: string;
}

export async function readSubjects(
  source: Queryable,
  { after, until, types, bytes }: SubjectOptions,
): Promise<EventSubject[]> {
  const { rows } = await source.query<EventSubject>({
    name: 'read-subjects',
    text: `SELECT e.position::float8 AS position, e.site, encode(p.subject, 'hex') AS subject
             FROM cc.events e JOIN cc.personal p ON p.position = e.position AND p.position > $1 AND p.position <= $2
            WHERE e.position > $1 AND e.position <= $2 AND e.type = ANY ($3) AND octet_length(p.subject) >= $4`,
    values: [after, until, types, bytes],
  });
  return rows;
}

async function queryEvents<Event = StoredEvent>(source: Queryable, query: QueryConfig): Promise<Event[]> {
  const { rows } = await source.query<Row>(query);
  return rows.map((row) => toEvent<Event>(row));
}

/** The one place where a row becomes a typed event: `type` decides the shape, which the event's schema describes. */
function toEvent<Event = StoredEvent>(row: Row): Event {
  return {
    position: Number(row.position),
    id: row.id,
    type: row.type,
    stream: `${row.category}-${row.stream}`,
    version: row.version,
    site: row.site,
    time: new Date(Number(row.time)).toISOString(),
    actor: row.actor,
    data: row.data,
    personal: row.has_personal
      ? { ...(row.subject && { [nameOfSubject(row.subject)]: row.subject }), ...row.personal }
      : null,
  } as Event;
}
