import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The login of the service, which has the rights of the role cc_service and no others, and a check of the argument of the only
 * function that runs with the owner's rights.
 */
export class ServiceLogin0000000000030 implements MigrationInterface {
  name = 'ServiceLogin0000000000030';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- Only the owner of the schema reads it. The login can do less than the owner.
CREATE TABLE cc.service_login (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  role     text NOT NULL,
  password text NOT NULL
);

-- Moves the position sequence ahead when the server or its timeline has changed; returns the position at which the log
-- continues, or null. With the owner's rights, because the service's role may neither move the sequence nor add a partition.
-- Any other leap could move the sequence back to positions that are used, or to the end of its range.
CREATE OR REPLACE FUNCTION cc.follow_lineage(leap bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cc, pg_temp AS $$
DECLARE
  server bigint := (SELECT system_identifier FROM pg_control_system());
  -- From the current WAL file: pg_control_checkpoint() still reports the old timeline right after a promotion.
  line   text := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  start  bigint;
BEGIN
  IF leap IS DISTINCT FROM 1000000000 THEN
    RAISE EXCEPTION 'cc.follow_lineage accepts no other leap than 1000000000' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF EXISTS (SELECT FROM lineage WHERE system = server AND timeline = line) THEN RETURN NULL; END IF;
  PERFORM pg_advisory_xact_lock(4845001);
  IF EXISTS (SELECT FROM lineage WHERE system = server AND timeline = line) THEN RETURN NULL; END IF;
  IF EXISTS (SELECT FROM lineage) THEN
    start := ((SELECT last_value FROM event_position) / leap + 1) * leap;
    PERFORM add_partition(start, start + 5000000);
    PERFORM setval('event_position', start, false);
  END IF;
  INSERT INTO lineage (system, timeline) VALUES (server, line)
    ON CONFLICT (one) DO UPDATE SET system = excluded.system, timeline = excluded.timeline;
  RETURN start;
END $$;
REVOKE EXECUTE ON FUNCTION cc.follow_lineage(bigint) FROM PUBLIC;
`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not give rights back. Restore a backup instead.');
  }
}
