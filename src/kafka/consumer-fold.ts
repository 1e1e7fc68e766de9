import { DatabaseError, type PoolClient } from 'pg';
import { messageOf } from '../kernel/errors.js';
import type { StoredEvent } from '../log/event.js';
import { lockPartitionCheckpoint, type Shard, savePartitionCheckpoint } from '../log/partition-checkpoints.js';
import type { Projection } from '../log/projection.js';
import { isPoison } from '../log/projection-runner.js';
import type { Postgres } from '../postgres/postgres.js';
import { transaction } from '../postgres/transaction.js';
import { ConsumedPage } from './consumed-page.js';

const ATTEMPTS_MAX = 10;

/**
 * Folds the events of one partition and saves its partition checkpoint in one transaction. Events at or below the
 * partition checkpoint or the projection's checkpoint are skipped as already folded, so redelivery, a rebalance and a
 * second consumer on the same partition have no effect.
 */
export class ConsumerFold {
  /** The projection's checkpoint as last read. Events up to it need not be decoded. */
  checkpoint = 0;

  constructor(
    private readonly postgres: Postgres,
    private readonly projection: Projection,
    private readonly logError: (line: string) => void,
  ) {}

  /** Returns false if the projection is parked; the remaining events are then not folded. */
  async fold(shard: Shard, events: readonly StoredEvent[]): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await transaction(this.postgres.pool, (client) => this.foldNew(client, shard, events));
      } catch (error) {
        // Serialization failure or deadlock (class 40): two partitions updated the same rows in different order.
        const isRetryable = error instanceof DatabaseError && /^40/.test(error.code ?? '');
        if (isRetryable && attempt < ATTEMPTS_MAX) continue;
        if (!isPoison(error)) throw error;
        if (events.length === 1) return this.park(events[0] as StoredEvent, error);
        // Fold one event at a time to find the one that fails.
        for (const event of events) if (!(await this.fold(shard, [event]))) return false;
        return true;
      }
    }
  }

  private async foldNew(client: PoolClient, shard: Shard, events: readonly StoredEvent[]): Promise<boolean> {
    // Shared with the other partitions. A rebuild and the log's tail lock the row exclusively.
    const { rows } = await client.query<{ position: string; parked: boolean }>(
      'SELECT position, parked FROM cc.projections WHERE name = $1 FOR SHARE',
      [this.projection.name],
    );
    if (rows[0]?.parked) return false;
    this.checkpoint = Number(rows[0]?.position ?? 0);
    let last = Math.max(this.checkpoint, await lockPartitionCheckpoint(client, this.projection.name, shard));
    const before = last;
    const newEvents: StoredEvent[] = [];
    for (const event of events) {
      if (event.position <= last) continue;
      newEvents.push(event);
      last = event.position;
    }
    if (last === before) return true;
    await this.projection.fold(new ConsumedPage(client, newEvents));
    await savePartitionCheckpoint(client, this.projection.name, shard, last);
    return true;
  }

  private async park(event: StoredEvent, error: unknown): Promise<false> {
    const reason = `event ${event.id} at position ${event.position} (${event.type}): ${messageOf(error)}`;
    await this.postgres.pool.query('UPDATE cc.projections SET parked = true, reason = $2 WHERE name = $1', [
      this.projection.name,
      reason,
    ]);
    this.logError(`Projection ${this.projection.name} is parked at ${reason}`);
    return false;
  }
}
