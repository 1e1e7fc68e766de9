-- What the chain covers of a personal part. JSON text contains no 0x00, so the last one ends the subject.
CREATE OR REPLACE FUNCTION cc.personal_digest(salt bytea, subject bytea, data json) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(salt || coalesce(subject, '') || '\x00' || convert_to(coalesce(data::text, ''), 'UTF8'))
$$;
