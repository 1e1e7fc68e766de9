-- A visitor that has decided is not undecided again: of one speaker a decision counts before what a page denies by default.
CREATE OR REPLACE FUNCTION cc.note_consent(notes json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO consent AS known (site, subject, visitor, at, position, denies, state)
  SELECT DISTINCT ON (1, 2, 3) n.site, decode(n.subject, 'hex'), decode(coalesce(n.inline ->> 'speaker', ''), 'hex'),
         to_timestamp(n.time / 1000), n.position,
         n.inline #>> '{consent,undecided}' IS NULL
           AND (coalesce(n.inline #>> '{consent,ad_storage}' = 'denied', false)
             OR coalesce(n.inline #>> '{consent,ad_user_data}' = 'denied', false)
             OR coalesce(n.inline #>> '{consent,gpc}' = 'true', false)),
         n.inline -> 'consent'
    FROM json_to_recordset(notes) AS n (position bigint, site text, subject text, time double precision, inline json)
   WHERE json_typeof(n.inline -> 'consent') = 'object'
   ORDER BY 1, 2, 3, n.inline #>> '{consent,undecided}' IS NULL DESC, n.position DESC
  ON CONFLICT (site, subject, visitor) DO UPDATE
    SET (at, position, denies, state) = (excluded.at, excluded.position, excluded.denies, excluded.state)
    WHERE (excluded.state ->> 'undecided' IS NULL, excluded.position) > (known.state ->> 'undecided' IS NULL, known.position);
END $$;
