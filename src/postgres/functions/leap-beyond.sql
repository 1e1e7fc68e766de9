-- Moves the position sequence beyond a position of another log, and beyond what that log appends while a site is copied from it.
-- Returns the position at which this log continues, or null if it is far enough. With the owner's rights, like
-- cc.follow_lineage. It only moves forward, and not far at once: a wrong position of the other log must not take this one, and the
-- sites in it, out of reach of others. To a multiple of 100,000,000, so that it stays below the next one of 1,000,000,000 as a rule:
-- if a failover loses the leap, cc.follow_lineage continues beyond it. The partition and the sequence must be one transaction: a
-- sequence stays where it is when the partition is rolled back.
CREATE OR REPLACE FUNCTION cc.leap_beyond(other bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cc, pg_temp AS $$
DECLARE
  ahead CONSTANT bigint := 100000000;
  far   CONSTANT bigint := 100000000000;
  drawn  bigint;
  begins bigint;
BEGIN
  IF other IS NULL OR other < 0 OR other > 1000000000000000 OR other > (SELECT last_value FROM event_position) + far THEN
    RAISE EXCEPTION 'cc.leap_beyond accepts positions up to 10^11 beyond the own ones' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF pg_current_xact_id_if_assigned() IS NOT NULL OR transaction_timestamp() <> statement_timestamp() THEN
    RAISE EXCEPTION 'cc.leap_beyond must not be called in a transaction that does something else'
      USING ERRCODE = 'active_sql_transaction';
  END IF;
  -- That of partition maintenance comes first, as everywhere.
  PERFORM pg_advisory_xact_lock(4845005);
  PERFORM pg_advisory_xact_lock(4845001);
  drawn := (SELECT last_value FROM event_position);
  IF drawn >= other + ahead THEN RETURN NULL; END IF;
  -- Beyond the partitions that are prepared, too.
  begins := (greatest(drawn, other + ahead, (SELECT max(p.beyond) FROM log_partitions p)) / ahead + 1) * ahead;
  PERFORM add_partition(begins, begins + 5000000);
  PERFORM setval('event_position', begins, false);
  RETURN begins;
END $$;
