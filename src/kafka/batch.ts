import type { Message } from 'kafkajs';
import type { PublicEvent } from '../log/event-reader.js';
import { shardOf } from '../log/shard.js';
import { toMessage } from './cloud-event.js';

/** A topic takes at most a mebibyte per partition and request; headers and framing come on top of what is counted here. */
const GROUP_BYTES_MAX = 700_000;
const HEADER_BYTES = 350;

export interface Group {
  readonly category: string;
  readonly partition: number;
  readonly messages: Message[];
  /** Of the last message. */
  readonly until: number;
}

export interface Batch {
  readonly groups: Group[];
  /** Everything up to this position is in the batch, or on its topic already. */
  readonly until: number;
}

/** The last position in each partition of each category's topic. */
export class Ends {
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
 * A page of the log, sorted by where each event goes. What a partition holds already is left out, partition by partition:
 * a crash may have left a transaction's events visible in some of them only.
 */
export function makeBatch(events: readonly PublicEvent[], after: number, ends: Ends, cell: string): Batch {
  const groups = new Map<string, Group & { until: number; bytes: number }>();
  let until = after;
  for (const event of events) {
    const partitions = ends.partitionsOf(event.category);
    if (partitions !== undefined) {
      const partition = shardOf(event.stream, partitions);
      if (event.position > ends.get(event.category, partition)) {
        const key = `${event.category} ${partition}`;
        const bytes = event.data.length + HEADER_BYTES;
        const group = groups.get(key) ?? { category: event.category, partition, messages: [], until: 0, bytes: 0 };
        // The batch ends before the event that no longer fits: the next one begins with it.
        if (group.messages.length > 0 && group.bytes + bytes > GROUP_BYTES_MAX) break;
        groups.set(key, group);
        group.messages.push(toMessage(event, cell, partition));
        group.bytes += bytes;
        group.until = event.position;
      }
    }
    until = event.position;
  }
  return { groups: [...groups.values()], until };
}
