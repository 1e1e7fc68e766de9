import { Injectable, type OnModuleDestroy, ServiceUnavailableException } from '@nestjs/common';
import { redactEvent } from '../../history/redact-event.js';
import { TooManyRequests } from '../../kernel/errors.js';
import type { StoredEvent } from '../../log/event.js';
import { EventLog } from '../../log/event-log.js';
import type { ReadOptions } from '../../log/event-reader.js';
import type { Follower } from '../../log/follower.js';
import { may, type Principal } from '../../users/access.js';
import { type Credential, Credentials } from '../access/credentials.js';
import { EventStream, type StreamSelection, streamedEvent } from './event-stream.js';

const STREAMS_MAX = 100;
const STREAMS_PER_USER_MAX = 10;
const RETRY_AFTER_S = 30;
/** How far back a reader can continue. Older events are in the lists and exports. */
const RESUME_EVENTS = 50_000;
const PAGE_EVENTS = 200;
/** Read at once, at least, to find the newest events that a reader sees. */
const NEWEST_EVENTS = 100;
/** How often the access of each reader is checked, and each is told how far it is: it notices by that that the service is gone. */
const TICK_EVERY_MS = 1_000;
/** Nothing is sent to a reader whose access was not confirmed for so long: the database stalls, or the process was frozen. */
const STALE_MS = 10_000;
/** How long browsers wait before they connect again. */
const RETRY_MS = 2_000;

/** Who reads, and what. */
interface StreamRequest {
  readonly principal: Principal;
  readonly credential: Credential;
  readonly selection: StreamSelection;
  /** Continue after this position; undefined: with the next event. */
  readonly after: number | undefined;
  /** At most so many of the missed matching events are sent, the newest ones. Undefined: all. */
  readonly missedMax?: number | undefined;
}

/** Sends new events to all readers. One follower of the log serves them all; without readers there is none. */
@Injectable()
export class EventStreams implements OnModuleDestroy {
  private readonly streams = new Set<EventStream>();
  private following: Promise<Follower> | undefined;
  /** Position of the newest event that the follower has read. */
  private position = 0;
  private timer: NodeJS.Timeout | undefined;
  private checking: Promise<unknown> | undefined;
  private lastRead: Promise<unknown> = Promise.resolve();
  private isClosing = false;

  constructor(
    private readonly log: EventLog,
    private readonly credentials: Credentials,
  ) {}

  async open({ principal, credential, selection, after, missedMax }: StreamRequest): Promise<EventStream> {
    this.requireRoom(principal);
    const stream = new EventStream(principal, credential, selection);
    this.streams.add(stream);
    stream.once('close', () => this.remove(stream));
    try {
      const follower = await this.follow();
      // The reader may have read the log after the follower did.
      if (after !== undefined && after > this.position) await follower.poll();
    } catch (error) {
      stream.destroy();
      throw error;
    }
    // Positions beyond the head are those of a database that was replaced by its backup.
    const start = Math.min(after ?? this.position, this.position);
    stream.position = start;
    stream.write(`retry: ${RETRY_MS}\n`);
    stream.sendPosition();
    if (after !== undefined && after > start) stream.write(skippedLines(after, start));
    // An error closes the stream: the reader connects again, and continues where it was.
    void this.catchUp(stream, missedMax).catch(() => stream.destroy());
    return stream;
  }

  /** Before the listener closes, which would wait for the answers to end. */
  onModuleDestroy(): void {
    this.isClosing = true;
    for (const stream of this.streams) stream.finish();
  }

  private requireRoom({ userId }: Principal): void {
    if (this.isClosing) throw new ServiceUnavailableException('The service stops. Connect again.');
    const own = [...this.streams].filter(({ principal }) => principal.userId === userId);
    if (own.length >= STREAMS_PER_USER_MAX)
      throw new TooManyRequests(`You have ${STREAMS_PER_USER_MAX} event streams. Close one.`, RETRY_AFTER_S);
    if (this.streams.size >= STREAMS_MAX)
      throw new TooManyRequests('Too many event streams are open. Try again later.', RETRY_AFTER_S);
  }

  private remove(stream: EventStream): void {
    this.streams.delete(stream);
    if (this.streams.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
    const { following } = this;
    this.following = undefined;
    // Its start may have failed, which `open` reports.
    following?.then((follower) => follower.stop()).catch(() => {});
  }

  private follow(): Promise<Follower> {
    this.timer ??= setInterval(() => this.tick(), TICK_EVERY_MS);
    this.following ??= this.startFollowing().catch((error: unknown) => {
      this.following = undefined;
      throw error;
    });
    return this.following;
  }

  private async startFollowing(): Promise<Follower> {
    // Not the position that was reached before: the database may have been restored since.
    this.position = await this.log.head();
    return this.log.follow({ name: 'streams', after: this.position }, (events) => this.deliver(events));
  }

  private deliver(events: readonly StoredEvent[]): void {
    const page = events.map((event) => streamedEvent(redactEvent(event)));
    this.position = Math.max(this.position, page.at(-1)?.position ?? 0);
    for (const stream of this.streams) {
      if (isStale(stream)) stream.finish();
      else if (stream.isLive) stream.send(page, this.position);
    }
  }

  /** Reads what the reader missed. */
  private async catchUp(stream: EventStream, missedMax: number | undefined): Promise<void> {
    await this.skip(stream, missedMax);
    while (stream.position < this.position && !stream.destroyed) {
      const until = this.position;
      const events = await this.readMissed(stream, { until, limit: PAGE_EVENTS });
      const last = events.length < PAGE_EVENTS ? until : (events.at(-1) as StoredEvent).position;
      stream.send(
        events.map((event) => streamedEvent(redactEvent(event))),
        last,
      );
      await stream.drained();
    }
    stream.isLive = true;
  }

  /** Passes over what is too old, and over what is more than the reader wants to catch up on. */
  private async skip(stream: EventStream, missedMax: number | undefined): Promise<void> {
    const after = stream.position;
    const oldest = this.position - RESUME_EVENTS;
    // Positions leap at a failover: there may be fewer events than positions.
    if (after < oldest && (await this.log.pageEnd(after, RESUME_EVENTS)) < this.position) stream.position = oldest;
    if (missedMax !== undefined && stream.position < this.position)
      stream.position = await this.startOfNewest(stream, missedMax);
    const { position: until } = stream;
    if (until > after) stream.write(skippedLines(after, until));
  }

  /** The position after which the reader sees only so many events. */
  private async startOfNewest(stream: EventStream, count: number): Promise<number> {
    const limit = Math.max(count + 1, NEWEST_EVENTS);
    let seen = 0;
    for (let until = this.position; ; ) {
      const page = await this.readMissed(stream, { until, limit, newest: true });
      // Those about users, which not every reader of all sites sees, do not count.
      const visible = page.filter((event) => stream.sees(event));
      if (seen + visible.length > count) return (visible.at(seen - count - 1) as StoredEvent).position;
      if (page.length < limit || stream.destroyed) return stream.position;
      seen += visible.length;
      until = (page[0] as StoredEvent).position - 1;
    }
  }

  /** One query at a time for all readers, however many connect again at once. */
  private readMissed({ selection, position: after }: EventStream, options: ReadOptions): Promise<StoredEvent[]> {
    const { site, types } = selection;
    const filter = { ...(site !== undefined && { site }), ...(types && { types }) };
    const read = this.lastRead.then(() => this.log.read({ ...filter, after, ...options }));
    this.lastRead = read.catch(() => {});
    return read;
  }

  private tick(): void {
    for (const stream of this.streams) if (isStale(stream)) stream.finish();
    this.checking ??= Promise.all([this.checkAccess(), this.checkPosition()]).finally(() => {
      this.checking = undefined;
    });
    for (const stream of this.streams) if (stream.isLive) stream.sendPosition();
  }

  /** Ends all streams if the log is shorter than what was read of it, because the database was restored: readers connect again. */
  private async checkPosition(): Promise<void> {
    const { position } = this;
    const head = await this.log.head().catch(() => position);
    if (head < position) for (const stream of this.streams) stream.finish();
  }

  /** Ends the streams of readers whose access has changed: who may still read connects again with the new access. */
  private async checkAccess(): Promise<void> {
    const credentials = new Map([...this.streams].map(({ credential }) => [credential.text, credential]));
    for (const credential of credentials.values()) {
      const askedMs = performance.now();
      // Unknown while the database is unreachable: the streams become stale.
      const found = await this.credentials.find(credential, false).catch(() => 'unknown' as const);
      if (found === 'unknown') continue;
      for (const stream of this.streams) {
        if (stream.credential.text !== credential.text) continue;
        if (found && isSameAccess(found, stream.principal)) stream.checkedMs = askedMs;
        else stream.finish();
      }
    }
  }
}

function skippedLines(after: number, until: number): string {
  return `event: skipped\nid: ${until}\ndata: ${JSON.stringify({ after, until })}\n\n`;
}

function isStale({ checkedMs }: EventStream): boolean {
  return performance.now() - checkedMs > STALE_MS;
}

function isSameAccess(now: Principal, before: Principal): boolean {
  return may(now, 'read') && JSON.stringify(now) === JSON.stringify(before);
}
