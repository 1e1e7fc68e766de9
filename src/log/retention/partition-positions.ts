import type { ClientBase } from 'pg';
import type { StoredEvent } from '../event.js';
import type { Queryable } from '../event-reader.js';
import { shardOf } from '../projections/shard.js';

/**
 * Progress of a projection in single shards of the log, beyond its position. A Kafka consumer saves it for its partition with
 * the rows that it writes; the runner, which reads the whole log, skips those events. So both may feed one projection, in turn
 * or at the same time, and every event is folded once.
 */
export interface Shard {
  readonly category: string;
  readonly shards: number;
  readonly shard: number;
}

export class PartitionPositions {
  static readonly none = new PartitionPositions([]);

  private constructor(private readonly rows: readonly (Shard & { position: number })[]) {}

  static async read(source: Queryable, projection: string): Promise<PartitionPositions> {
    const { rows } = await source.query<Shard & { position: string }>(
      'SELECT category, shards, shard, position FROM cc.partition_checkpoints WHERE projection = $1',
      [projection],
    );
    return new PartitionPositions(rows.map((row) => ({ ...row, position: Number(row.position) })));
  }

  get isEmpty(): boolean {
    return this.rows.length === 0;
  }

  /** Up to where any consumer has folded. */
  get furthest(): number {
    return Math.max(0, ...this.rows.map(({ position }) => position));
  }

  of({ category, shards, shard }: Shard): number {
    return (
      this.rows.find((row) => row.category === category && row.shards === shards && row.shard === shard)?.position ?? 0
    );
  }

  /** Whether a consumer has already folded the event from its shard. */
  covers({ stream, position }: StoredEvent): boolean {
    const category = stream.slice(0, stream.indexOf('-'));
    return this.rows.some((row) => {
      return row.category === category && position <= row.position && shardOf(stream, row.shards) === row.shard;
    });
  }
}

/** Locks the shard until the transaction ends: a consumer that returns after a pause waits and finds its events folded. */
export async function lockPartitionPosition(
  tx: ClientBase,
  projection: string,
  { category, shards, shard }: Shard,
): Promise<number> {
  const values = [projection, category, shards, shard];
  await tx.query(
    'INSERT INTO cc.partition_checkpoints (projection, category, shards, shard, position) VALUES ($1, $2, $3, $4, 0) ON CONFLICT DO NOTHING',
    values,
  );
  const { rows } = await tx.query<{ position: string }>(
    `SELECT position FROM cc.partition_checkpoints
      WHERE projection = $1 AND category = $2 AND shards = $3 AND shard = $4 FOR UPDATE`,
    values,
  );
  return Number(rows[0]?.position ?? 0);
}

export async function savePartitionPosition(
  tx: ClientBase,
  projection: string,
  shard: Shard,
  position: number,
): Promise<void> {
  await tx.query(
    'UPDATE cc.partition_checkpoints SET position = $5 WHERE projection = $1 AND category = $2 AND shards = $3 AND shard = $4',
    [projection, shard.category, shard.shards, shard.shard, position],
  );
}
