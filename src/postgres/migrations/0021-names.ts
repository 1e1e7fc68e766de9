import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Standard names for columns and tables: a stream belongs to a category, a projection has a checkpoint per partition, and a
 * due delivery is leased. Instances of version 0.1 use the old names and cannot work with this schema.
 */
export class Names0000000000021 implements MigrationInterface {
  name = 'Names0000000000021';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
ALTER TABLE cc.events RENAME COLUMN noun TO category; ALTER TABLE cc.projection_marks RENAME COLUMN noun TO category;
ALTER TABLE cc.projection_marks RENAME TO partition_checkpoints;
ALTER TABLE cc.delivery_claims RENAME TO delivery_leases;
`);
    await runner.query(APPEND);
    await runner.query(COMPATIBILITY);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not restore the old names. Restore a backup instead.');
  }
}

const APPEND = `
-- The only function that writes events. "batch" has one object per event: "n" is its index in the batch (from 1), "k" its
-- index in its request (from 1; 1 is omitted), "expected" the version that its stream must have (absent: a new stream, or
-- one known to have reached version "base"; -1: any). "key", "span" (seconds) and "weak" make a dedup claim for the stream.
-- A stream whose version is compared, and a dedup key, occur at most once in a batch.
-- "checked": versions must be compared, or the batch is sent again because the first result is unknown.
-- "noted": some events have an "inline" part for the inline projections.
CREATE OR REPLACE FUNCTION cc.append(batch json, checked boolean, noted boolean) RETURNS json LANGUAGE plpgsql AS $$
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
    SELECT r.n, coalesce(r.k, 1) + coalesce(r.base, 0) AS k, r.expected, r.id, r.category, r.stream, r.type, r.site, r.actor,
           r.reference, r.data, r.subject, r.personal, r.inline, r.key, r.span, coalesce(r.weak, false) AS weak
      FROM json_to_recordset(batch) AS r (
      n integer, k integer, base integer, expected integer, id uuid, category text, stream uuid, type text, site text,
      actor text, reference text, data json, subject text, personal json, inline json, key uuid, span double precision, weak boolean)
     WHERE NOT checked OR (stored[r.n] IS NULL AND NOT coalesce(r.n = ANY (conflicts), false))
  ), held AS MATERIALIZED (
    -- Every writer of claims holds the lock, so these rows cannot change before the commit.
    SELECT i.n, c.stream, c.at > drawn - make_interval(secs => i.span) AND (i.weak OR NOT c.weak) AS live
      FROM input i JOIN cc.dedup c ON c.site = i.site AND c.key = i.key
  ), replaced_claims AS (
    UPDATE cc.dedup c SET stream = i.stream, weak = i.weak, at = drawn
      FROM input i JOIN held h ON h.n = i.n AND NOT h.live WHERE c.site = i.site AND c.key = i.key
  ), new_claims AS (
    INSERT INTO cc.dedup (site, key, stream, weak, at)
    SELECT site, key, stream, weak, drawn FROM input i WHERE key IS NOT NULL AND n NOT IN (SELECT h.n FROM held h)
  ), winners AS MATERIALIZED (
    SELECT nextval('cc.event_position'::regclass) AS position, o.* FROM (
      SELECT * FROM input i WHERE n NOT IN (SELECT h.n FROM held h WHERE h.live) ORDER BY i.n) o
  ), appended AS (
    INSERT INTO cc.events (position, id, category, stream, version, type, site, time, actor, reference, data)
    SELECT position, id, category, stream, k + CASE WHEN expected IS NULL THEN 0 ELSE reached[n] END,
           type, site, drawn, actor, reference, data FROM winners
  ), personal_data AS (
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

const COMPATIBILITY = `
-- The oldest schema whose instances can use this database, and the version that upgraded it to that schema.
CREATE TABLE cc.schema_compatibility (
  one     boolean PRIMARY KEY DEFAULT true CHECK (one),
  schema  integer NOT NULL,
  version text NOT NULL
);

-- Version 0.1 reads cc.migrations when it starts. A view that fails in its place refuses that version by name.
DROP TABLE IF EXISTS cc.migrations;
CREATE FUNCTION cc.refuse_version_0_1() RETURNS TABLE (id integer, "timestamp" bigint, name text) LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'This database was upgraded by Clean Conversions 0.2. Version 0.1 cannot use it: start version 0.2 or later, or restore the backup made before the upgrade.';
END $$;
CREATE VIEW cc.migrations AS SELECT id, "timestamp", name FROM cc.refuse_version_0_1();
`;
