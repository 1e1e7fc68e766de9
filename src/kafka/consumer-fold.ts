import { DatabaseError, type PoolClient } from 'pg';
import { messageOf } from '../kernel/errors.js';
import type { StoredEvent } from '../log/event.js';
import { lockPartitionCheckpoint, type Shard, savePartitionCheckpoint } from '../log/partition-checkpoints.js';
import type { Projection } from '../log/projection.js';
import { isPoison } from '../log/projection-runner.js';
import type { Postgres } from '../postgres/postgres.js';
import { DeliveredPage } from './delivered-page.js';

const TRIES_MAX = 10;

/**
 * Folds what one partition delivered, and marks how far that goes, in one transaction. What is not above the mark, or not
 * above the projection's checkpoint, was folded before: redelivery, rebalancing and a second consumer that does not know
 * it is one change nothing.
 */
export class ConsumerFold {
  /** The projection's checkpoint as last seen: nothing up to it needs to be looked into. */
  floor = 0;

  constructor(
    private readonly postgres: Postgres,
    private readonly projection: Projection,
    private readonly say: (line: string) => void,
  ) {}

  /** Says whether it could: false when the projection is parked, and nothing of this was taken. */
  async fold(shard: Shard, events: readonly StoredEvent[]): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.inTransaction(shard, events);
      } catch (error) {
        // Two partitions write to the same row, each in its own order: one of them is told to try again.
        const collided = error instanceof DatabaseError && /^40/.test(error.code ?? '');
        if (collided && tries < TRIES_MAX) continue;
        if (!isPoison(error)) throw error;
        if (events.length === 1) return this.park(events[0] as StoredEvent, error);
        // One by one, to find out which of them it is.
        for (const event of events) if (!(await this.fold(shard, [event]))) return false;
        return true;
      }
    }
  }

  private async inTransaction(shard: Shard, events: readonly StoredEvent[]): Promise<boolean> {
    const client = await this.postgres.pool.connect();
    try {
      await client.query('BEGIN');
      const folded = await this.foldNew(client, shard, events);
      await client.query('COMMIT');
      return folded;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {});
      throw error;
    } finally {
      client.release();
    }
  }

  private async foldNew(client: PoolClient, shard: Shard, events: readonly StoredEvent[]): Promise<boolean> {
    // Shared with the other partitions; a rebuild, or whoever folds from the log, takes it alone.
    const { rows } = await client.query<{ position: string; parked: boolean }>(
      'SELECT position, parked FROM cc.projections WHERE name = $1 FOR SHARE',
      [this.projection.name],
    );
    if (rows[0]?.parked) return false;
    this.floor = Number(rows[0]?.position ?? 0);
    let last = Math.max(this.floor, await lockPartitionCheckpoint(client, this.projection.name, shard));
    const before = last;
    const fresh: StoredEvent[] = [];
    for (const event of events) {
      if (event.position <= last) continue;
      fresh.push(event);
      last = event.position;
    }
    if (last === before) return true;
    await this.projection.fold(new DeliveredPage(client, fresh));
    await savePartitionCheckpoint(client, this.projection.name, shard, last);
    return true;
  }

  private async park(event: StoredEvent, error: unknown): Promise<false> {
    const reason = `event ${event.id} at position ${event.position} (${event.type}): ${messageOf(error)}`;
    await this.postgres.pool.query('UPDATE cc.projections SET parked = true, reason = $2 WHERE name = $1', [
      this.projection.name,
      reason,
    ]);
    this.say(`Projection ${this.projection.name} is parked at ${reason}`);
    return false;
  }
}
