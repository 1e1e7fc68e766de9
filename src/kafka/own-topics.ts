import type { Admin, Kafka, KafkaMessage } from 'kafkajs';
import type { Logger } from '../kernel/logger.js';
import { readIdsAt } from '../log/event-reader.js';
import { followLineage, type Lineage, readLineage } from '../log/lineage.js';
import type { Postgres } from '../postgres/postgres.js';
import { idIn, positionIn } from './cloud-event.js';
import { type PartitionEnd, readPartitionEnds } from './partition-ends.js';
import { type RelayProgress, RelayProgressStore } from './relay-progress.js';
import { type IdsInLog, isOfThisLog, refuseForeignEnds } from './starting-point.js';
import type { Cluster } from './topics.js';

export interface ComparedEnds {
  readonly lineage: Lineage;
  readonly inLog: IdsInLog;
  readonly lostBelow: number;
}

/** Throws if a topic ends with an event of another log. */
export async function compareEnds(
  postgres: Postgres,
  relayed: RelayProgress,
  found: readonly PartitionEnd[],
  prefix: string,
): Promise<ComparedEnds> {
  const lineage = await readLineage(postgres.pool);
  const inLog = await readIdsAt(
    postgres.pool,
    found.flatMap(({ last }) => (last ? [last.position] : [])),
  );
  return { lineage, inLog, lostBelow: refuseForeignEnds(found, inLog, relayed, lineage, prefix) };
}

/** The first writer or relay after a failover advances the log's positions. */
export async function followLineageOf(postgres: Postgres, logger: Logger): Promise<void> {
  const client = await postgres.pool.connect();
  try {
    await followLineage(client, (line) => logger.warn(line));
  } finally {
    client.release();
  }
}

/**
 * Throws if the topics belong to another cell. Unlike the relay's own comparison it needs no fencing, so it does not disturb
 * that cell: an event that this log has published is in this log, whatever is published meanwhile.
 */
export async function refuseForeignTopics(
  kafka: Kafka,
  admin: Admin,
  postgres: Postgres,
  prefix: string,
  cluster: Cluster,
): Promise<void> {
  const relayed = await new RelayProgressStore(postgres.pool, prefix).load(cluster.id);
  await compareEnds(postgres, relayed, await readPartitionEnds(kafka, admin, prefix, cluster), prefix);
}

/** Lets the consumers of a cell read no topics of another one. */
export class OwnTopics {
  private readonly progress: RelayProgressStore;

  constructor(
    private readonly kafka: Kafka,
    private readonly admin: Admin,
    private readonly postgres: Postgres,
    private readonly prefix: string,
    private readonly cluster: Cluster,
    private readonly logger: Logger,
  ) {
    this.progress = new RelayProgressStore(postgres.pool, prefix);
  }

  /** Before the group is joined: another cell with the same prefix has the same group, and would miss what is read here. */
  async refuseForeign(wasRefused: boolean): Promise<void> {
    const { lineageStart } = await this.progress.load(this.cluster.id);
    if (lineageStart === null || wasRefused) await this.compare();
  }

  /** Empty topics do not show that another cell uses them, too. So the newest record of each batch is looked up in the log. */
  async refuseForeignRecord(message: KafkaMessage): Promise<void> {
    const record = { position: positionIn(message), id: idIn(message) };
    const inLog = await readIdsAt(this.postgres.pool, [record.position]);
    if (inLog.get(record.position) === record.id) return;
    if (!isOfThisLog(record, inLog, await this.progress.load(this.cluster.id))) await this.compare();
  }

  private async compare(): Promise<void> {
    await followLineageOf(this.postgres, this.logger);
    await refuseForeignTopics(this.kafka, this.admin, this.postgres, this.prefix, this.cluster);
  }
}
