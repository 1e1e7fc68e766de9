-- The highest place of a site's events in their order, as far as others refer to it: those of the site itself (its settings), those
-- that reporting windows count, and the end of its last window in the stream "windows", up to which none may follow. All have an index.
CREATE OR REPLACE FUNCTION cc.newest_in_order(of_site text, windows uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT greatest(
    (SELECT coalesce(e.origin, e.position) FROM cc.events e
      WHERE e.site = of_site AND e.type IN ('conversion.received.v1', 'conversion.filtered.v1', 'visitor.bot_detected.v1')
      ORDER BY e.position DESC LIMIT 1),
    (SELECT coalesce(e.origin, e.position) FROM cc.events e WHERE e.site = of_site AND e.category IN ('site', 'auth')
      ORDER BY e.position DESC LIMIT 1),
    (SELECT (e.data ->> 'toPosition')::bigint FROM cc.events e WHERE e.stream = windows ORDER BY e.version DESC LIMIT 1))
$$;
