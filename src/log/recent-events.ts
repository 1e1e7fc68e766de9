import { setTimeout as sleep } from 'node:timers/promises';
import { nameOfSubject, subjectOfPerson } from '../events/person-keys.js';
import { VISITOR } from '../events/visitor.events.js';
import type { AppendRequest, NewEvent, StoredEvent } from './event.js';
import type { EventFeed } from './event-feed.js';
import type { EventField, FieldOptions } from './event-fields.js';
import type { EventSubject, PublicEvent, SubjectOptions } from './event-reader.js';
import type { PageRow } from './projections/reducer.js';

const EVENTS_MAX = 8_000;
const CHARACTERS_MAX = 8_000_000;
/** Shorter than a database takes to be restored or to fail over, after which positions may belong to other events. Kept up to twice as long, never read. */
const HELD_MS = 10_000;

const NOTHING = {};

/** Consecutive events of the log, or what was kept of them. */
interface Batch {
  /** Position of the newest event before them. */
  readonly previous: number;
  readonly last: number;
  readonly rows: readonly RecentRow[];
  readonly characters: number;
  readonly addedMs: number;
}

/**
 * The newest events that this process has appended, so that its readers need not read them from the database. Holds them only as
 * far as no event of another process lies between them. Personal parts may have been erased since: a reader that uses them
 * asks for everything up to the newest event of the log, because an erasure appends an event, over another connection.
 */
export class RecentEvents {
  private batches: Batch[] = [];
  private events = 0;
  private characters = 0;
  private expiry: NodeJS.Timeout | undefined;
  private readonly feeds: EventFeed[] = [];
  /** How often it was emptied. What was appended before the last time must not be added any more. */
  cleared = 0;

  /** `keep`: the data fields of the events that are kept. Whole events that wait for readers are what the garbage collector copies most. */
  constructor(
    private readonly keep: 'all' | readonly string[] = 'all',
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {}

  /** The feed gets the events that are added from now on, before their fields are dropped. */
  attach(feed: EventFeed): void {
    this.feeds.push(feed);
  }

  keeps(fields: readonly string[]): boolean {
    return this.keep === 'all' || fields.every((field) => this.keep.includes(field));
  }

  /** Position of the newest event that it holds. */
  get last(): number {
    return this.batches.at(-1)?.last ?? 0;
  }

  /** `characters`: of the rows, as JSON. */
  add(previous: number, rows: readonly RecentRow[], characters: number): void {
    const last = rows.at(-1)?.position;
    if (last === undefined) return;
    for (const feed of this.feeds) feed.add(previous, rows);
    const { keep } = this;
    const kept = keep === 'all' ? rows : rows.filter((row) => row.keepOnly(keep));
    if (previous !== this.last) this.empty();
    this.batches.push({ previous, last, rows: kept, characters, addedMs: this.monotonicMs() });
    this.events += kept.length;
    this.characters += characters;
    while (this.events > EVENTS_MAX || this.characters > CHARACTERS_MAX) this.dropFirst();
    this.expiry ??= setInterval(() => this.dropExpired(), HELD_MS).unref();
  }

  /** The events in (after, until], which are committed; undefined if it does not hold all of them. */
  async read(after: number, until: number): Promise<RecentRow[] | undefined> {
    // The answer to an append arrives a little after its commit.
    for (let waits = 0; waits < 4 && this.mayGet(after, until); waits += 1) await sleep(5);
    return this.range(after, until);
  }

  /** The first events after a position, at most so many; none if it is not certain which event comes next. */
  next(after: number, limit: number): RecentRow[] {
    return this.range(after, this.last)?.slice(0, limit) ?? [];
  }

  /** After a failed append: the database may have been replaced by one that has lost the newest events. */
  clear(): void {
    this.cleared += 1;
    for (const feed of this.feeds) feed.clear();
    this.empty();
  }

  private mayGet(after: number, until: number): boolean {
    return this.last < until && this.range(after, this.last) !== undefined;
  }

  private range(after: number, until: number): RecentRow[] | undefined {
    this.dropExpired();
    const [first] = this.batches;
    if (!first || first.previous > after || this.last < until) return undefined;
    const rows: RecentRow[] = [];
    for (const batch of this.batches) {
      if (batch.last <= after) continue;
      if (batch.previous >= until) break;
      for (const row of batch.rows) if (row.position > after && row.position <= until) rows.push(row);
    }
    return rows;
  }

  private empty(): void {
    this.batches = [];
    this.events = 0;
    this.characters = 0;
  }

  private dropExpired(): void {
    const oldestMs = this.monotonicMs() - HELD_MS;
    while (this.batches[0] && this.batches[0].addedMs < oldestMs) this.dropFirst();
    if (this.batches.length > 0) return;
    clearInterval(this.expiry);
    this.expiry = undefined;
  }

  private dropFirst(): void {
    const dropped = this.batches.shift();
    this.events -= dropped?.rows.length ?? 0;
    this.characters -= dropped?.characters ?? 0;
  }
}

/** An event as it was given to the append. Fields without a value are undefined here and absent in the log. */
export class RecentRow implements PageRow {
  readonly category: string;
  readonly site: string;
  readonly actor: string;
  readonly streamId: string;
  readonly type: string;
  private content: StoredEvent['data'];
  private person: NewEvent['personal'];
  private stored: StoredEvent | undefined;

  constructor(
    readonly position: number,
    readonly timeMs: number,
    /** ISO 8601. */
    readonly time: string,
    private readonly version: number,
    request: Pick<AppendRequest, 'category' | 'stream' | 'site' | 'actor'>,
    event: NewEvent,
    readonly id: string,
  ) {
    // Copied: the request and its inline part are not needed any more.
    this.category = request.category;
    this.site = request.site;
    this.actor = request.actor;
    this.streamId = request.stream;
    this.type = event.type;
    this.content = event.data as StoredEvent['data'];
    this.person = event.personal;
  }

  get subject(): string | undefined {
    return this.person && subjectOfPerson(this.person);
  }

  data(): StoredEvent['data'] {
    return this.content;
  }

  personal(): object | null {
    return this.person ?? null;
  }

  event(): StoredEvent {
    this.stored ??= {
      position: this.position,
      id: this.id,
      type: this.type,
      stream: this.stream,
      version: this.version,
      site: this.site,
      time: this.time,
      actor: this.actor,
      data: this.content,
      personal: this.personal(),
    } as StoredEvent;
    return this.stored;
  }

  /** Drops everything else, except the subject of a visitor event. Returns whether anything is left. */
  keepOnly(fields: readonly string[]): boolean {
    const { subject } = this;
    let kept: Record<string, unknown> | undefined;
    for (const field of fields) {
      const value = (this.content as Readonly<Record<string, unknown>>)[field];
      if (value !== undefined) kept = { ...kept, [field]: value };
    }
    this.content = (kept ?? NOTHING) as StoredEvent['data'];
    this.person =
      this.category === VISITOR && subject !== undefined ? { [nameOfSubject(subject)]: subject } : undefined;
    this.stored = undefined;
    return kept !== undefined || this.person !== undefined;
  }

  publicEvent(): PublicEvent {
    const { position, id, category, stream, version, type, site, time, actor } = this;
    const data = JSON.stringify(this.content);
    return { position, id, category, stream, version, type, site, time, actor, data };
  }

  private get stream(): string {
    return `${this.category}-${this.streamId}`;
  }
}

/** The version of the first event of a request; undefined if only the database knows it. */
export function firstVersion(expected: AppendRequest['expected']): number | undefined {
  if (expected === 'any') return undefined;
  if (expected === 'new') return 1;
  return (typeof expected === 'number' ? expected : expected.owned) + 1;
}

/** As `readSubjects` returns them. */
export function subjectsOf(rows: readonly RecentRow[], { types, bytes }: SubjectOptions): EventSubject[] {
  return rows
    .filter(({ type }) => types.includes(type))
    .flatMap(({ position, site, subject }) =>
      subject !== undefined && subject.length >= bytes * 2 ? [{ position, site, subject }] : [],
    );
}

/** As `readEventFields` returns them. */
export function fieldsOf(rows: readonly RecentRow[], options: FieldOptions): EventField[] {
  const { category, opening, field, limit } = options;
  const fields: EventField[] = [];
  for (const row of rows) {
    if (row.category !== category) continue;
    if (fields.length === limit) break;
    const isOpening = row.type === opening.type;
    const value = (row.data() as Readonly<Record<string, unknown>>)[isOpening ? opening.field : field];
    const timeMs = isOpening ? row.timeMs : 0;
    const site = isOpening ? row.site : '';
    const { position, streamId: stream } = row;
    fields.push({
      position,
      stream,
      isOpening,
      site,
      timeMs,
      value: value === undefined ? null : JSON.stringify(value),
    });
  }
  return fields;
}
