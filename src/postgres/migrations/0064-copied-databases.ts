import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A copy of the database on the same server, by a dump or by CREATE DATABASE, is another one: its log leaps, too. A database whose log
 * has no events can be a template for others.
 */
export class CopiedDatabases0000000000064 implements MigrationInterface {
  name = 'CopiedDatabases0000000000064';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(DATABASE);
    await runner.query(RELAY);
    await runner.query(FOLLOW_LINEAGE);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not restore an earlier function. Restore a backup instead.');
  }
}

const DATABASE = `
-- The oid of the database, and that of this table: a dump that is restored in place makes another table in the same database.
ALTER TABLE cc.lineage ADD COLUMN database text;
UPDATE cc.lineage
   SET database = (SELECT oid FROM pg_database WHERE datname = current_database()) || ' ' || 'cc.lineage'::regclass::oid;
ALTER TABLE cc.lineage ALTER COLUMN database SET NOT NULL;
`;

const RELAY = `
-- Where the lineage of the log began (0 for the first) when the topics were last compared with it; null before that. Every change of the
-- lineage of a log with events begins another one.
ALTER TABLE cc.kafka_relay ADD COLUMN lineage_start bigint;
UPDATE cc.kafka_relay r SET lineage_start = CASE WHEN EXISTS (
    SELECT FROM cc.lineage l WHERE l.system::text = r.system::text AND l.timeline = r.timeline)
  THEN coalesce((SELECT start FROM cc.lineage), 0) ELSE -1 END
 WHERE r.system IS NOT NULL;
ALTER TABLE cc.kafka_relay DROP COLUMN system, DROP COLUMN timeline;
`;

const FOLLOW_LINEAGE = `
-- At least half a leap lies between the positions of before and after: those that were lost may be beyond the next multiple, and the
-- partitions that are prepared are. A log without events does not leap: no reader can have seen a position of it.
CREATE OR REPLACE FUNCTION cc.follow_lineage(leap bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cc, pg_temp AS $$
DECLARE
  server bigint := (SELECT system_identifier FROM pg_control_system());
  -- From the current WAL file: pg_control_checkpoint() still reports the old timeline right after a promotion.
  line   text := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  ids    text := (SELECT oid FROM pg_database WHERE datname = current_database()) || ' ' || 'cc.lineage'::regclass::oid;
  begins bigint;
BEGIN
  IF leap IS DISTINCT FROM 1000000000 THEN
    RAISE EXCEPTION 'cc.follow_lineage accepts no other leap than 1000000000' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF EXISTS (SELECT FROM lineage WHERE system = server AND timeline = line AND database = ids) THEN RETURN NULL; END IF;
  PERFORM pg_advisory_xact_lock(4845001);
  IF EXISTS (SELECT FROM lineage WHERE system = server AND timeline = line AND database = ids) THEN RETURN NULL; END IF;
  IF EXISTS (SELECT FROM lineage) AND (EXISTS (SELECT FROM events) OR EXISTS (SELECT FROM seals)) THEN
    begins := ((greatest((SELECT last_value FROM event_position), (SELECT max(p.beyond) FROM log_partitions p)) + leap / 2) / leap + 1) * leap;
    PERFORM add_partition(begins, begins + 5000000);
    PERFORM setval('event_position', begins, false);
  END IF;
  INSERT INTO lineage (system, timeline, database, start) VALUES (server, line, ids, begins)
    ON CONFLICT (one) DO UPDATE SET system = excluded.system, timeline = excluded.timeline, database = excluded.database,
      start = excluded.start;
  RETURN begins;
END $$;
`;
