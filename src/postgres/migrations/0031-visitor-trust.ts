import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Identifiers and consent of a person by visitor. Rows from before belong to one visitor per person, the empty one. */
export class VisitorTrust0000000000031 implements MigrationInterface {
  name = 'VisitorTrust0000000000031';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- "landed": when the service received the landing of a click, or first saw the visitor; null if it did not before the call.
ALTER TABLE cc.identifiers ADD COLUMN visitor bytea NOT NULL DEFAULT '', ADD COLUMN landed timestamptz(3);
UPDATE cc.identifiers SET landed = at WHERE kind <> 'bot';
ALTER TABLE cc.identifiers ALTER COLUMN visitor DROP DEFAULT, DROP CONSTRAINT identifiers_pkey,
  ADD PRIMARY KEY (site, subject, visitor, kind);

-- "visitor": who made the statement. Empty: statements from before; 00: operators; 01: visitors that cannot be recognised
-- again, of which only denials are stored. "denies" orders the statements, so that no number of others hides a denial.
ALTER TABLE cc.consent ADD COLUMN visitor bytea NOT NULL DEFAULT '', ADD COLUMN denies boolean NOT NULL DEFAULT false;
UPDATE cc.consent SET denies = true
 WHERE state ->> 'ad_storage' = 'denied' OR state ->> 'ad_user_data' = 'denied' OR state ->> 'gpc' = 'true';
ALTER TABLE cc.consent ALTER COLUMN visitor DROP DEFAULT, ALTER COLUMN denies DROP DEFAULT, DROP CONSTRAINT consent_pkey,
  ADD PRIMARY KEY (site, subject, visitor);

-- The read model of the sites holds all settings, in the order in which the fold has them.
UPDATE cc.sites SET settings = (left(settings::text, -1) || ',"botFilter":"leads"}')::json WHERE settings -> 'botFilter' IS NULL;

-- Times of the browser are compared within one visitor only.
CREATE OR REPLACE FUNCTION cc.note_identifiers(notes json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO identifiers AS known (site, subject, visitor, kind, at, landed, position, value)
  SELECT DISTINCT ON (1, 2, 3, 4) n.site, decode(n.subject, 'hex'), decode(coalesce(n.inline ->> 'visitor', ''), 'hex'), i.kind,
         to_timestamp(coalesce(i.at, n.time) / 1000),
         CASE WHEN n.inline ->> 'visitor' IS NOT NULL THEN to_timestamp(i.landed / 1000)
              WHEN i.kind <> 'bot' THEN to_timestamp(coalesce(i.at, n.time) / 1000) END,
         n.position, i.value
    FROM json_to_recordset(notes) AS n (position bigint, site text, subject text, time double precision, inline json)
   CROSS JOIN json_to_recordset(n.inline -> 'identifiers') AS i (kind text, at double precision, landed double precision, value json)
   ORDER BY 1, 2, 3, 4,
         CASE WHEN i.kind = 'first' THEN coalesce(i.at, n.time) ELSE -coalesce(i.at, n.time) END,
         CASE WHEN i.kind = 'first' THEN n.position ELSE -n.position END
  ON CONFLICT (site, subject, visitor, kind) DO UPDATE
    SET (at, landed, position, value) = (excluded.at, excluded.landed, excluded.position, excluded.value)
    WHERE CASE WHEN known.kind = 'first' THEN (excluded.at, excluded.position) < (known.at, known.position)
               ELSE (excluded.at, excluded.position) > (known.at, known.position) END;
END $$;

CREATE OR REPLACE FUNCTION cc.note_consent(notes json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO consent AS known (site, subject, visitor, at, position, denies, state)
  SELECT DISTINCT ON (1, 2, 3) n.site, decode(n.subject, 'hex'), decode(coalesce(n.inline ->> 'speaker', ''), 'hex'),
         to_timestamp(n.time / 1000), n.position,
         coalesce(n.inline #>> '{consent,ad_storage}' = 'denied', false)
           OR coalesce(n.inline #>> '{consent,ad_user_data}' = 'denied', false)
           OR coalesce(n.inline #>> '{consent,gpc}' = 'true', false),
         n.inline -> 'consent'
    FROM json_to_recordset(notes) AS n (position bigint, site text, subject text, time double precision, inline json)
   WHERE json_typeof(n.inline -> 'consent') = 'object'
   ORDER BY 1, 2, 3, n.position DESC
  ON CONFLICT (site, subject, visitor) DO UPDATE
    SET (at, position, denies, state) = (excluded.at, excluded.position, excluded.denies, excluded.state)
    WHERE excluded.position > known.position;
END $$;
`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not merge the visitors of a person. Restore a backup instead.');
  }
}
