import type { Admin, Kafka } from 'kafkajs';
import type { Logger } from '../kernel/logger.js';
import { readIdsAt, readPublicEvents } from '../log/event-reader.js';
import { followLineage, readLineage } from '../log/lineage.js';
import type { Postgres } from '../postgres/postgres.js';
import { type Group, makeBatch } from './batch.js';
import { type Checkpoint, Checkpoints } from './checkpoint.js';
import { type KafkaSettings, makeClient, within } from './client.js';
import { FencedProducer } from './fenced-producer.js';
import { RelaySession } from './relay-session.js';
import { refuseForeignEnds, type StartingPoint, startingPoint } from './starting-point.js';
import { type PartitionEnd, readEnds } from './topic-ends.js';
import { type Cluster, ensureTopics, RelayRefusal } from './topics.js';
import { withAdmin } from './with-admin.js';

const ASKED_WITHIN_MS = 20_000;
const SWEEPS_MAX = 5;
const SWEEP_PAGE_EVENTS = 2_000;

/** Start, take-over and after any failure are one and the same: new client, fence, read what is there, compare, go on. */
export async function openRelaySession(
  postgres: Postgres,
  settings: KafkaSettings,
  logger: Logger,
): Promise<RelaySession> {
  const kafka = makeClient(settings, logger);
  return withAdmin(kafka, settings, async (admin) => {
    const cluster = await within(ASKED_WITHIN_MS, 'Making topics', ensureTopics(admin, postgres.pool, settings));
    const producer = await FencedProducer.open(kafka, settings.kafkaTopicPrefix);
    try {
      // After the fence, all of it: whoever published before us can add nothing any more.
      return await new Opening(postgres, settings, logger, kafka, admin, cluster, producer).open();
    } catch (error) {
      producer.drop();
      throw error;
    }
  });
}

class Opening {
  private readonly prefix: string;
  private readonly checkpoints: Checkpoints;

  constructor(
    private readonly postgres: Postgres,
    private readonly settings: KafkaSettings,
    private readonly logger: Logger,
    private readonly kafka: Kafka,
    private readonly admin: Admin,
    private readonly cluster: Cluster,
    private readonly producer: FencedProducer,
  ) {
    this.prefix = settings.kafkaTopicPrefix;
    this.checkpoints = new Checkpoints(postgres.pool, this.prefix);
  }

  async open(): Promise<RelaySession> {
    const { postgres, producer, checkpoints, cluster } = this;
    const checkpoint = await checkpoints.load(cluster.id);
    const found = await this.readSettledEnds(checkpoint);
    await this.compareWithLog(checkpoint, found);
    const start = startingPoint(checkpoint, found, cluster);
    return new RelaySession(postgres, producer, checkpoints, cluster.id, this.settings.cell, start);
  }

  /** A transaction that hangs is ended by another one of ours that touches the same partitions; then the ends are true. */
  private async readSettledEnds(checkpoint: Checkpoint): Promise<PartitionEnd[]> {
    for (let sweeps = 0; ; sweeps += 1) {
      const found = await readEnds(this.kafka, this.admin, this.prefix, this.cluster);
      const hanging = found.filter((one) => one.hanging);
      if (hanging.length === 0) return found;
      if (sweeps === SWEEPS_MAX) {
        throw new RelayRefusal(
          `A transaction hangs in ${hanging.length} partitions and does not end. Find it with Kafka's own tool, ` +
            '"kafka-transactions.sh find-hanging", and abort it.',
        );
      }
      this.logger.warn('A transaction was left open on the broker: it is taken back and published again', {
        partitions: hanging.length,
      });
      await this.producer.sweep(await this.firstDue(hanging, startingPoint(checkpoint, found, this.cluster)));
    }
  }

  /** One event of each partition, the one that is due there next: readers of what is not committed see nothing false. */
  private async firstDue(hanging: readonly PartitionEnd[], start: StartingPoint): Promise<Group[]> {
    const wanted = new Set(hanging.map(({ category, partition }) => `${category} ${partition}`));
    const due: Group[] = [];
    for (let after = start.after; wanted.size > 0; ) {
      const events = await readPublicEvents(this.postgres.pool, after, SWEEP_PAGE_EVENTS);
      if (events.length === 0) break;
      const { groups, until } = makeBatch(events, after, start.ends, this.settings.cell);
      for (const group of groups) {
        if (wanted.delete(`${group.category} ${group.partition}`))
          due.push({ ...group, messages: group.messages.slice(0, 1) });
      }
      after = until;
    }
    return due;
  }

  private async compareWithLog(checkpoint: Checkpoint, found: readonly PartitionEnd[]): Promise<void> {
    const { pool } = this.postgres;
    const client = await pool.connect();
    try {
      // Whoever comes first after a fail-over makes the log leap, be it a writer or this reader.
      await followLineage(client, (line) => this.logger.warn(line));
    } finally {
      client.release();
    }
    const lineage = await readLineage(pool);
    const inLog = await readIdsAt(
      pool,
      found.flatMap(({ last }) => (last ? [last.position] : [])),
    );
    const lostBelow = refuseForeignEnds(found, inLog, checkpoint, lineage, this.prefix);
    if (lostBelow > checkpoint.lostBelow) {
      this.logger.warn('Kafka holds events that this database lost when it was restored or failed over', { lostBelow });
    }
    await this.checkpoints.adoptLineage(this.cluster.id, lineage, lostBelow);
  }
}
