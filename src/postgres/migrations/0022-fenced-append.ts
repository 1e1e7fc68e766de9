import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Fenced appends and tamper evidence: an append is refused outside the time bounds that its sender states, versions are
 * compared across partitions, and every batch extends a hash chain. `docs/log.md` describes how they work together.
 */
export class FencedAppend0000000000022 implements MigrationInterface {
  name = 'FencedAppend0000000000022';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLES);
    await runner.query(DIGESTS);
    await runner.query(APPEND);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not remove the seals of the log. Restore a backup instead.');
  }
}

const TABLES = `
-- One row per batch of events. Events from before this migration have none: the chain starts with the first batch after it.
CREATE TABLE cc.seals (
  first  bigint NOT NULL,
  last   bigint PRIMARY KEY,
  count  integer NOT NULL,
  -- SHA-256 over the digests of the batch's events, in order.
  digest bytea NOT NULL,
  -- SHA-256 over the previous head and this digest.
  head   bytea NOT NULL,
  time   timestamptz(3) NOT NULL
);

-- Salt of the digest by which the chain covers a personal part. It is deleted with the row, so that the digest reveals nothing.
ALTER TABLE cc.personal ADD COLUMN salt bytea;

-- Digests of erased personal parts: the chain stays verifiable without them.
CREATE TABLE cc.erased_parts (
  position bigint PRIMARY KEY,
  digest   bytea NOT NULL
);

-- Digests of events that retention removed from a batch of which other events are kept.
CREATE TABLE cc.removed_events (
  position bigint PRIMARY KEY,
  digest   bytea NOT NULL
);

-- Where the time of the log went back, because the clock had been ahead: the first position with the earlier time, the time
-- of the event before it, and its own.
CREATE TABLE cc.clock_steps (
  position    bigint PRIMARY KEY,
  before_time timestamptz(3) NOT NULL,
  after_time  timestamptz(3) NOT NULL
);
`;

const DIGESTS = `
-- What the chain covers of a personal part. JSON text contains no 0x00, so the last one ends the subject.
CREATE FUNCTION cc.personal_digest(salt bytea, subject bytea, data json) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(salt || coalesce(subject, '') || '\\x00' || convert_to(coalesce(data::text, ''), 'UTF8'))
$$;

-- SHA-256 of an event's canonical form, which src/log/seals.ts computes as well: one field per line; texts are
-- preceded by their length in bytes, so that a line break in one of them cannot be taken for the end of the field.
CREATE FUNCTION cc.event_digest(
  "position" bigint, id uuid, category text, stream uuid, version integer, type text, site text, time_ms bigint, actor text,
  reference text, data json, personal bytea) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(convert_to(
    "position" || E'\\n' || id::text || E'\\n' || octet_length(category) || ':' || category || E'\\n' || stream::text || E'\\n' || version
    || E'\\n' || octet_length(type) || ':' || type || E'\\n' || octet_length(site) || ':' || site || E'\\n' || time_ms
    || E'\\n' || octet_length(actor) || ':' || actor || E'\\n' || coalesce(octet_length(reference) || ':' || reference, '')
    || E'\\n' || octet_length(data::text) || ':' || data::text || E'\\n' || coalesce(encode(personal, 'hex'), '') || E'\\n', 'UTF8'))
$$;
`;

const APPEND = `
DROP FUNCTION cc.append(json, boolean, boolean);

-- The only function that writes events. "batch" has one object per event: "n" is its index in the batch (from 1), "k" its
-- index in its request (from 1; 1 is omitted), "expected" the version that its stream must have (absent: a new stream, or
-- one that has reached version "base"; -1: any). "key", "span" (seconds) and "weak" make a dedup claim for the stream.
-- "salt": 122 random bits for the digest of the personal part, which the sender draws at a lower cost.
-- A stream whose version is compared, and a dedup key, occur at most once in a batch.
-- "checked": versions must be compared, or the batch is sent again because the first result is unknown.
-- "noted": some events have an "inline" part for the inline projections.
-- "owned": requests of the batch whose sender has read their stream to its end, or null. "n" and "until" are the indexes of
-- their first and last event, "version" and "position" those of the last event of the stream.
-- "earliest", "latest": the database's time at which the batch may be stored. Outside of them nothing is stored: the bytes of
-- an abandoned connection can arrive when its sender has long had another answer.
CREATE FUNCTION cc.append(batch json, checked boolean, noted boolean, owned json, earliest timestamptz, latest timestamptz)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  clock     timestamptz(3);
  drawn     timestamptz(3);
  newest    timestamptz(3);
  previous  bytea;
  stored    bigint[];
  reached   integer[];
  conflicts integer[];
  since     bigint;
  time_ms   bigint;
  outcome   json;
  notes     json;
BEGIN
  -- Held from before the first position is drawn until the commit is visible, so that position order is commit order and a
  -- reader that remembers one position misses nothing. Each statement below sees what the previous holder committed.
  PERFORM pg_advisory_xact_lock(4845001);
  clock := clock_timestamp();
  SELECT s.time, s.head INTO newest, previous FROM cc.seals s ORDER BY s.last DESC LIMIT 1;
  IF NOT FOUND THEN
    SELECT e.time, decode(repeat('00', 32), 'hex') INTO newest, previous FROM (SELECT) one
      LEFT JOIN LATERAL (SELECT e.time FROM cc.events e ORDER BY e.position DESC LIMIT 1) e ON true;
  END IF;
  -- Not earlier than the newest event, so that time and position agree when the clock steps back a little. If it steps back
  -- further, it had been ahead: the log follows it, and cc.clock_steps records where.
  drawn := CASE WHEN newest > clock AND newest <= clock + interval '5 seconds' THEN newest ELSE clock END;
  IF drawn < earliest OR drawn > latest THEN
    RETURN json_build_object('outside', extract(epoch FROM clock) * 1000);
  END IF;
  time_ms := extract(epoch FROM drawn) * 1000;
  -- A unique index covers one partition. Until no copy of a batch can be on its way from before the current partition was
  -- begun, look for copies in all of them.
  checked := checked OR coalesce((
    SELECT coalesce((SELECT s.time FROM cc.seals s WHERE s.last >= p.first ORDER BY s.last LIMIT 1), drawn)
      FROM cc.log_partitions p WHERE p.first > 0 AND p.first <= (SELECT last_value + 1 FROM cc.event_position)
     ORDER BY p.first DESC LIMIT 1) > drawn - interval '60 seconds', false);

  IF checked THEN
    SELECT array_agg((SELECT e.position FROM cc.events e WHERE e.stream = r.stream AND e.id = r.id LIMIT 1) ORDER BY r.n),
           array_agg((SELECT coalesce(max(e.version), 0) FROM cc.events e WHERE e.stream = r.stream) ORDER BY r.n)
      INTO stored, reached
      FROM json_to_recordset(batch) AS r (n integer, id uuid, stream uuid);
    SELECT array_agg(r.n) INTO conflicts
      FROM json_to_recordset(batch) AS r (n integer, expected integer)
     WHERE stored[r.n] IS NULL AND r.expected >= 0 AND reached[r.n] <> r.expected;
  END IF;
  IF owned IS NOT NULL THEN
    -- A variable of its own, so that partitions before it are not even opened.
    since := (SELECT min(o.position) FROM json_to_recordset(owned) AS o (position bigint));
    conflicts := conflicts || (
      SELECT array_agg(each.n)
        FROM json_to_recordset(owned) AS o (n integer, until integer, stream uuid, version integer, position bigint)
       CROSS JOIN LATERAL generate_series(o.n, o.until) AS each (n)
       WHERE stored[o.n] IS NULL AND o.version IS DISTINCT FROM (
         SELECT max(e.version) FROM cc.events e WHERE e.stream = o.stream AND e.position >= o.position AND e.position >= since));
  END IF;

  WITH input AS MATERIALIZED (
    SELECT r.n, coalesce(r.k, 1) + coalesce(r.base, 0) AS k, r.expected, r.id, r.category, r.stream, r.type, r.site, r.actor,
           r.reference, r.data, r.subject, r.personal, r.salt, r.inline, r.key, r.span, coalesce(r.weak, false) AS weak
      FROM json_to_recordset(batch) AS r (
      n integer, k integer, base integer, expected integer, id uuid, category text, stream uuid, type text, site text,
      actor text, reference text, data json, subject text, personal json, salt uuid, inline json, key uuid, span double precision, weak boolean)
     WHERE (NOT checked OR stored[r.n] IS NULL) AND (conflicts IS NULL OR r.n <> ALL (conflicts))
  ), held AS MATERIALIZED (
    -- Every writer of claims holds the lock, so these rows cannot change before the commit. A claim made while the clock was
    -- ahead counts from the moment at which the clock was set back, or it would be valid until the clock has reached it.
    SELECT i.n, c.stream, (i.weak OR NOT c.weak) AND drawn - make_interval(secs => i.span) < CASE WHEN c.at > drawn
             THEN coalesce((SELECT min(s.after_time) FROM cc.clock_steps s WHERE s.before_time >= c.at), c.at) ELSE c.at END AS live
      FROM input i JOIN cc.dedup c ON c.site = i.site AND c.key = i.key
  ), replaced_claims AS (
    UPDATE cc.dedup c SET stream = i.stream, weak = i.weak, at = drawn
      FROM input i JOIN held h ON h.n = i.n AND NOT h.live WHERE c.site = i.site AND c.key = i.key
  ), new_claims AS (
    INSERT INTO cc.dedup (site, key, stream, weak, at)
    SELECT site, key, stream, weak, drawn FROM input i WHERE key IS NOT NULL AND n NOT IN (SELECT h.n FROM held h)
  ), winners AS MATERIALIZED (
    SELECT nextval('cc.event_position'::regclass) AS position, o.* FROM (
      SELECT i.n, i.k + CASE WHEN i.expected IS NULL THEN 0 ELSE reached[i.n] END AS version, i.id, i.category, i.stream,
             i.type, i.site, i.actor, i.reference, i.data, decode(i.subject, 'hex') AS subject, i.personal, i.inline,
             CASE WHEN i.subject IS NOT NULL OR i.personal IS NOT NULL THEN uuid_send(coalesce(i.salt, gen_random_uuid())) END
               AS salt
        FROM input i WHERE n NOT IN (SELECT h.n FROM held h WHERE h.live) ORDER BY i.n) o
  ), appended AS (
    INSERT INTO cc.events (position, id, category, stream, version, type, site, time, actor, reference, data)
    SELECT position, id, category, stream, version, type, site, drawn, actor, reference, data FROM winners
  ), personal_data AS (
    INSERT INTO cc.personal (position, site, subject, data, salt)
    SELECT position, site, subject, personal, salt FROM winners WHERE salt IS NOT NULL
  ), seal AS (
    -- In the order of positions, in which the rows above were made. Sorting them again would cost every event.
    INSERT INTO cc.seals (first, last, count, digest, head, time)
    SELECT first, last, count, digest, sha256(previous || digest), drawn FROM (
      SELECT min(position) AS first, max(position) AS last, count(*) AS count, sha256(string_agg(
               cc.event_digest(position, id, category, stream, version, type, site, time_ms, actor, reference, data,
                               CASE WHEN salt IS NOT NULL THEN cc.personal_digest(salt, subject, personal) END),
               '')) AS digest FROM winners) batch
     WHERE count > 0
  )
  SELECT json_build_object(
      'time', time_ms,
      'first', (SELECT min(position) FROM winners),
      'lost', (SELECT json_agg(json_build_array(h.n, h.stream)) FROM held h WHERE h.live),
      'stored', stored,
      'conflicts', conflicts),
    CASE WHEN noted THEN (
      SELECT json_agg(json_build_object('position', position, 'site', site, 'subject', encode(subject, 'hex'),
                                        'time', time_ms, 'inline', inline))
        FROM winners WHERE inline IS NOT NULL) END
    INTO outcome, notes;
  IF notes IS NOT NULL THEN PERFORM cc.write_inline(notes); END IF;
  IF newest > drawn AND outcome ->> 'first' IS NOT NULL THEN
    INSERT INTO cc.clock_steps (position, before_time, after_time) VALUES ((outcome ->> 'first')::bigint, newest, drawn);
  END IF;
  RETURN outcome;
END $$;
`;
