import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Consumer, Kafka } from 'kafkajs';
import { within } from './client.js';
import { idIn, positionIn } from './cloud-event.js';
import { type Cluster, topicOf } from './topics.js';

const READ_WITHIN_MS = 30_000;
/** Waited for, since whoever asked may disconnect or end right afterwards. Kafka itself forgets a group after a week. */
const TIDIED_WITHIN_MS = 3_000;
/** The last offsets are markers of transactions and what was taken back: the newest event is a little before them. */
const FIRST_LOOK_BACK = 50;
const LOOK_BACK_FURTHER = 8;
const LEADER_TRIES_MAX = 20;
const LEADER_WAIT_MS = 200;

/** How a partition ends, for a reader of what is committed. */
export interface PartitionEnd {
  readonly category: string;
  readonly partition: number;
  /** The newest event; undefined when there is none. */
  readonly last: { readonly position: number; readonly id: string | undefined } | undefined;
  /** Nothing has ever been dropped from its beginning. */
  readonly whole: boolean;
  /** Something lies beyond what readers get to see: a transaction that nobody has ended. */
  readonly hanging: boolean;
}

interface Search {
  readonly category: string;
  readonly partition: number;
  readonly low: number;
  /** Where a reader of what is committed stops. */
  readonly stable: number;
  from: number;
  highWatermark: number;
  last: { offset: number; position: number; id: string | undefined } | undefined;
  settled: boolean;
}

/**
 * Reads the newest event of every partition. Only after the producer has been fenced: before that, an earlier one could
 * still add to it.
 */
export async function readEnds(kafka: Kafka, admin: Admin, prefix: string, cluster: Cluster): Promise<PartitionEnd[]> {
  const searches = (
    await Promise.all([...cluster.partitions.keys()].map((category) => searchesOf(admin, prefix, category)))
  ).flat();
  const open = searches.filter(({ settled }) => !settled);
  if (open.length > 0) await within(READ_WITHIN_MS, "Reading the topics' ends", search(kafka, admin, prefix, open));
  return searches.map(({ category, partition, low, stable, highWatermark, last }) => ({
    category,
    partition,
    last,
    whole: low === 0,
    hanging: highWatermark > stable,
  }));
}

async function searchesOf(admin: Admin, prefix: string, category: string): Promise<Search[]> {
  const offsets = await fetchOffsets(admin, topicOf(prefix, category));
  return offsets.map(({ partition, low, high }) => {
    const [first, stable] = [Number(low), Number(high)];
    const from = Math.max(first, stable - FIRST_LOOK_BACK);
    const settled = stable === first;
    return { category, partition, low: first, stable, from, highWatermark: stable, last: undefined, settled };
  });
}

/** A topic that was made a moment ago is known before its leaders are. */
async function fetchOffsets(admin: Admin, topic: string) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await admin.fetchTopicOffsets(topic);
    } catch (error) {
      const { type } = error as { type?: string };
      if (type !== 'NOT_LEADER_FOR_PARTITION' || tries === LEADER_TRIES_MAX) throw error;
      await sleep(LEADER_WAIT_MS);
    }
  }
}

/** kafkajs reads in groups only: this one has a name of its own and is deleted afterwards. */
async function search(kafka: Kafka, admin: Admin, prefix: string, open: readonly Search[]): Promise<void> {
  const groupId = `${prefix}relay-ends-${randomUUID()}`;
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100, retry: { retries: 0 } });
  try {
    await consumer.connect();
    const categories = [...new Set(open.map(({ category }) => category))];
    await consumer.subscribe({ topics: categories.map((category) => topicOf(prefix, category)), fromBeginning: true });
    await walkBack(consumer, prefix, open);
  } finally {
    // In this order: a group that still has a member cannot be deleted.
    const tidied = consumer.disconnect().then(() => admin.deleteGroups([groupId]));
    await within(TIDIED_WITHIN_MS, 'Tidying up', tidied).catch(() => {});
  }
}

function walkBack(consumer: Consumer, prefix: string, open: readonly Search[]): Promise<void> {
  const byPartition = new Map(open.map((one) => [`${topicOf(prefix, one.category)} ${one.partition}`, one]));
  const seek = ({ category, partition, from }: Search) =>
    consumer.seek({ topic: topicOf(prefix, category), partition, offset: String(from) });
  return new Promise((resolve, reject) => {
    consumer.on('consumer.crash', ({ payload }) => reject(payload.error));
    // Also for stretches in which there is nothing for a reader, which never reach `eachBatch`.
    consumer.on('consumer.end_batch_process', ({ payload }) => {
      const one = byPartition.get(`${payload.topic} ${payload.partition}`);
      if (!one || one.settled) return;
      one.highWatermark = Math.max(one.highWatermark, Number(payload.highWatermark));
      if (Number(payload.lastOffset) < one.stable - 1) return;
      if (one.last || one.from <= one.low) one.settled = true;
      else {
        one.from = Math.max(one.low, one.stable - (one.stable - one.from) * LOOK_BACK_FURTHER);
        seek(one);
      }
      if (open.every(({ settled }) => settled)) resolve();
    });
    consumer
      .run({
        autoCommit: false,
        eachBatch: async ({ batch }) => {
          const one = byPartition.get(`${batch.topic} ${batch.partition}`);
          for (const message of batch.messages) {
            const offset = Number(message.offset);
            // A fetch that was under way before the seek may come first: what it brings from further back is not the end.
            if (!one || offset < one.from || offset >= one.stable || offset < (one.last?.offset ?? 0)) continue;
            one.last = { offset, position: positionIn(message), id: idIn(message) };
          }
        },
      })
      .then(() => open.forEach(seek))
      .catch(reject);
  });
}
