-- SHA-256 of an event's canonical form, which src/log/audit/seals.ts computes as well: one field per line; texts are
-- preceded by their length in bytes, so that a line break in one of them cannot be taken for the end of the field.
CREATE OR REPLACE FUNCTION cc.event_digest(
  "position" bigint, id uuid, category text, stream uuid, version integer, type text, site text, time_ms bigint, actor text,
  reference text, data json, personal bytea) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(convert_to(
    "position" || E'\n' || id::text || E'\n' || octet_length(category) || ':' || category || E'\n' || stream::text || E'\n' || version
    || E'\n' || octet_length(type) || ':' || type || E'\n' || octet_length(site) || ':' || site || E'\n' || time_ms
    || E'\n' || octet_length(actor) || ':' || actor || E'\n' || coalesce(octet_length(reference) || ':' || reference, '')
    || E'\n' || octet_length(data::text) || ':' || data::text || E'\n' || coalesce(encode(personal, 'hex'), '') || E'\n', 'UTF8'))
$$;
