import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Identifier records and consent, readable as soon as the tag's call is answered, and conversions that wait for a visit. */
export class Visitors0000000000004 implements MigrationInterface {
  name = 'Visitors0000000000004';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- The inline projection "identifiers": a person's identifiers from visits, one row for each kind. The newest one wins: click
-- ids by their own time, "visit" and "bot" by the time of the event. "first" is the earliest touch.
CREATE TABLE cc.identifiers (
  site     text COLLATE "C" NOT NULL,
  subject  bytea NOT NULL,
  kind     text COLLATE "C" NOT NULL,
  at       timestamptz(3) NOT NULL,
  -- Position of the event that it is from.
  position bigint NOT NULL,
  value    json NOT NULL,
  PRIMARY KEY (site, subject, kind)
);
-- For pruning, as with dedup claims.
CREATE INDEX identifiers_at ON cc.identifiers USING brin (at) WITH (autosummarize = on);

-- The inline projection "consent": a person's last choice.
CREATE TABLE cc.consent (
  site     text COLLATE "C" NOT NULL,
  subject  bytea NOT NULL,
  at       timestamptz(3) NOT NULL,
  position bigint NOT NULL,
  state    json NOT NULL,
  PRIMARY KEY (site, subject)
);

-- Both are upserts that commute: the result does not depend on the order in which events are folded. Table names are
-- unqualified, so that a rebuild writes its shadow tables with the same statements.
CREATE FUNCTION cc.note_identifiers(notes json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO identifiers AS known (site, subject, kind, at, position, value)
  SELECT DISTINCT ON (1, 2, 3) n.site, decode(n.subject, 'hex'), i.kind,
         to_timestamp(coalesce(i.at, n.time) / 1000), n.position, i.value
    FROM json_to_recordset(notes) AS n (position bigint, site text, subject text, time double precision, inline json)
   CROSS JOIN json_to_recordset(n.inline -> 'identifiers') AS i (kind text, at double precision, value json)
   ORDER BY 1, 2, 3,
         CASE WHEN i.kind = 'first' THEN coalesce(i.at, n.time) ELSE -coalesce(i.at, n.time) END,
         CASE WHEN i.kind = 'first' THEN n.position ELSE -n.position END
  ON CONFLICT (site, subject, kind) DO UPDATE
    SET (at, position, value) = (excluded.at, excluded.position, excluded.value)
    WHERE CASE WHEN known.kind = 'first' THEN (excluded.at, excluded.position) < (known.at, known.position)
               ELSE (excluded.at, excluded.position) > (known.at, known.position) END;
END $$;

CREATE FUNCTION cc.note_consent(notes json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO consent AS known (site, subject, at, position, state)
  SELECT DISTINCT ON (1, 2) n.site, decode(n.subject, 'hex'), to_timestamp(n.time / 1000), n.position, n.inline -> 'consent'
    FROM json_to_recordset(notes) AS n (position bigint, site text, subject text, time double precision, inline json)
   WHERE json_typeof(n.inline -> 'consent') = 'object'
   ORDER BY 1, 2, n.position DESC
  ON CONFLICT (site, subject) DO UPDATE SET (at, position, state) = (excluded.at, excluded.position, excluded.state)
    WHERE excluded.position > known.position;
END $$;

CREATE OR REPLACE FUNCTION cc.write_inline(notes json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM cc.note_identifiers(notes);
  PERFORM cc.note_consent(notes);
END $$;

-- The projection "unmatched": conversions that were not sent to some platform because an identifier was missing.
CREATE TABLE cc.unmatched (
  conversion uuid PRIMARY KEY,
  site       text COLLATE "C" NOT NULL,
  subject    bytea NOT NULL,
  -- Positions of the conversion, and of the first event that skipped a platform.
  position   bigint NOT NULL,
  skipped    bigint NOT NULL,
  time       timestamptz(3) NOT NULL
);
CREATE INDEX unmatched_skipped ON cc.unmatched (skipped);
CREATE INDEX unmatched_subject ON cc.unmatched (site, subject);
CREATE INDEX unmatched_time ON cc.unmatched USING brin (time) WITH (autosummarize = on);

-- The projection "match_rate": counted conversions by day (UTC), and how many were matched to a visit.
CREATE TABLE cc.match_rate (
  site        text COLLATE "C" NOT NULL,
  day         date NOT NULL,
  conversions bigint NOT NULL,
  matched     bigint NOT NULL,
  -- Of the matched ones: matched to a visit that was identified later.
  late        bigint NOT NULL,
  -- From visitors with a bot verdict that were not filtered: false positives of the bot detection.
  judged      bigint NOT NULL,
  PRIMARY KEY (site, day)
);
`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not drop visitor data. Restore a backup instead.');
  }
}
