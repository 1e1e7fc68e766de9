-- The tables are completed before they are attached: attaching does not wait for an open append. (No CHECK of the bounds: it
-- would save a scan of an empty table and cost every append.)
CREATE OR REPLACE FUNCTION cc.add_partition(first bigint, beyond bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  kind text;
BEGIN
  FOREACH kind IN ARRAY ARRAY['events', 'personal'] LOOP
    EXECUTE format('CREATE TABLE cc.%1$s_%2$s (LIKE cc.%1$s INCLUDING ALL)', kind, first);
  END LOOP;
  -- A unique index over all partitions would have to include position; a stream's newest events are in one or two of them.
  EXECUTE format('CREATE UNIQUE INDEX events_%1$s_stream ON cc.events_%1$s (stream, version)', first);
  -- TRUNCATE, and a statement that names the partition itself, would bypass the parent's trigger.
  EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON cc.events_%s
    FOR EACH STATEMENT EXECUTE FUNCTION cc.refuse_change()', first);
  FOREACH kind IN ARRAY ARRAY['events', 'personal'] LOOP
    EXECUTE format('ALTER TABLE cc.%1$s ATTACH PARTITION cc.%1$s_%2$s FOR VALUES FROM (%2$s) TO (%3$s)', kind, first, beyond);
  END LOOP;
  INSERT INTO cc.log_partitions VALUES (first, beyond);
END $$;
