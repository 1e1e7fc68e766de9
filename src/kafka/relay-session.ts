import { readPublicEvents } from '../log/event-reader.js';
import type { Postgres } from '../postgres/postgres.js';
import { makeBatch } from './batch.js';
import type { Checkpoints } from './checkpoint.js';
import type { FencedProducer } from './fenced-producer.js';
import type { StartingPoint } from './starting-point.js';

/** From fencing the others out to the first failure. What it begins with was read from Kafka after the fence. */
export class RelaySession {
  private after: number;

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
    const events = await readPublicEvents(this.postgres.pool, this.after, limit);
    if (events.length === 0) return 0;
    const { ends } = this.start;
    const batch = makeBatch(events, this.after, ends, this.cell);
    if (batch.groups.length > 0) await this.producer.publish(batch.groups);
    for (const { noun, partition, until } of batch.groups) ends.set(noun, partition, until);
    this.after = batch.until;
    // A lower bound: should it not be written, the topics' ends tell the rest.
    await this.checkpoints.save(this.clusterId, this.after, ends).catch(() => {});
    return events.length;
  }

  drop(): void {
    this.producer.drop();
  }
}
