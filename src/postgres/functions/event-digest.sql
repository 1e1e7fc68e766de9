-- SHA-256 of an event's canonical form, which src/log/audit/seals.ts computes as well: one field per line; texts are
-- preceded by their length in bytes, so that a line break in one of them cannot be taken for the end of the field. A field
-- without a value is empty.
CREATE OR REPLACE FUNCTION cc.event_digest(
  "position" bigint, id uuid, category text, stream uuid, version integer, type text, site text, time_ms bigint, actor text,
  reference text, data json, personal bytea) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(convert_to(concat(
    "position", E'\n', id, E'\n', octet_length(category), ':', category, E'\n', stream, E'\n', version,
    E'\n', octet_length(type), ':', type, E'\n', octet_length(site), ':', site, E'\n', time_ms,
    E'\n', octet_length(actor), ':', actor, E'\n', octet_length(reference) || ':' || reference,
    E'\n', octet_length(data::text), ':', data, E'\n', encode(personal, 'hex'), E'\n'), 'UTF8'))
$$;
