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
