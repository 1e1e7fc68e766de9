import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Progress of the Kafka relay and of the projections that read from Kafka; `docs/kafka.md` describes them. */
export class Kafka0000000000020 implements MigrationInterface {
  name = 'Kafka0000000000020';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- How far the log is published, per cluster and prefix: a new pair gets the whole history.
CREATE TABLE cc.kafka_relay (
  cluster   text COLLATE "C" NOT NULL,
  prefix    text COLLATE "C" NOT NULL,
  -- Everything up to it is published. A lower bound: the ends of the topics show what was published beyond it.
  position  bigint NOT NULL DEFAULT 0,
  -- The last position written to each partition, by category: {"conversion": [1017, 1020, …]}. A partition that ends below it
  -- has lost events, which are published again.
  published json NOT NULL DEFAULT '{}',
  -- The server, and its timeline, on which this row was last written; and the position below which Kafka may hold events that
  -- a fail-over has lost here.
  system    bigint,
  timeline  text,
  lost_below bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (cluster, prefix)
);

-- A topic's partition count, fixed when the topic was first seen: another count would split a stream over two partitions.
CREATE TABLE cc.kafka_topics (
  cluster    text COLLATE "C" NOT NULL,
  topic      text COLLATE "C" NOT NULL,
  partitions integer NOT NULL,
  PRIMARY KEY (cluster, topic)
);

-- Readers that must have read an event before log retention may drop it.
CREATE TABLE cc.log_holds (
  name     text COLLATE "C" PRIMARY KEY,
  position bigint NOT NULL
);

-- A projection's checkpoint in one shard of a category's streams (a topic's partition), beyond its checkpoint in
-- cc.projections. It moves in the transaction that writes the projection's rows.
CREATE TABLE cc.projection_marks (
  projection text COLLATE "C" NOT NULL,
  noun       text COLLATE "C" NOT NULL,
  shards     integer NOT NULL,
  shard      integer NOT NULL,
  position   bigint NOT NULL,
  PRIMARY KEY (projection, noun, shards, shard)
);
`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not undo what was published. Restore a backup instead.');
  }
}
