import { type PublicEvent, readPublicEvents } from '../log/event-reader.js';
import type { RecentEvents } from '../log/recent-events.js';
import type { Postgres } from '../postgres/postgres.js';
import { makeBatch } from './batch.js';
import type { FencedProducer } from './fenced-producer.js';
import type { RelayProgressStore } from './relay-progress.js';
import type { StartingPoint } from './starting-point.js';

/** Publishing from one fencing to the first failure. The starting point was read from Kafka after the fencing. */
export class RelaySession {
  private after: number;
  /** The next page of a backlog, read while the previous page is being sent. */
  private nextPage: Promise<PublicEvent[]> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly recent: RecentEvents,
    private readonly producer: FencedProducer,
    private readonly progress: RelayProgressStore,
    private readonly clusterId: string,
    private readonly cell: string,
    private readonly start: StartingPoint,
  ) {
    this.after = start.after;
  }

  /** Publishes one page of the log in one transaction. Returns the number of events in the page. */
  async publishPage(limit: number): Promise<number> {
    const events = await (this.nextPage ?? this.read(this.after, limit));
    this.nextPage = undefined;
    if (events.length === 0) return 0;
    const { published } = this.start;
    const batch = makeBatch(events, this.after, published, this.cell);
    if (events.length === limit) this.nextPage = this.read(batch.until, limit);
    if (batch.partitionBatches.length > 0) await this.producer.publish(batch.partitionBatches);
    for (const { category, partition, until } of batch.partitionBatches) published.set(category, partition, until);
    this.after = batch.until;
    // A lower bound: if the write fails, the next session reads the ends of the topics.
    await this.progress.save(this.clusterId, this.after, published).catch(() => {});
    return events.length;
  }

  private read(after: number, limit: number): Promise<PublicEvent[]> {
    const recent = this.recent.next(after, limit);
    if (recent.length > 0) return Promise.resolve(recent.map((row) => row.publicEvent()));
    const events = readPublicEvents(this.postgres.pool, after, limit);
    // The error is handled where the page is awaited. This prevents an unhandled rejection until then.
    events.catch(() => {});
    return events;
  }

  close(): void {
    this.producer.disconnect();
  }
}
