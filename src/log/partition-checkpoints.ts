import type { ClientBase } from 'pg';
import type { StoredEvent } from './event.js';
import type { Queryable } from './event-reader.js';
import { shardOf } from './shard.js';

/**
 * How far a projection has come in single shards of the log, beyond its checkpoint. Whoever is handed events shard by
 * shard (a Kafka consumer its partitions) leaves a mark with the rows it wrote; whoever reads the whole log then leaves
 * those events out. So both may feed one projection, in turns or at once, and every event counts once.
 */
export interface Shard {
  readonly category: string;
  readonly shards: number;
  readonly shard: number;
}

export class PartitionCheckpoints {
  static readonly none = new PartitionCheckpoints([]);

  private constructor(private readonly rows: readonly (Shard & { position: number })[]) {}

  static async read(source: Queryable, projection: string): Promise<PartitionCheckpoints> {
    const { rows } = await source.query<Shard & { position: string }>(
      'SELECT category, shards, shard, position FROM cc.partition_checkpoints WHERE projection = $1',
      [projection],
    );
    return new PartitionCheckpoints(rows.map((row) => ({ ...row, position: Number(row.position) })));
  }

  get isEmpty(): boolean {
    return this.rows.length === 0;
  }

  of({ category, shards, shard }: Shard): number {
    return (
      this.rows.find((row) => row.category === category && row.shards === shards && row.shard === shard)?.position ?? 0
    );
  }

  /** Whether somebody has folded it already, out of its shard. */
  cover({ stream, position }: StoredEvent): boolean {
    const category = stream.slice(0, stream.indexOf('-'));
    return this.rows.some((row) => {
      return row.category === category && position <= row.position && shardOf(stream, row.shards) === row.shard;
    });
  }
}

/** Alone in its shard until the transaction ends: one that was thought dead and comes back waits, and finds it done. */
export async function lockPartitionCheckpoint(
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

export async function savePartitionCheckpoint(
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
