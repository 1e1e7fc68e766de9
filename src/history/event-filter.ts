import type { ClientBase } from 'pg';
import { storedForms } from '../conversions/address-digest.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { copyEvents } from '../log/event-reader.js';
import type { LoggedRow } from '../log/event-row.js';
import type { SiteRepository } from '../sites/site-repository.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { type Bound, positionRangeOf } from './bound.js';

/** Below the size of the connection pool. */
const STREAMS_AT_ONCE = 4;
/** An event may become visible this long after its time: the database has its own clock, and followers poll. */
const LATE_MS = 2_000;

/** The filter options of `events tail` and `events export`. */
export interface FilterOptions {
  readonly site?: string;
  readonly type?: string[];
  readonly order?: string;
  readonly from?: Bound;
  readonly to?: Bound;
}

export interface FilterDependencies {
  readonly log: EventLog;
  readonly sites: SiteRepository;
  readonly secrets: SiteSecrets;
}

export interface CopiedPage {
  readonly events: number;
  readonly position: number;
  readonly isLast: boolean;
  /** It ended at the limit of its size: further events were read and dropped. */
  readonly isFull: boolean;
}

/** A page ends at either limit; it has at least one event, however large. */
export interface PageLimits {
  readonly events: number;
  /** Bytes of the rows as the database sends them. */
  readonly bytes: number;
}

/** Selects events by site, type, order and range: those up to the head of the log and, for a follower, later ones. */
export class EventFilter {
  private constructor(
    private readonly log: EventLog,
    private readonly options: FilterOptions,
    /** Head of the log when the filter was opened: `last` and `copyPage` read up to it, a follower starts there. */
    readonly head: number,
    /** The host, also if the option is an alias. */
    private readonly site: string | undefined,
    readonly after: number,
    readonly until: number,
    /** Streams of the conversions with the order. Only opening events contain the order, so later events match by stream. */
    private readonly streams: Set<string> | undefined,
    /** Forms in which the order may be stored, by host. */
    private readonly orders: ReadonlyMap<string, readonly string[]> = new Map(),
  ) {}

  static async open({ log, sites, secrets }: FilterDependencies, options: FilterOptions): Promise<EventFilter> {
    const { order } = options;
    const head = await log.head();
    const site = options.site === undefined ? undefined : (await sites.get(options.site)).host;
    const { after, until } = await positionRangeOf(log, options, site === undefined ? undefined : { host: site });
    if (order === undefined) return new EventFilter(log, options, head, site, after, until, undefined);
    const hosts = site === undefined ? (await sites.everAdded()).map(({ host }) => host) : [site];
    const streams = new Set<string>();
    const orders = new Map<string, readonly string[]>();
    for (const host of hosts) {
      const forms = storedForms(await secrets.dedupSecret(host), order);
      orders.set(host, forms);
      for (const form of forms) for (const event of await log.find(host, form)) streams.add(event.stream);
    }
    return new EventFilter(log, options, head, site, after, until, streams, orders);
  }

  /** The newest `count` matching events. */
  async last(count: number): Promise<StoredEvent[]> {
    if (count === 0) return [];
    if (this.streams) return (await this.readStreams([...this.streams])).slice(-count);
    return this.log.read({ ...this.readOptions(), after: this.after, limit: count, newest: true });
  }

  /** Passes the next page of matching events to `each`, one at a time: memory use does not grow with the log. */
  async copyPage(
    client: ClientBase,
    after: number,
    each: (row: LoggedRow) => void,
    limits: PageLimits,
  ): Promise<CopiedPage> {
    if (this.streams) {
      const events = await this.readStreams([...this.streams]);
      for (const event of events) each(toRow(event));
      return { events: events.length, position: this.until, isLast: true, isFull: false };
    }
    let position = after;
    let events = 0;
    let bytes = 0;
    const sent = await copyEvents(client, { ...this.readOptions(), after, limit: limits.events }, (row) => {
      if (bytes >= limits.bytes) return;
      each(row);
      position = row.position;
      events += 1;
      bytes += row.bytes;
    });
    const isLast = events === sent && sent < limits.events;
    return { events, position: isLast ? this.until : position, isLast, isFull: events < sent };
  }

  /** Whether an event after the head matches. Adds the streams of new conversions with the order. */
  matches(event: StoredEvent): boolean {
    const { from, to, type } = this.options;
    if (this.site !== undefined && event.site !== this.site) return false;
    const isOfOrder = 'orderId' in event.data && this.orders.get(event.site)?.includes(event.data.orderId as string);
    if (isOfOrder) this.streams?.add(event.stream);
    if (this.streams && !this.streams.has(event.stream)) return false;
    if ((from && isBefore(event, from)) || (to && !isBefore(event, to))) return false;
    return type === undefined || type.includes(event.type);
  }

  /** Whether a follower at this position and time can expect no further match. */
  isComplete(position: number, nowMs: number): boolean {
    const { to } = this.options;
    if (!to) return false;
    return 'position' in to ? position >= to.position - 1 : nowMs >= to.time.getTime() + LATE_MS;
  }

  private readOptions() {
    return {
      until: this.until,
      ...(this.options.type && { types: this.options.type }),
      ...(this.site !== undefined && { site: this.site }),
    };
  }

  private async readStreams(streams: readonly string[]): Promise<StoredEvent[]> {
    const { type } = this.options;
    const events: StoredEvent[] = [];
    for (let at = 0; at < streams.length; at += STREAMS_AT_ONCE) {
      const read = streams.slice(at, at + STREAMS_AT_ONCE).map((stream) => readStream(this.log, stream));
      events.push(...(await Promise.all(read)).flat());
    }
    return events
      .filter(({ position }) => position > this.after && position <= this.until)
      .filter((event) => type === undefined || type.includes(event.type))
      .sort((one, other) => one.position - other.position);
  }
}

function readStream(log: EventLog, stream: string): Promise<StoredEvent[]> {
  const dash = stream.indexOf('-');
  return log.readStream(stream.slice(0, dash), stream.slice(dash + 1));
}

function isBefore(event: StoredEvent, bound: Bound): boolean {
  return 'position' in bound ? event.position < bound.position : new Date(event.time) < bound.time;
}

function toRow(event: StoredEvent): LoggedRow {
  const { position, type } = event;
  return {
    position,
    type,
    get dataText() {
      return JSON.stringify(event.data);
    },
    event: () => event,
    writeLine: (lines) => lines.text(`${JSON.stringify(event)}\n`),
  };
}
