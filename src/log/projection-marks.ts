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
  readonly noun: string;
  readonly shards: number;
  readonly shard: number;
}

export class Marks {
  static readonly none = new Marks([]);

  private constructor(private readonly rows: readonly (Shard & { position: number })[]) {}

  static async read(source: Queryable, projection: string): Promise<Marks> {
    const { rows } = await source.query<Shard & { position: string }>(
      'SELECT noun, shards, shard, position FROM cc.projection_marks WHERE projection = $1',
      [projection],
    );
    return new Marks(rows.map((row) => ({ ...row, position: Number(row.position) })));
  }

  get isEmpty(): boolean {
    return this.rows.length === 0;
  }

  of({ noun, shards, shard }: Shard): number {
    return this.rows.find((row) => row.noun === noun && row.shards === shards && row.shard === shard)?.position ?? 0;
  }

  /** Whether somebody has folded it already, out of its shard. */
  cover({ stream, position }: StoredEvent): boolean {
    const noun = stream.slice(0, stream.indexOf('-'));
    return this.rows.some((row) => {
      return row.noun === noun && position <= row.position && shardOf(stream, row.shards) === row.shard;
    });
  }
}

/** Alone in its shard until the transaction ends: one that was thought dead and comes back waits, and finds it done. */
export async function takeMark(tx: ClientBase, projection: string, { noun, shards, shard }: Shard): Promise<number> {
  const values = [projection, noun, shards, shard];
  await tx.query(
    'INSERT INTO cc.projection_marks (projection, noun, shards, shard, position) VALUES ($1, $2, $3, $4, 0) ON CONFLICT DO NOTHING',
    values,
  );
  const { rows } = await tx.query<{ position: string }>(
    `SELECT position FROM cc.projection_marks
      WHERE projection = $1 AND noun = $2 AND shards = $3 AND shard = $4 FOR UPDATE`,
    values,
  );
  return Number(rows[0]?.position ?? 0);
}

export async function setMark(tx: ClientBase, projection: string, shard: Shard, position: number): Promise<void> {
  await tx.query(
    'UPDATE cc.projection_marks SET position = $5 WHERE projection = $1 AND noun = $2 AND shards = $3 AND shard = $4',
    [projection, shard.noun, shard.shards, shard.shard, position],
  );
}
