import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What is handed on to Kafka, how far, and what read models have taken from there. `docs/kafka.md` tells the story. */
export class Kafka0000000000020 implements MigrationInterface {
  name = 'Kafka0000000000020';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- How far the log has been published. It belongs to a cluster and a prefix: new ones get the whole history.
CREATE TABLE cc.kafka_relay (
  cluster   text COLLATE "C" NOT NULL,
  prefix    text COLLATE "C" NOT NULL,
  -- Everything up to it is published. A lower bound: what the topics' ends hold beyond it is found there.
  position  bigint NOT NULL DEFAULT 0,
  -- The last position that each partition was given, by noun: {"conversion": [1017, 1020, …]}. A topic that ends below
  -- has lost something, and is given it again.
  published json NOT NULL DEFAULT '{}',
  -- The server, and its timeline, that this was last written on; and the position below which Kafka may hold events that
  -- a fail-over has lost here.
  system    bigint,
  timeline  text,
  lost_below bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (cluster, prefix)
);

-- A topic's partition count, fixed when it was first seen: another one would send a stream's events to two places.
CREATE TABLE cc.kafka_topics (
  cluster    text COLLATE "C" NOT NULL,
  topic      text COLLATE "C" NOT NULL,
  partitions integer NOT NULL,
  PRIMARY KEY (cluster, topic)
);

-- Readers that must have seen an event before the log's retention may drop it.
CREATE TABLE cc.log_holds (
  name     text COLLATE "C" PRIMARY KEY,
  position bigint NOT NULL
);

-- How far a projection has come in one shard of a noun's streams (a topic's partition), beyond its checkpoint in
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
    throw new Error('What was published cannot be taken back by a migration. Restore a backup instead.');
  }
}
