-- Stores the dedup claims in the temporary table "arriving_claims", under the lock of all writers of claims. Of two claims on a key
-- the later one counts. Returns how many were stored, or null if the site is not closed.
CREATE OR REPLACE FUNCTION cc.store_claims(of_site text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  stored integer;
BEGIN
  PERFORM pg_advisory_xact_lock(4845001);
  IF NOT EXISTS (SELECT FROM cc.paused_sites p WHERE p.site = of_site AND p.closed) THEN RETURN NULL; END IF;
  INSERT INTO cc.dedup AS known (site, key, stream, weak, at)
  SELECT of_site, key, stream, weak, timestamptz 'epoch' + at_ms * interval '1 millisecond' FROM pg_temp.arriving_claims
  ON CONFLICT (site, key) DO UPDATE SET (stream, weak, at) = (excluded.stream, excluded.weak, excluded.at)
    WHERE excluded.at > known.at;
  GET DIAGNOSTICS stored = ROW_COUNT;
  RETURN stored;
END $$;
