-- Appends the events in the temporary table "arriving_events", which were copied from another log: with their ids, versions and times,
-- and with their place in the order of the site as their origin. One batch with one seal, which has the time of now.
-- "compared": the newest position when they were compared with the log. Nothing is stored if an event was appended since that
-- concerns them ("changed"), if the site is not closed ("open"), or if one has an origin that is not before the positions of this
-- log ("beyond"). An origin that is not after "ordered", the newest one of the site, or after one before it in the batch ("late")
-- is replaced by the position, so that order and positions of a site increase together.
CREATE OR REPLACE FUNCTION cc.append_copy(of_site text, compared bigint, ordered bigint) RETURNS json LANGUAGE plpgsql AS $$
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
