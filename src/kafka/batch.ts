import type { Message } from 'kafkajs';
import type { PublicEvent } from '../log/event-reader.js';
import { shardOf } from '../log/projections/shard.js';
import { toMessage } from './cloud-event.js';

/** A broker accepts at most 1 MiB per partition and request; this leaves room for the framing, which is not counted. */
const PARTITION_BYTES_MAX = 700_000;
const HEADER_BYTES = 560;

/** The messages of a batch for one partition. */
export interface PartitionBatch {
  readonly category: string;
  readonly partition: number;
  readonly messages: Message[];
  /** Position of the last message. */
  readonly until: number;
}

export interface Batch {
  readonly partitionBatches: PartitionBatch[];
  /** Every event up to this position is in the batch or already on its topic. */
  readonly until: number;
}

/** The last published position of each partition of each category's topic. */
export class PublishedPositions {
  private readonly byCategory = new Map<string, number[]>();

  constructor(partitions: ReadonlyMap<string, number>) {
    for (const [category, count] of partitions) this.byCategory.set(category, Array(count).fill(0));
  }

  /** Undefined for a category without a topic. */
  partitionsOf(category: string): number | undefined {
    return this.byCategory.get(category)?.length;
  }

  get(category: string, partition: number): number {
    return this.byCategory.get(category)?.[partition] ?? 0;
  }

  set(category: string, partition: number, position: number): void {
    const positions = this.byCategory.get(category);
    if (positions && partition < positions.length) positions[partition] = position;
  }

  toJSON(): Record<string, number[]> {
    return Object.fromEntries(this.byCategory);
  }
}

/**
 * Groups a page of the log by target partition. Skips events that a partition already holds, separately for each
 * partition: after a crash, the events of one transaction may be visible in some partitions only. Skips events that were
 * copied from another log as well: its relay has published them.
 */
export function makeBatch(
  events: readonly PublicEvent[],
  after: number,
  published: PublishedPositions,
  cell: string,
): Batch {
  const byPartition = new Map<string, PartitionBatch & { until: number; bytes: number }>();
  let until = after;
  for (const event of events) {
    const { category } = event;
    const partitions = published.partitionsOf(category);
    if (partitions !== undefined) {
      const partition = shardOf(event.stream, partitions);
      if (event.position > published.get(category, partition)) {
        const key = `${category} ${partition}`;
        const bytes = event.data.length + HEADER_BYTES;
        const target = byPartition.get(key) ?? { category, partition, messages: [], until: 0, bytes: 0 };
        // The batch ends before the event that exceeds the limit; the next batch starts with that event.
        if (target.messages.length > 0 && target.bytes + bytes > PARTITION_BYTES_MAX) break;
        byPartition.set(key, target);
        target.messages.push(toMessage(event, cell, partition));
        target.bytes += bytes;
        target.until = event.position;
      }
    }
    until = event.position;
  }
  return { partitionBatches: [...byPartition.values()], until };
}
