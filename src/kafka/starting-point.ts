import type { Lineage } from '../log/lineage.js';
import { PublishedPositions } from './batch.js';
import type { PartitionEnd } from './partition-ends.js';
import type { RelayProgress } from './relay-progress.js';
import { type Cluster, RelayRefusedError, topicOf } from './topics.js';

/** Where publishing continues: after this position, skipping events that a partition already holds. */
export interface StartingPoint {
  readonly after: number;
  readonly published: PublishedPositions;
}

/**
 * Compares the progress (published to each partition) with the topics (found in each partition). Kafka can lose
 * acknowledged messages: a broker is killed between deciding a transaction and writing its markers, or a topic is deleted
 * and recreated. Such a partition ends below its published position, and publishing resumes from there. A partition that
 * ends above it received events just before a crash.
 */
export function startingPoint(relayed: RelayProgress, found: readonly PartitionEnd[], cluster: Cluster): StartingPoint {
  const published = new PublishedPositions(cluster.partitions);
  let after = relayed.position;
  for (const one of found) {
    const expected = publishedTo(relayed, one);
    const end = foundIn(one, expected);
    published.set(one.category, one.partition, end);
    if (end < expected) after = Math.min(after, end);
  }
  return { after, published };
}

/** The last position that was published to a partition. */
export function publishedTo(
  { published }: Pick<RelayProgress, 'published'>,
  { category, partition }: Pick<PartitionEnd, 'category' | 'partition'>,
): number {
  return published[category]?.[partition] ?? 0;
}

/** The position up to which a partition has what was published. */
export function foundIn({ last, isTruncated }: Pick<PartitionEnd, 'last' | 'isTruncated'>, expected: number): number {
  // Empty but truncated: retention deleted all its events, which had been published.
  return last?.position ?? (isTruncated ? expected : 0);
}

/** Event ids in the log at the positions of the topics' newest events. */
export type IdsInLog = ReadonlyMap<number, string | 'dropped'>;

/**
 * Retention drops no event before it is published, so what this log has dropped is on its topics only up to the position of the relay;
 * positions that it never had are as absent as dropped ones.
 */
export function isOfThisLog(
  { position, id }: { readonly position: number; readonly id: string | undefined },
  inLog: IdsInLog,
  relayed: Pick<RelayProgress, 'position' | 'lostBelow'>,
): boolean {
  if (position < relayed.lostBelow) return true;
  const found = inLog.get(position);
  return found === 'dropped' ? position <= relayed.position : found === id && id !== undefined;
}

/**
 * The newest event of every topic must come from this log. Otherwise the database was restored from a backup, or the
 * topics belong to another cell, and new events with reused positions would be skipped as already published. After a
 * detected failover or restore the log has advanced beyond every position that can be in Kafka, so no
 * position is reused. Returns the position below which Kafka may contain events that this log has lost.
 */
export function refuseForeignEnds(
  found: readonly PartitionEnd[],
  inLog: IdsInLog,
  relayed: RelayProgress,
  lineage: Lineage,
  prefix: string,
): number {
  const failedOver = relayed.lineageStart !== null && relayed.lineageStart !== lineage.start;
  let lostBelow = relayed.lostBelow;
  for (const { category, partition, last } of found) {
    if (!last || isOfThisLog(last, inLog, relayed)) continue;
    const isLost = !inLog.has(last.position) && failedOver && lineage.drawn > last.position;
    if (!isLost) {
      throw new RelayRefusedError(
        `Partition ${partition} of topic ${topicOf(prefix, category)} ends with event ${last.id} at position ${last.position}, ` +
          'which is not in this log: the database was restored to an earlier state, or the topics belong to another cell. ' +
          'Set KAFKA_TOPIC_PREFIX to a new prefix; its topics receive the whole history of this log.',
      );
    }
    lostBelow = lineage.drawn;
  }
  return lostBelow;
}
