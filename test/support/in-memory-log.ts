import type { ClientBase } from 'pg';
import { isExpiry } from '../../src/events/visitor.events.js';
import { LogUnavailable } from '../../src/kernel/errors.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import type { ChangeWithEvents } from '../../src/log/append/append-in-transaction.js';
import { meets } from '../../src/log/data-condition.js';
import type { AppendOutcome, AppendRequest, EventsOf, StoredEvent, StreamEvent } from '../../src/log/event.js';
import { type EventField, EventLog, type FieldOptions } from '../../src/log/event-log.js';
import {
  type CountOptions,
  countAmong,
  type EventCount,
  type EventSubject,
  type ReadOptions,
  type SomeOptions,
  type SubjectOptions,
} from '../../src/log/event-reader.js';
import { Follower, type FollowOptions } from '../../src/log/follower.js';

interface DedupClaim {
  readonly stream: string;
  readonly weak: boolean;
  readonly atMs: number;
}

/** There is no database: what a command changes beside the log is in memory too, or has no effect. */
const WITHOUT_TABLES = { query: async () => ({ rows: [] }) } as unknown as ClientBase;

/**
 * The log in memory, for specs of command handlers: same contract as `PostgresEventLog` (`event-log.contract.ts` runs on both),
 * without durability, partitions or inline projections.
 */
export class InMemoryLog extends EventLog {
  private readonly events: { readonly event: StoredEvent; readonly reference: string | undefined }[] = [];
  private leap = 0;
  private readonly claims = new Map<string, DedupClaim>();
  private readonly followers = new Set<Follower>();
  private readonly listeners = new Set<(category: string) => void>();

  constructor(private readonly now: () => number = Date.now) {
    super();
  }

  async append(request: AppendRequest): Promise<AppendOutcome> {
    const { category, stream, expected, site, actor, events, claim, notAfterMs } = request;
    const name = `${category}-${stream}`;
    const version = this.stream(name).length;
    const base = versionOf(expected) ?? version;
    if (base !== version) return { status: 'conflict' };
    if (notAfterMs !== undefined && this.now() > notAfterMs) throw new LogUnavailable('The append timed out');
    if (this.isStale(request)) return { status: 'stale' };
    const nowMs = Math.max(this.now(), Date.parse(this.events.at(-1)?.event.time ?? '1970-01-01T00:00:00Z'));
    if (claim) {
      const key = `${site} ${claim.key}`;
      const held = this.claims.get(key);
      if (held && held.atMs > nowMs - claim.windowMs && (claim.weak || !held.weak))
        return { status: 'claimed', by: held.stream };
      this.claims.set(key, { stream, weak: claim.weak, atMs: nowMs });
    }
    const time = new Date(nowMs).toISOString();
    for (const [index, { type, data, personal, reference }] of events.entries()) {
      const event = {
        position: this.newest() + this.leap + 1,
        id: request.ids?.[index] ?? uuidv7(),
        type,
        stream: name,
        version: base + index + 1,
        site,
        time,
        actor,
        // As PostgreSQL stores it: a copy in JSON, without undefined fields.
        data: JSON.parse(JSON.stringify(data)),
        personal: personal ? JSON.parse(JSON.stringify(personal)) : null,
      } as StoredEvent;
      this.events.push({ event, reference });
      this.leap = 0;
    }
    for (const listener of this.listeners) listener(category);
    return { status: 'appended', position: this.newest(), time };
  }

  async appendWith(
    request: AppendRequest & { readonly expected: number },
    change: ChangeWithEvents,
  ): Promise<AppendOutcome> {
    const name = `${request.category}-${request.stream}`;
    if (this.stream(name).length !== request.expected) return { status: 'conflict' };
    await change(WITHOUT_TABLES, (other) => this.append(other));
    return this.append(request);
  }

  async read<Type extends string = string>(options: ReadOptions<Type> = {}): Promise<EventsOf<Type>[]> {
    const {
      after = 0,
      until = Number.POSITIVE_INFINITY,
      limit,
      newest,
      categories,
      site,
      subjectBytes,
      unless,
      where = [],
    } = options;
    const types: readonly string[] | undefined = options.types;
    const found = this.all().filter(({ position, stream, type, site: own, data, personal }) => {
      if (position <= after || position > until) return false;
      if (categories && !categories.includes(stream.slice(0, stream.indexOf('-')))) return false;
      if (types && !types.includes(type)) return false;
      if (site !== undefined && site !== own) return false;
      if (subjectBytes !== undefined && personal?.subject?.length !== 2 * subjectBytes) return false;
      if (!meets(data, where)) return false;
      return !unless || String((data as Record<string, unknown>)[unless.field]) !== unless.is;
    }) as EventsOf<Type>[];
    if (limit === undefined) return found;
    return newest ? found.slice(-limit) : found.slice(0, limit);
  }

  async readStream<Category extends string>(category: Category, stream: string): Promise<StreamEvent<Category>[]> {
    return this.stream(`${category}-${stream}`) as StreamEvent<Category>[];
  }

  async readStreams<Category extends string>(category: Category, streams: readonly string[]) {
    const names = streams.map((stream) => `${category}-${stream}`);
    const found = names.flatMap((name) => this.stream(name)).map((event) => ({ ...event, personal: null }));
    return found as StreamEvent<Category>[];
  }

  async readFields(options: FieldOptions): Promise<EventField[]> {
    const { after, until, limit, category, opening, field } = options;
    return (await this.read({ after, until, limit, categories: [category] })).map(
      ({ position, stream, type, site, time, data }) => {
        const isOpening = type === opening.type;
        const value = (data as Record<string, unknown>)[isOpening ? opening.field : field];
        return {
          position,
          stream: stream.slice(category.length + 1),
          isOpening,
          site: isOpening ? site : '',
          timeMs: isOpening ? Date.parse(time) : 0,
          value: value === undefined ? null : JSON.stringify(value),
        };
      },
    );
  }

  async findOpened(category: string, streams: readonly string[]) {
    const openings = await this.readOpenings(category, streams);
    return new Map(openings.map(({ stream, type, id }) => [stream.slice(category.length + 1), { type, id }]));
  }

  async readOpenings<Category extends string>(category: Category, streams: readonly string[]) {
    const names = streams.map((stream) => `${category}-${stream}`);
    return this.all().filter(
      ({ stream, version }) => version === 1 && names.includes(stream),
    ) as StreamEvent<Category>[];
  }

  async readEnds<Category extends string>(category: Category, streams: readonly string[]) {
    const ends = streams.map((stream) => this.stream(`${category}-${stream}`).at(-1));
    return ends.filter((end) => end !== undefined) as StreamEvent<Category>[];
  }

  async find(site: string, reference: string, some?: SomeOptions): Promise<StoredEvent[]> {
    const found = this.events
      .filter((stored) => stored.event.site === site && stored.reference === reference)
      .map(({ event }) => event)
      .filter(({ type }) => some === undefined || some.types.includes(type))
      .filter(({ position }) => position > (some?.after ?? 0));
    return some?.newest ? found.slice(-some.limit) : found.slice(0, some?.limit);
  }

  async count({ after, until, site, types, by }: CountOptions): Promise<EventCount[]> {
    return countAmong(await this.read({ after, until, types, ...(site !== undefined && { site }) }), by);
  }

  async subjects({ after, until, types, bytes }: SubjectOptions): Promise<EventSubject[]> {
    return (await this.read({ after, until, types })).flatMap(({ position, site, personal }) => {
      const subject = personal?.subject;
      return subject?.length === 2 * bytes ? [{ position, site, subject }] : [];
    });
  }

  async head(): Promise<number> {
    return this.newest();
  }

  /** As after a failover: the next event has a position far beyond the newest one. */
  skipPositions(count: number): void {
    this.leap = count;
  }

  private newest(): number {
    return this.events.at(-1)?.event.position ?? 0;
  }

  async removedUntil(): Promise<number> {
    return 0;
  }

  async lastJump(): Promise<undefined> {
    return undefined;
  }

  async pageEnd(after: number, limit: number): Promise<number> {
    return (await this.read({ after, limit })).at(-1)?.position ?? after;
  }

  async positionBefore(time: Date): Promise<number> {
    return this.all().findLast((event) => Date.parse(event.time) < time.getTime())?.position ?? 0;
  }

  async incompleteSites(): Promise<ReadonlySet<string>> {
    return new Set();
  }

  async positionOf(stream: string, version: number): Promise<number | undefined> {
    return this.all().find((event) => event.stream.endsWith(`-${stream}`) && event.version === version)?.position;
  }

  async follow(options: FollowOptions, apply: (events: StoredEvent[]) => void | Promise<void>): Promise<Follower> {
    const follower = new Follower(this, options, apply, () => this.followers.delete(follower));
    this.followers.add(follower);
    await follower.start({
      on: (listener) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
      },
    });
    return follower;
  }

  readers(): Follower[] {
    return [...this.followers];
  }

  async refusal(): Promise<undefined> {}

  async takeLost(): Promise<[]> {
    return [];
  }

  async close(): Promise<void> {
    for (const follower of this.followers) await follower.stop();
  }

  private isStale({ site, events, asOf }: AppendRequest): boolean {
    const subject = events[0].personal?.subject;
    return this.all().some((event) => {
      if (!asOf || event.position <= asOf.position || event.site !== site) return false;
      if (!event.stream.startsWith('visitor-')) return false;
      if (event.type === 'visitor.erased.v1' && isExpiry(event.data)) return false;
      return event.personal?.subject === undefined ? asOf.found : event.personal.subject === subject;
    });
  }

  private all(): StoredEvent[] {
    return this.events.map(({ event }) => event);
  }

  private stream(name: string): StoredEvent[] {
    return this.all().filter(({ stream }) => stream === name);
  }
}

/** The version that the stream must have; undefined if any will do. */
function versionOf(expected: AppendRequest['expected']): number | undefined {
  if (expected === 'any') return undefined;
  if (expected === 'new') return 0;
  return typeof expected === 'object' ? expected.owned : expected;
}
