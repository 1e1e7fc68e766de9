import type { Pool } from 'pg';
import type { Lineage } from '../log/lineage.js';
import type { PublishedPositions } from './batch.js';

/** Name of the log hold that keeps unpublished events in the log beyond its retention. */
export const LOG_HOLD = 'kafka';

export interface RelayProgress {
  readonly position: number;
  /** By category: the last position published to each partition. */
  readonly published: Record<string, number[]>;
  /** Lineage of the log when the topics were last compared with it; null before that. */
  readonly lineageStart: number | null;
  readonly lostBelow: number;
}

/**
 * Progress of publishing the log to one cluster under one prefix. The position is a lower bound: a crash between the
 * Kafka commit and the write of the progress leaves it behind the topics.
 */
export class RelayProgressStore {
  constructor(
    private readonly pool: Pool,
    private readonly prefix: string,
  ) {}

  async load(cluster: string): Promise<RelayProgress> {
    await this.pool.query('INSERT INTO cc.kafka_relay (cluster, prefix) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      cluster,
      this.prefix,
    ]);
    const { rows } = await this.pool.query<RelayProgress>(
      `SELECT position::float8, published, lineage_start::float8 AS "lineageStart", lost_below::float8 AS "lostBelow"
         FROM cc.kafka_relay WHERE cluster = $1 AND prefix = $2`,
      [cluster, this.prefix],
    );
    return rows[0] as RelayProgress;
  }

  /** Never moves backwards: an instance that was frozen after its commit may write long after its successor. */
  async save(cluster: string, position: number, published: PublishedPositions): Promise<void> {
    await this.pool.query({
      name: 'save-relay-progress',
      text: `WITH moved AS (
               UPDATE cc.kafka_relay SET position = $3, published = $4
                WHERE cluster = $1 AND prefix = $2 AND position <= $3)
             UPDATE cc.log_holds SET position = $3 WHERE name = '${LOG_HOLD}' AND session = 0 AND position < $3`,
      values: [cluster, this.prefix, position, JSON.stringify(published)],
    });
  }

  /** The hold follows the cluster that is published to: another one has its own, perhaps earlier position. */
  async moveHold(position: number): Promise<void> {
    await this.pool.query('UPDATE cc.log_holds SET position = $2 WHERE name = $1 AND session = 0', [
      LOG_HOLD,
      position,
    ]);
  }

  async adoptLineage(cluster: string, lineage: Lineage, lostBelow: number): Promise<void> {
    await this.pool.query(
      `UPDATE cc.kafka_relay SET lineage_start = $3, lost_below = greatest(lost_below, $4)
        WHERE cluster = $1 AND prefix = $2`,
      [cluster, this.prefix, lineage.start, lostBelow],
    );
  }

  /** The highest position published under this prefix to any cluster; 0 before the first event. For monitoring. */
  async position(): Promise<number> {
    const { rows } = await this.pool.query<{ position: string | null }>(
      'SELECT max(position) AS position FROM cc.kafka_relay WHERE prefix = $1',
      [this.prefix],
    );
    return Number(rows[0]?.position ?? 0);
  }
}

/** With Kafka configured, log retention waits for unpublished events. Without Kafka, the hold is removed. */
export async function holdLog(pool: Pool, configured: boolean): Promise<void> {
  if (configured) {
    await pool.query('INSERT INTO cc.log_holds (name, position) VALUES ($1, 0) ON CONFLICT DO NOTHING', [LOG_HOLD]);
  } else await pool.query('DELETE FROM cc.log_holds WHERE name = $1 AND session = 0', [LOG_HOLD]);
}
