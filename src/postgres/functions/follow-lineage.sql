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
