-- Deletes dedup claims that are older than every window, in batches; like every writer of claims, under the lock.
CREATE OR REPLACE FUNCTION cc.prune_claims(before timestamptz, slice integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  pruned integer;
BEGIN
  PERFORM pg_advisory_xact_lock(4845001);
  DELETE FROM cc.dedup WHERE ctid = ANY (ARRAY(SELECT ctid FROM cc.dedup WHERE at < before LIMIT slice));
  GET DIAGNOSTICS pruned = ROW_COUNT;
  RETURN pruned;
END $$;
