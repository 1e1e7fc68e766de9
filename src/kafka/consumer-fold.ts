import { DatabaseError, type PoolClient } from 'pg';
import { messageOf } from '../kernel/errors.js';
import type { StoredEvent } from '../log/event.js';
import type { Projection } from '../log/projections/projection.js';
import { isPoison } from '../log/projections/projection-runner.js';
import { lockPartitionPosition, type Shard, savePartitionPosition } from '../log/retention/partition-positions.js';
import { LINEAGE } from '../postgres/lineage.js';
import type { Postgres } from '../postgres/postgres.js';
import { transaction } from '../postgres/transaction.js';
import { ConsumedPage } from './consumed-page.js';

const ATTEMPTS_MAX = 10;

/** Where the log was when a consumer had caught up with it. */
export interface KnownHistory {
  /** Lineage of the server, as `readServerLineage` returns it. */
  readonly lineage: string;
  /** Whether the log lost the event at this position in a failover. Its record stays on the topic. */
  isLost(position: number): boolean;
}

/**
 * The database may have lost what was folded, and not the events, and the group has committed their offsets: they are not delivered
 * again. The consumer has to start anew, which folds them from the log.
 */
export class FailedOver extends Error {
  override readonly name = 'FailedOver';
}

/**
 * Folds the events of one partition and saves the position in it in one transaction. Events at or below
 * that position or the projection's position are skipped as already folded, so redelivery, a rebalance and a
 * second consumer on the same partition have no effect.
 */
export class ConsumerFold {
  /** The projection's position as last read. Events up to it need not be decoded. */
  position = 0;

  constructor(
    private readonly postgres: Postgres,
    private readonly projection: Projection,
    private readonly history: KnownHistory,
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
        if (error instanceof FailedOver || !isPoison(error)) throw error;
        if (events.length === 1) return this.park(events[0] as StoredEvent, error);
        // Fold one event at a time to find the one that fails.
        for (const event of events) if (!(await this.fold(shard, [event]))) return false;
        return true;
      }
    }
  }

  private async foldNew(client: PoolClient, shard: Shard, events: readonly StoredEvent[]): Promise<boolean> {
    // Shared with the other partitions. A rebuild and the log's tail lock the row exclusively.
    const { rows } = await client.query<{ position: string; parked: boolean; lineage: string }>(
      `SELECT position, parked, ${LINEAGE} AS lineage FROM cc.projections WHERE name = $1 FOR SHARE`,
      [this.projection.name],
    );
    if (rows[0]?.lineage !== this.history.lineage) throw new FailedOver('The database was restored or failed over');
    if (rows[0].parked) return false;
    this.position = Number(rows[0].position);
    let last = Math.max(this.position, await lockPartitionPosition(client, this.projection.name, shard));
    const before = last;
    const newEvents: StoredEvent[] = [];
    for (const event of events) {
      if (event.position <= last || this.history.isLost(event.position)) continue;
      newEvents.push(event);
      last = event.position;
    }
    if (last === before) return true;
    await this.projection.fold(new ConsumedPage(client, newEvents));
    await savePartitionPosition(client, this.projection.name, shard, last);
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
