import { InvalidArgumentError } from 'commander';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Opened } from './session.js';

const PAGE_EVENTS = 2_000;
/** Fewer than the connections of the pool. */
const STREAMS_AT_ONCE = 4;

/** A place in the log: a position, or the moment between two. */
export type Bound = { readonly position: number } | { readonly time: Date };

/** As it is typed. */
export interface FilterOptions {
  readonly site?: string;
  readonly type?: string[];
  readonly order?: string;
  readonly from?: Bound;
  readonly to?: Bound;
}

const TIME = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?(Z|[+-]\d{2}:\d{2})?$/;

/** Without a zone a time is UTC, as all times are that we print. */
export function readBound(text: string): Bound {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return { position: Number(text) };
  const [, day = '', clock = 'T00:00', zone = 'Z'] = TIME.exec(text) ?? [];
  const time = new Date(`${day}${clock}${zone}`);
  // JavaScript takes the 30th of February for the 2nd of March.
  const exists = !Number.isNaN(time.getTime()) && new Date(day).toISOString().startsWith(day);
  if (!exists)
    throw new InvalidArgumentError(
      'Give a position such as 1017, or a time such as 2025-03-01 or 2025-03-01T09:30:00Z.',
    );
  return { time };
}

/** Which events somebody wants to see: in the log as it is, and of those that are still to come. */
export class EventFilter {
  private constructor(
    private readonly log: EventLog,
    private readonly options: FilterOptions,
    /** The host, also where an alias was given. */
    private readonly site: string | undefined,
    /** Where to look for an order. */
    private readonly hosts: readonly string[],
    private readonly after: number,
    private readonly until: number | undefined,
  ) {}

  static async open({ log, sites }: Opened, options: FilterOptions): Promise<EventFilter> {
    const { from, to, order } = options;
    const site = options.site === undefined ? undefined : (await sites.get(options.site)).host;
    const hosts = site !== undefined ? [site] : order !== undefined ? (await sites.all()).map(({ host }) => host) : [];
    const after = from ? await lastBefore(log, from) : 0;
    return new EventFilter(log, options, site, hosts, after, to && (await lastBefore(log, to)));
  }

  /** The newest `count` of those up to a position. */
  async last(count: number, head: number): Promise<StoredEvent[]> {
    if (count === 0) return [];
    const { order } = this.options;
    if (order !== undefined) return (await this.ofOrder(order, head)).slice(-count);
    return this.log.read({ ...this.readOptions(head), after: this.after, limit: count, newest: true });
  }

  /** All of those up to a position, page by page: memory holds one of them, whatever the log's length. */
  async *pages(head: number): AsyncGenerator<StoredEvent[]> {
    const { order } = this.options;
    if (order !== undefined) {
      yield await this.ofOrder(order, head);
      return;
    }
    for (let after = this.after; ; ) {
      const events = await this.log.read({ ...this.readOptions(head), after, limit: PAGE_EVENTS });
      yield events;
      const last = events.at(-1);
      if (!last || events.length < PAGE_EVENTS) return;
      after = last.position;
    }
  }

  /** For events that come after those of `last`: it learns which conversions carry the order as they come. */
  follow(earlier: readonly StoredEvent[]): (event: StoredEvent) => boolean {
    const { from, type, order } = this.options;
    const streams = new Set(earlier.map((event) => event.stream));
    return (event) => {
      if (this.site !== undefined && event.site !== this.site) return false;
      if (order !== undefined && event.data['orderId'] === order) streams.add(event.stream);
      if (order !== undefined && !streams.has(event.stream)) return false;
      if (from && isBefore(event, from)) return false;
      return type === undefined || type.includes(event.type);
    };
  }

  /** Nothing that is wanted can come after this one. */
  isBeyond(event: StoredEvent): boolean {
    return this.options.to !== undefined && !isBefore(event, this.options.to);
  }

  private readOptions(head: number) {
    return {
      until: Math.min(head, this.until ?? head),
      ...(this.options.type && { types: this.options.type }),
      ...(this.site !== undefined && { site: this.site }),
    };
  }

  /** Only a conversion's first event carries the order; what became of it stands behind that one in its stream. */
  private async ofOrder(order: string, head: number): Promise<StoredEvent[]> {
    const { type } = this.options;
    const until = Math.min(head, this.until ?? head);
    const events: StoredEvent[] = [];
    for (const host of this.hosts) {
      const streams = [...new Set((await this.log.find(host, order)).map((event) => event.stream))];
      for (let at = 0; at < streams.length; at += STREAMS_AT_ONCE) {
        const read = streams.slice(at, at + STREAMS_AT_ONCE).map((stream) => readWhole(this.log, stream));
        events.push(...(await Promise.all(read)).flat());
      }
    }
    return events
      .filter(({ position }) => position > this.after && position <= until)
      .filter((event) => type === undefined || type.includes(event.type))
      .sort((one, other) => one.position - other.position);
  }
}

function readWhole(log: EventLog, stream: string): Promise<StoredEvent[]> {
  const dash = stream.indexOf('-');
  return log.readStream(stream.slice(0, dash), stream.slice(dash + 1));
}

function isBefore(event: StoredEvent, bound: Bound): boolean {
  return 'position' in bound ? event.position < bound.position : new Date(event.time) < bound.time;
}

async function lastBefore(log: EventLog, bound: Bound): Promise<number> {
  return 'position' in bound ? bound.position - 1 : log.positionBefore(bound.time);
}
