import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Consumer, Kafka } from 'kafkajs';
import { withTimeout } from './client.js';
import { idIn, isOfRelay, positionIn } from './cloud-event.js';
import { withTemporaryConsumer } from './temporary-consumer.js';
import { type Cluster, topicOf } from './topics.js';

const READ_TIMEOUT_MS = 30_000;
/** The last offsets are transaction markers and aborted messages, so the newest event is some offsets before the end. */
const FIRST_LOOK_BACK = 50;
const LOOK_BACK_FACTOR = 8;
const LEADER_ATTEMPTS_MAX = 20;
const LEADER_WAIT_MS = 200;

/** The end of a partition as a `read_committed` reader sees it. */
export interface PartitionEnd {
  readonly category: string;
  readonly partition: number;
  /** The newest event; undefined if there is none. */
  readonly last: { readonly position: number; readonly id: string | undefined } | undefined;
  /** Messages were deleted from the beginning of the partition. */
  readonly isTruncated: boolean;
  /** Messages follow that committed readers cannot see, because their transaction was never ended. */
  readonly hasHangingTransaction: boolean;
}

interface Search {
  readonly category: string;
  readonly partition: number;
  readonly low: number;
  /** The last stable offset, where a `read_committed` reader stops. */
  readonly stable: number;
  from: number;
  highWatermark: number;
  last: { offset: number; position: number; id: string | undefined } | undefined;
  done: boolean;
}

/** Reads the newest event of every partition. Call it only after fencing, when no earlier producer can append any more. */
export async function readPartitionEnds(
  kafka: Kafka,
  admin: Admin,
  prefix: string,
  cluster: Cluster,
): Promise<PartitionEnd[]> {
  const searches = (
    await Promise.all([...cluster.partitions.keys()].map((category) => startSearches(admin, prefix, category)))
  ).flat();
  const open = searches.filter(({ done }) => !done);
  if (open.length > 0) {
    const topics = [...new Set(open.map(({ category }) => topicOf(prefix, category)))];
    const searching = withTemporaryConsumer(kafka, admin, `${prefix}relay-ends-`, topics, (consumer) =>
      searchBackwards(consumer, prefix, open),
    );
    await withTimeout(READ_TIMEOUT_MS, 'Reading the ends of the topics', searching);
  }
  return searches.map(({ category, partition, low, stable, highWatermark, last }) => ({
    category,
    partition,
    last,
    isTruncated: low > 0,
    hasHangingTransaction: highWatermark > stable,
  }));
}

async function startSearches(admin: Admin, prefix: string, category: string): Promise<Search[]> {
  const offsets = await fetchOffsets(admin, topicOf(prefix, category));
  return offsets.map(({ partition, low, high }) => {
    const [first, stable] = [Number(low), Number(high)];
    const from = Math.max(first, stable - FIRST_LOOK_BACK);
    const done = stable === first;
    return { category, partition, low: first, stable, from, highWatermark: stable, last: undefined, done };
  });
}

/** A new topic is listed before its partitions have leaders. */
async function fetchOffsets(admin: Admin, topic: string) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await admin.fetchTopicOffsets(topic);
    } catch (error) {
      const { type } = error as { type?: string };
      if (type !== 'NOT_LEADER_FOR_PARTITION' || attempt === LEADER_ATTEMPTS_MAX) throw error;
      await sleep(LEADER_WAIT_MS);
    }
  }
}

/** Reads each partition from an offset near its end, and from further back if there was no event. */
function searchBackwards(consumer: Consumer, prefix: string, open: readonly Search[]): Promise<void> {
  const byPartition = new Map(open.map((one) => [`${topicOf(prefix, one.category)} ${one.partition}`, one]));
  const seek = ({ category, partition, from }: Search) =>
    consumer.seek({ topic: topicOf(prefix, category), partition, offset: String(from) });
  return new Promise((resolve, reject) => {
    consumer.on('consumer.crash', ({ payload }) => reject(payload.error));
    // This event also covers offset ranges without visible messages, for which `eachBatch` is not called.
    consumer.on('consumer.end_batch_process', ({ payload }) => {
      const one = byPartition.get(`${payload.topic} ${payload.partition}`);
      if (!one || one.done) return;
      one.highWatermark = Math.max(one.highWatermark, Number(payload.highWatermark));
      if (Number(payload.lastOffset) < one.stable - 1) return;
      if (one.last || one.from <= one.low) one.done = true;
      else {
        one.from = Math.max(one.low, one.stable - (one.stable - one.from) * LOOK_BACK_FACTOR);
        seek(one);
      }
      if (open.every(({ done }) => done)) resolve();
    });
    consumer
      .run({
        autoCommit: false,
        eachBatch: async ({ batch }) => {
          const one = byPartition.get(`${batch.topic} ${batch.partition}`);
          for (const message of batch.messages) {
            const offset = Number(message.offset);
            // A fetch that was in progress during the seek may arrive first. Ignore its messages from before the range.
            if (!one || offset < one.from || offset >= one.stable || offset < (one.last?.offset ?? 0)) continue;
            if (isOfRelay(message)) one.last = { offset, position: positionIn(message), id: idIn(message) };
          }
        },
      })
      .then(() => open.forEach(seek))
      .catch(reject);
  });
}
