import type { Lineage } from '../log/lineage.js';
import { Ends } from './batch.js';
import type { Checkpoint } from './checkpoint.js';
import type { PartitionEnd } from './topic-ends.js';
import { type Cluster, RelayRefusal, topicOf } from './topics.js';

/** Where publishing goes on: from this position, leaving out what each partition holds already. */
export interface StartingPoint {
  readonly after: number;
  readonly ends: Ends;
}

/**
 * The checkpoint says what we gave to each partition, the topics say what they have. Kafka can lose what it acknowledged
 * (a broker killed between deciding a transaction and marking it; a topic made anew): such a partition ends below what we
 * gave it, and publishing goes back to there. One that holds more was given it just before a crash.
 */
export function startingPoint(checkpoint: Checkpoint, found: readonly PartitionEnd[], cluster: Cluster): StartingPoint {
  const ends = new Ends(cluster.partitions);
  let after = checkpoint.position;
  for (const { category, partition, last, whole } of found) {
    const given = checkpoint.published[category]?.[partition] ?? 0;
    // Nothing in it although its beginning was dropped: retention took the last one too, and it was ours.
    const end = last?.position ?? (whole ? 0 : given);
    ends.set(category, partition, end);
    if (end < given) after = Math.min(after, end);
  }
  return { after, ends };
}

/** What the log holds at the positions of the topics' newest events. */
export type IdsInLog = ReadonlyMap<number, string | 'dropped'>;

/**
 * The topics' newest events must be this log's. If one is not, either the database came back from a backup, or the topics
 * are somebody else's. After a fail-over that was noticed (another server or timeline) the log has leapt beyond every
 * position that can be in Kafka, and nothing can be mistaken; otherwise new events would be taken for published ones.
 * Returns the position below which Kafka may from now on hold events that this log has lost.
 */
export function refuseForeignEnds(
  found: readonly PartitionEnd[],
  inLog: IdsInLog,
  checkpoint: Checkpoint,
  lineage: Lineage,
  prefix: string,
): number {
  const failedOver =
    checkpoint.system !== null && (checkpoint.system !== lineage.system || checkpoint.timeline !== lineage.timeline);
  let lostBelow = checkpoint.lostBelow;
  for (const { category, partition, last } of found) {
    if (!last || last.position < checkpoint.lostBelow) continue;
    const id = inLog.get(last.position);
    if (id === last.id || id === 'dropped') continue;
    const isLost = id === undefined && failedOver && lineage.drawn > last.position;
    if (!isLost) {
      throw new RelayRefusal(
        `Partition ${partition} of topic ${topicOf(prefix, category)} ends with event ${last.id} at position ${last.position}, ` +
          'which this log does not hold: the database was put back to an earlier state, or the topics belong to another ' +
          'cell. Set KAFKA_TOPIC_PREFIX to a new one; its topics get the whole history of this log.',
      );
    }
    lostBelow = lineage.drawn;
  }
  return lostBelow;
}
