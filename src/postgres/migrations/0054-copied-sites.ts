import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Stores the events and dedup claims of a site that another log has sent, and moves the position sequence beyond that log's. */
export class CopiedSites0000000000054 implements MigrationInterface {
  name = 'CopiedSites0000000000054';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(LEAPS);
    await runner.query(APPEND_COPY);
    await runner.query(CLAIMS);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not remove what was copied from another log. Restore a backup instead.');
  }
}

const LEAPS = `
-- Where the log continued after the last change of its lineage; null if it has never changed. The sequence alone does not tell
-- any more, because it also leaps when a site arrives.
ALTER TABLE cc.lineage ADD COLUMN start bigint;
UPDATE cc.lineage SET start = nullif((SELECT last_value FROM cc.event_position) / 1000000000 * 1000000000, 0);

CREATE OR REPLACE FUNCTION cc.follow_lineage(leap bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cc, pg_temp AS $$
DECLARE
  server bigint := (SELECT system_identifier FROM pg_control_system());
  -- From the current WAL file: pg_control_checkpoint() still reports the old timeline right after a promotion.
  line   text := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  begins bigint;
BEGIN
  IF leap IS DISTINCT FROM 1000000000 THEN
    RAISE EXCEPTION 'cc.follow_lineage accepts no other leap than 1000000000' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF EXISTS (SELECT FROM lineage WHERE system = server AND timeline = line) THEN RETURN NULL; END IF;
  PERFORM pg_advisory_xact_lock(4845001);
  IF EXISTS (SELECT FROM lineage WHERE system = server AND timeline = line) THEN RETURN NULL; END IF;
  IF EXISTS (SELECT FROM lineage) THEN
    begins := ((SELECT last_value FROM event_position) / leap + 1) * leap;
    PERFORM add_partition(begins, begins + 5000000);
    PERFORM setval('event_position', begins, false);
  END IF;
  INSERT INTO lineage (system, timeline, start) VALUES (server, line, begins)
    ON CONFLICT (one) DO UPDATE SET system = excluded.system, timeline = excluded.timeline, start = excluded.start;
  RETURN begins;
END $$;

-- Moves the position sequence beyond a position of another log, and beyond what that log appends while a site is copied from it.
-- Returns the position at which this log continues, or null if it is far enough. With the owner's rights, like
-- cc.follow_lineage. It only moves forward, and not far at once: a wrong position of the other log must not take this one, and the
-- sites in it, out of reach of others. To a multiple of 100,000,000, so that it stays below the next one of 1,000,000,000 as a rule:
-- if a failover loses the leap, cc.follow_lineage continues beyond it. The partition and the sequence must be one transaction: a
-- sequence stays where it is when the partition is rolled back.
CREATE FUNCTION cc.leap_beyond(other bigint) RETURNS bigint
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
REVOKE EXECUTE ON FUNCTION cc.leap_beyond(bigint) FROM PUBLIC;
`;

const APPEND_COPY = `
-- The highest place of a site's events in their order, as far as others refer to it: those of the site itself (its settings), those
-- that reporting windows count, and the end of its last window in the stream "windows", up to which none may follow. All have an index.
CREATE FUNCTION cc.newest_in_order(of_site text, windows uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT greatest(
    (SELECT coalesce(e.origin, e.position) FROM cc.events e
      WHERE e.site = of_site AND e.type IN ('conversion.received.v1', 'conversion.filtered.v1', 'visitor.bot_detected.v1')
      ORDER BY e.position DESC LIMIT 1),
    (SELECT coalesce(e.origin, e.position) FROM cc.events e WHERE e.site = of_site AND e.category IN ('site', 'auth')
      ORDER BY e.position DESC LIMIT 1),
    (SELECT (e.data ->> 'toPosition')::bigint FROM cc.events e WHERE e.stream = windows ORDER BY e.version DESC LIMIT 1))
$$;

-- Appends the events in the temporary table "arriving_events", which were copied from another log: with their ids, versions and times,
-- and with their place in the order of the site as their origin. One batch with one seal, which has the time of now.
-- "compared": the newest position when they were compared with the log. Nothing is stored if an event was appended since that
-- concerns them ("changed"), if the site is not closed ("open"), or if one has an origin that is not before the positions of this
-- log ("beyond"). An origin that is not after "ordered", the newest one of the site, or after one before it in the batch ("late")
-- is replaced by the position, so that order and positions of a site increase together.
CREATE FUNCTION cc.append_copy(of_site text, compared bigint, ordered bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  clock    timestamptz(3);
  drawn    timestamptz(3);
  newest   timestamptz(3);
  previous bytea;
  following bigint;
  outcome  json;
BEGIN
  PERFORM pg_advisory_xact_lock(4845001);
  IF NOT EXISTS (SELECT FROM cc.paused_sites p WHERE p.site = of_site AND p.closed) THEN
    RETURN json_build_object('refused', 'open');
  END IF;
  IF EXISTS (SELECT FROM cc.events e WHERE e.position > compared AND (
               e.site = of_site OR e.stream IN (SELECT a.stream FROM pg_temp.arriving_events a))) THEN
    RETURN json_build_object('refused', 'changed');
  END IF;
  following := (SELECT last_value + is_called::integer FROM cc.event_position);
  IF EXISTS (SELECT FROM pg_temp.arriving_events a WHERE a.origin >= following) THEN
    RETURN json_build_object('refused', 'beyond');
  END IF;
  -- As in cc.append.
  clock := clock_timestamp();
  SELECT s.time, s.head INTO newest, previous FROM cc.seals s ORDER BY s.last DESC LIMIT 1;
  IF NOT FOUND THEN
    SELECT e.time, decode(repeat('00', 32), 'hex') INTO newest, previous FROM (SELECT) one
      LEFT JOIN LATERAL (SELECT e.time FROM cc.events e ORDER BY e.position DESC LIMIT 1) e ON true;
  END IF;
  drawn := CASE WHEN newest > clock AND newest <= clock + interval '5 seconds' THEN newest ELSE clock END;

  WITH placed AS MATERIALIZED (
    SELECT nextval('cc.event_position'::regclass) AS position, a.* FROM (
      SELECT * FROM pg_temp.arriving_events ORDER BY n) a
  ), arrived AS MATERIALIZED (
    SELECT position, id, category, stream, version, type, time_ms, actor, reference, data, subject, personal, salt, part,
           CASE WHEN late OR origin <= ordered THEN position ELSE origin END AS origin FROM placed
  ), appended AS (
    INSERT INTO cc.events (position, id, category, stream, version, type, site, time, actor, reference, data, origin)
    SELECT position, id, category, stream, version, type, of_site, timestamptz 'epoch' + time_ms * interval '1 millisecond',
           actor, reference, data, origin FROM arrived
  ), personal_data AS (
    INSERT INTO cc.personal (position, site, subject, data, salt)
    SELECT position, of_site, subject, personal, salt FROM arrived WHERE salt IS NOT NULL
  ), erased AS (
    INSERT INTO cc.erased_parts (position, digest) SELECT position, part FROM arrived WHERE part IS NOT NULL AND salt IS NULL
  ), seal AS (
    INSERT INTO cc.seals (first, last, count, digest, head, time)
    SELECT first, last, count, digest, sha256(previous || digest), drawn FROM (
      SELECT min(position) AS first, max(position) AS last, count(*) AS count, sha256(string_agg(
               cc.event_digest(position, id, category, stream, version, type, of_site, time_ms, actor, reference, data, part,
                               origin), '')) AS digest FROM arrived) batch
  )
  SELECT json_build_object('first', min(position), 'last', max(position)) INTO outcome FROM arrived;
  IF newest > drawn THEN
    INSERT INTO cc.clock_steps (position, before_time, after_time) VALUES ((outcome ->> 'first')::bigint, newest, drawn);
  END IF;
  RETURN outcome;
END $$;
`;

const CLAIMS = `
-- Stores the dedup claims in the temporary table "arriving_claims", under the lock of all writers of claims. Of two claims on a key
-- the later one counts. Returns how many were stored, or null if the site is not closed.
CREATE FUNCTION cc.store_claims(of_site text) RETURNS integer LANGUAGE plpgsql AS $$
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
`;
