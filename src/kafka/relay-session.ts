import { type PublicEvent, readPublicEvents } from '../log/event-reader.js';
import type { Postgres } from '../postgres/postgres.js';
import { makeBatch } from './batch.js';
import type { Checkpoints } from './checkpoint.js';
import type { FencedProducer } from './fenced-producer.js';
import type { StartingPoint } from './starting-point.js';

/** From fencing the others out to the first failure. What it begins with was read from Kafka after the fence. */
export class RelaySession {
  private after: number;
  /** The next page, where much is waiting: it is read while the one before it is on its way. */
  private ahead: Promise<PublicEvent[]> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly producer: FencedProducer,
    private readonly checkpoints: Checkpoints,
    private readonly clusterId: string,
    private readonly cell: string,
    private readonly start: StartingPoint,
  ) {
    this.after = start.after;
  }

  /** One page of the log, in one transaction. Returns how many events were there to publish. */
  async publishPage(limit: number): Promise<number> {
    const events = await (this.ahead ?? this.read(this.after, limit));
    this.ahead = undefined;
    if (events.length === 0) return 0;
    const { ends } = this.start;
    const batch = makeBatch(events, this.after, ends, this.cell);
    if (events.length === limit) this.ahead = this.read(batch.until, limit);
    if (batch.groups.length > 0) await this.producer.publish(batch.groups);
    for (const { category, partition, until } of batch.groups) ends.set(category, partition, until);
    this.after = batch.until;
    // A lower bound: should it not be written, the topics' ends tell the rest.
    await this.checkpoints.save(this.clusterId, this.after, ends).catch(() => {});
    return events.length;
  }

  private read(after: number, limit: number): Promise<PublicEvent[]> {
    const events = readPublicEvents(this.postgres.pool, after, limit);
    // Heard where it is waited for; until then it must not be taken for one that nobody hears.
    events.catch(() => {});
    return events;
  }

  drop(): void {
    this.producer.drop();
  }
}
