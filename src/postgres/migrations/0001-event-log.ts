import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The append-only log: events, their personal data in a separate table, dedup claims that make a conversion unique by its
 * key, and the only function that writes them. `docs/log.md` describes how they work together.
 */
export class EventLog0000000000001 implements MigrationInterface {
  name = 'EventLog0000000000001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLES);
    await runner.query(PARTITIONS);
    await runner.query(APPEND);
    await runner.query(PRUNE);
    await runner.query(PROJECTIONS);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not drop the log. Restore a backup instead.');
  }
}

const TABLES = `
-- One process at a time draws from it, under the append's lock: CACHE 1 keeps positions in commit order.
CREATE SEQUENCE cc.event_position CACHE 1;

CREATE TABLE cc.events (
  position  bigint NOT NULL,
  id        uuid NOT NULL,
  noun      text COLLATE "C" NOT NULL,
  stream    uuid NOT NULL,
  version   integer NOT NULL,
  type      text COLLATE "C" NOT NULL,
  site      text COLLATE "C" NOT NULL,
  time      timestamptz(3) NOT NULL,
  actor     text COLLATE "C" NOT NULL,
  reference text COLLATE "C",
  data      json NOT NULL,
  PRIMARY KEY (position)
) PARTITION BY RANGE (position);

-- Look-up by an external name (an order number). A hash of site and name: 8 bytes, whatever the name's length.
CREATE INDEX events_reference ON cc.events (hashtextextended(reference, hashtextextended(site, 0)))
  WHERE reference IS NOT NULL;

-- All personal data, and nothing else: these rows can be deleted, events cannot.
CREATE TABLE cc.personal (
  position bigint NOT NULL,
  site     text COLLATE "C" NOT NULL,
  subject  bytea,
  data     json,
  PRIMARY KEY (position)
) PARTITION BY RANGE (position);

-- Erasure looks up a subject rarely, while every append would pay for a B-tree. A Bloom filter per page range costs an
-- insert nothing (ranges are summarised when they are full), and erasure reads about one percent of the table.
CREATE INDEX personal_subject ON cc.personal
  USING brin (subject bytea_bloom_ops (n_distinct_per_range = 1200, false_positive_rate = 0.01))
  WITH (pages_per_range = 64, autosummarize = on);

-- The inline projection "dedup": which stream holds a key. This primary key decides inside the append; there is no
-- read-then-write.
CREATE TABLE cc.dedup (
  site   text COLLATE "C" NOT NULL,
  key    uuid NOT NULL,
  stream uuid NOT NULL,
  weak   boolean NOT NULL,
  at     timestamptz(3) NOT NULL,
  PRIMARY KEY (site, key)
);
-- For pruning. BRIN, because dedup claims are stored roughly in time order, so that an insert costs the index nothing.
CREATE INDEX dedup_at ON cc.dedup USING brin (at) WITH (autosummarize = on);

CREATE FUNCTION cc.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The event log is append-only: % on % is refused', TG_OP, TG_TABLE_NAME
    USING HINT = 'Append an event that corrects the earlier one. Personal parts are erased with "visitors erase".';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON cc.events
  FOR EACH STATEMENT EXECUTE FUNCTION cc.refuse_change();
`;

const PARTITIONS = `
CREATE TABLE cc.log_partitions (
  first   bigint PRIMARY KEY,
  beyond  bigint NOT NULL,
  -- Past its retention: only events that are never deleted are left in it.
  thinned boolean NOT NULL DEFAULT false
);

-- The tables are completed before they are attached: attaching does not wait for an open append. (No CHECK of the bounds: it
-- would save a scan of an empty table and cost every append.)
CREATE FUNCTION cc.add_partition(first bigint, beyond bigint) RETURNS void LANGUAGE plpgsql AS $$
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

SELECT cc.add_partition(0, 5000000), cc.add_partition(5000000, 10000000), cc.add_partition(10000000, 15000000);

-- The server, and its timeline, on which the log was last written.
CREATE TABLE cc.lineage (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  system   bigint NOT NULL,
  timeline text NOT NULL
);

-- Moves the position sequence ahead when the server or its timeline has changed; returns the position at which the log
-- continues, or null. With the owner's rights, because the service's role may neither move the sequence nor add a partition.
CREATE FUNCTION cc.follow_lineage(leap bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cc, pg_temp AS $$
DECLARE
  server bigint := (SELECT system_identifier FROM pg_control_system());
  -- From the current WAL file: pg_control_checkpoint() still reports the old timeline right after a promotion.
  line   text := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  start  bigint;
BEGIN
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
`;

const APPEND = `
-- Inline projections store their part of an event here, readable as soon as the event is. Later migrations define them.
CREATE FUNCTION cc.write_inline(notes json) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;

-- The only function that writes events. "batch" has one object per event: "n" is its index in the batch (from 1), "k" its
-- index in its request (from 1; 1 is omitted), "expected" the version that its stream must have (absent: a new stream, or
-- one known to have reached version "base"; -1: any). "key", "span" (seconds) and "weak" make a dedup claim for the stream.
-- A stream whose version is compared, and a dedup key, occur at most once in a batch.
-- "checked": versions must be compared, or the batch is sent again because the first result is unknown.
-- "noted": some events have an "inline" part for the inline projections.
CREATE FUNCTION cc.append(batch json, checked boolean, noted boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  drawn     timestamptz(3);
  stored    bigint[];
  reached   integer[];
  conflicts integer[];
  outcome   json;
  notes     json;
BEGIN
  -- Held from before the first position is drawn until the commit is visible, so that position order is commit order and a
  -- reader that remembers one position misses nothing. Each statement below sees what the previous holder committed.
  PERFORM pg_advisory_xact_lock(4845001);
  -- Never earlier than the newest event: time and position agree even when the clock steps back.
  drawn := greatest(clock_timestamp(), (SELECT e.time FROM cc.events e ORDER BY e.position DESC LIMIT 1));

  IF checked THEN
    SELECT array_agg((SELECT e.position FROM cc.events e WHERE e.stream = r.stream AND e.id = r.id LIMIT 1) ORDER BY r.n),
           array_agg((SELECT coalesce(max(e.version), 0) FROM cc.events e WHERE e.stream = r.stream) ORDER BY r.n)
      INTO stored, reached
      FROM json_to_recordset(batch) AS r (n integer, id uuid, stream uuid);
    SELECT array_agg(r.n) INTO conflicts
      FROM json_to_recordset(batch) AS r (n integer, expected integer)
     WHERE stored[r.n] IS NULL AND r.expected >= 0 AND reached[r.n] <> r.expected;
  END IF;

  WITH input AS MATERIALIZED (
    SELECT r.n, coalesce(r.k, 1) + coalesce(r.base, 0) AS k, r.expected, r.id, r.noun, r.stream, r.type, r.site, r.actor,
           r.reference, r.data, r.subject, r.personal, r.inline, r.key, r.span, coalesce(r.weak, false) AS weak
      FROM json_to_recordset(batch) AS r (
      n integer, k integer, base integer, expected integer, id uuid, noun text, stream uuid, type text, site text,
      actor text, reference text, data json, subject text, personal json, inline json, key uuid, span double precision, weak boolean)
     WHERE NOT checked OR (stored[r.n] IS NULL AND NOT coalesce(r.n = ANY (conflicts), false))
  ), held AS MATERIALIZED (
    -- Every writer of claims holds the lock, so these rows cannot change before the commit.
    SELECT i.n, c.stream, c.at > drawn - make_interval(secs => i.span) AND (i.weak OR NOT c.weak) AS live
      FROM input i JOIN cc.dedup c ON c.site = i.site AND c.key = i.key
  ), taken_over AS (
    UPDATE cc.dedup c SET stream = i.stream, weak = i.weak, at = drawn
      FROM input i JOIN held h ON h.n = i.n AND NOT h.live WHERE c.site = i.site AND c.key = i.key
  ), taken AS (
    INSERT INTO cc.dedup (site, key, stream, weak, at)
    SELECT site, key, stream, weak, drawn FROM input i WHERE key IS NOT NULL AND n NOT IN (SELECT h.n FROM held h)
  ), winners AS MATERIALIZED (
    SELECT nextval('cc.event_position'::regclass) AS position, o.* FROM (
      SELECT * FROM input i WHERE n NOT IN (SELECT h.n FROM held h WHERE h.live) ORDER BY i.n) o
  ), appended AS (
    INSERT INTO cc.events (position, id, noun, stream, version, type, site, time, actor, reference, data)
    SELECT position, id, noun, stream, k + CASE WHEN expected IS NULL THEN 0 ELSE reached[n] END,
           type, site, drawn, actor, reference, data FROM winners
  ), beside AS (
    INSERT INTO cc.personal (position, site, subject, data)
    SELECT position, site, decode(subject, 'hex'), personal FROM winners WHERE subject IS NOT NULL OR personal IS NOT NULL
  )
  SELECT json_build_object(
      'time', extract(epoch FROM drawn) * 1000,
      'first', (SELECT min(position) FROM winners),
      'lost', (SELECT json_agg(json_build_array(h.n, h.stream)) FROM held h WHERE h.live),
      'stored', stored,
      'conflicts', conflicts),
    CASE WHEN noted THEN (
      SELECT json_agg(json_build_object('position', position, 'site', site, 'subject', subject,
                                        'time', extract(epoch FROM drawn) * 1000, 'inline', inline))
        FROM winners WHERE inline IS NOT NULL) END
    INTO outcome, notes;
  IF notes IS NOT NULL THEN PERFORM cc.write_inline(notes); END IF;
  RETURN outcome;
END $$;
`;

const PRUNE = `
-- Deletes dedup claims that are older than every window, in batches; like every writer of claims, under the lock.
CREATE FUNCTION cc.prune_claims(before timestamptz, slice integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  pruned integer;
BEGIN
  PERFORM pg_advisory_xact_lock(4845001);
  DELETE FROM cc.dedup WHERE ctid = ANY (ARRAY(SELECT ctid FROM cc.dedup WHERE at < before LIMIT slice));
  GET DIAGNOSTICS pruned = ROW_COUNT;
  RETURN pruned;
END $$;
`;

const PROJECTIONS = `
-- The checkpoint of each projection. It moves in the transaction that writes the projection's rows.
CREATE TABLE cc.projections (
  name     text COLLATE "C" PRIMARY KEY,
  position bigint NOT NULL,
  parked   boolean NOT NULL DEFAULT false,
  reason   text
);
`;
