-- The only function that writes events. "batch" has one object per event: "n" is its index in the batch (from 1), "k" its
-- index in its request (from 1; 1 is omitted), "expected" the version that its stream must have (absent: a new stream, or
-- one that has reached version "base"; -1: any). "key", "span" (seconds) and "weak" make a dedup claim for the stream.
-- "salt": 122 random bits for the digest of the personal part, which the sender draws at a lower cost.
-- "at": the time (in milliseconds) at which another log stored the event first, of which "k" is the version; "part" is the digest of its
-- personal part, if that is erased. Such events are stored whatever cc.paused_sites says: their sender has decided that.
-- A stream whose version is compared, and a dedup key, occur at most once in a batch.
-- "checked": versions must be compared, or the batch is sent again because the first result is unknown.
-- "noted": some events have an "inline" part for the inline projections.
-- "owned": requests of the batch whose sender has read their stream to its end, or null. "n" and "until" are the indexes of
-- their first and last event, "version" and "position" those of the last event of the stream.
-- "earliest", "latest": the database's time at which the batch may be stored. Outside of them nothing is stored: the bytes of
-- an abandoned connection can arrive when its sender has long had another answer.
-- "as_of": the lowest "since" of the batch, or null. An event with "since" was decided on what was stored up to that position
-- about its subject. If a visitor event about the subject is newer, its request is stale and nothing of it is stored. With
-- "found", something was found: then a newer visitor event without a subject, an erasure, makes it stale as well. "about": further
-- subjects that it was decided on.
-- "admitted": types of the first event of streams that begin all the same while their site is in cc.paused_sites. Other new
-- streams of such a site are not stored, and of a closed site nothing but erasures: the indexes of these events are in "paused".
CREATE OR REPLACE FUNCTION cc.append(batch json, checked boolean, noted boolean, owned json, earliest timestamptz, latest timestamptz,
                          as_of bigint, admitted text[])
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  clock     timestamptz(3);
  drawn     timestamptz(3);
  newest    timestamptz(3);
  previous  bytea;
  stored    bigint[];
  reached   integer[];
  conflicts integer[];
  ended     bigint;
  sites     text[];
  newer     jsonb;
  compared  bigint;
  stale     integer[];
  held_sites text[];
  closed_sites text[];
  replaced  integer[];
  paused    integer[];
  since     bigint;
  time_ms   bigint;
  outcome   json;
  notes     json;
BEGIN
  -- Held from before the first position is drawn until the commit is visible, so that position order is commit order and a
  -- reader that remembers one position misses nothing. Each statement below sees what the previous holder committed.
  PERFORM pg_advisory_xact_lock(4845001);
  clock := clock_timestamp();
  SELECT s.time, s.head, s.last INTO newest, previous, ended FROM cc.seals s ORDER BY s.last DESC LIMIT 1;
  IF NOT FOUND THEN
    SELECT e.time, decode(repeat('00', 32), 'hex'), coalesce(e.position, 0) INTO newest, previous, ended FROM (SELECT) one
      LEFT JOIN LATERAL (SELECT e.time, e.position FROM cc.events e ORDER BY e.position DESC LIMIT 1) e ON true;
  END IF;
  -- Not earlier than the newest event, so that time and position agree when the clock steps back a little. If it steps back
  -- further, it had been ahead: the log follows it, and cc.clock_steps records where.
  drawn := CASE WHEN newest > clock AND newest <= clock + interval '5 seconds' THEN newest ELSE clock END;
  IF drawn < earliest OR drawn > latest THEN
    RETURN json_build_object('outside', extract(epoch FROM clock) * 1000);
  END IF;
  time_ms := extract(epoch FROM drawn) * 1000;
  -- A unique index covers one partition. Until no copy of a batch can be on its way from before the current partition was
  -- begun, look for copies in all of them.
  checked := checked OR coalesce((
    SELECT coalesce((SELECT s.time FROM cc.seals s WHERE s.last >= p.first ORDER BY s.last LIMIT 1), drawn)
      FROM cc.log_partitions p WHERE p.first > 0 AND p.first <= (SELECT last_value + 1 FROM cc.event_position)
     ORDER BY p.first DESC LIMIT 1) > drawn - interval '60 seconds', false);

  IF checked THEN
    -- One statement, because each reads the whole batch. The offset keeps the look-ups from being repeated in the filter.
    SELECT array_agg(each.position ORDER BY each.n), array_agg(each.version ORDER BY each.n),
           array_agg(each.n) FILTER (WHERE each.position IS NULL AND each.expected >= 0 AND each.version <> each.expected)
      INTO stored, reached, conflicts
      FROM (SELECT r.n, r.expected,
                   (SELECT e.position FROM cc.events e WHERE e.stream = r.stream AND e.id = r.id LIMIT 1) AS position,
                   (SELECT coalesce(max(e.version), 0) FROM cc.events e WHERE e.stream = r.stream) AS version
              FROM json_to_recordset(batch) AS r (n integer, expected integer, id uuid, stream uuid) OFFSET 0) each;
  END IF;
  IF owned IS NOT NULL THEN
    -- A variable of its own, so that partitions before it are not even opened.
    since := (SELECT min(o.position) FROM json_to_recordset(owned) AS o (position bigint));
    conflicts := conflicts || (
      SELECT array_agg(each.n)
        FROM json_to_recordset(owned) AS o (n integer, until integer, stream uuid, version integer, position bigint)
       CROSS JOIN LATERAL generate_series(o.n, o.until) AS each (n)
       WHERE stored[o.n] IS NULL AND o.version IS DISTINCT FROM (
         SELECT max(e.version) FROM cc.events e WHERE e.stream = o.stream AND e.position >= o.position AND e.position >= since));
  END IF;
  IF as_of IS NOT NULL THEN
    -- Usually nothing is newer, which one look into the index of visitor events shows.
    IF EXISTS (SELECT FROM cc.events e WHERE e.category = 'visitor' AND e.position > as_of) THEN
      -- The newest position for each subject, and for each site that of events without a subject. Not more than 2,000 events are
      -- compared: requests from before them are stale. The expiry of personal parts concerns no request.
      sites := (SELECT array_agg(DISTINCT r.site) FROM json_to_recordset(batch) AS r (site text, since bigint)
                 WHERE r.since IS NOT NULL);
      SELECT jsonb_object_agg(n.about, n.position), CASE WHEN sum(n.events) = 2000 THEN min(n.oldest) ELSE 0 END
        INTO newer, compared
        FROM (SELECT e.site || coalesce(' ' || encode(p.subject, 'hex'), '') AS about, max(e.position) AS position,
                     min(e.position) AS oldest, count(*) AS events
                FROM (SELECT v.position, v.site FROM cc.events v
                       WHERE v.category = 'visitor' AND v.position > as_of AND v.site = ANY (sites)
                         AND (v.type <> 'visitor.erased.v1' OR coalesce(v.data ->> 'unidentified', v.data ->> 'expired') IS NULL)
                       ORDER BY v.position DESC LIMIT 2000) e
                LEFT JOIN cc.personal p ON p.position = e.position AND p.position > as_of
               GROUP BY 1) n;
      SELECT array_agg(each.n) INTO stale
        FROM (SELECT r.n, bool_or(r.since < greatest(compared, (newer ->> (r.site || ' ' || r.subject))::bigint,
                                                     CASE WHEN r.found THEN (newer ->> r.site)::bigint END,
                                                     (SELECT max((newer ->> (r.site || ' ' || other))::bigint)
                                                        FROM json_array_elements_text(r.about) AS other)))
                            OVER (PARTITION BY r.stream) AS is_stale
                FROM json_to_recordset(batch) AS r (
                n integer, stream uuid, site text, subject text, since bigint, found boolean, about json)) each
       WHERE each.is_stale AND stored[each.n] IS NULL;
    END IF;
  END IF;
  SELECT array_agg(p.site), array_agg(p.site) FILTER (WHERE p.closed) INTO held_sites, closed_sites FROM cc.paused_sites p;
  IF held_sites IS NOT NULL THEN
    SELECT array_agg(each.n) INTO paused
      FROM (SELECT r.n, r.site, r.base IS NULL AND coalesce(r.expected, 0) = 0 AS begins,
                   first_value(r.type) OVER (PARTITION BY r.stream ORDER BY r.n) AS opening
              FROM json_to_recordset(batch) AS r (n integer, base integer, expected integer, stream uuid, type text, site text, at bigint)
             WHERE r.site = ANY (held_sites) AND r.at IS NULL) each
     WHERE stored[each.n] IS NULL AND CASE WHEN each.site = ANY (closed_sites) THEN each.opening <> 'visitor.erased.v1'
                                           ELSE each.begins AND each.opening <> ALL (admitted) END;
  END IF;

  WITH input AS MATERIALIZED (
    SELECT r.n, coalesce(r.k, 1) + coalesce(r.base, 0) AS k, r.expected, r.id, r.category, r.stream, r.type, r.site, r.actor,
           r.reference, r.data, r.subject, r.personal, r.salt, r.inline, r.key, r.span, coalesce(r.weak, false) AS weak,
           coalesce(r.at, time_ms) AS at_ms, decode(r.part, 'hex') AS part
      FROM json_to_recordset(batch) AS r (
      n integer, k integer, base integer, expected integer, id uuid, category text, stream uuid, type text, site text,
      actor text, reference text, data json, subject text, personal json, salt uuid, inline json, key uuid, span double precision, weak boolean,
      at bigint, part text)
     WHERE (NOT checked OR stored[r.n] IS NULL) AND (conflicts IS NULL OR r.n <> ALL (conflicts))
       AND (stale IS NULL OR r.n <> ALL (stale)) AND (paused IS NULL OR r.n <> ALL (paused))
  ), held AS MATERIALIZED (
    -- Every writer of claims holds the lock, so these rows cannot change before the commit. A claim made while the clock was
    -- ahead counts from the moment at which the clock was set back, or it would be valid until the clock has reached it.
    SELECT i.n, c.stream, (i.weak OR NOT c.weak) AND drawn - make_interval(secs => i.span) < CASE WHEN c.at > drawn
             THEN coalesce((SELECT min(s.after_time) FROM cc.clock_steps s WHERE s.before_time >= c.at), c.at) ELSE c.at END AS live
      FROM input i JOIN cc.dedup c ON c.site = i.site AND c.key = i.key
  ), new_claims AS (
    INSERT INTO cc.dedup (site, key, stream, weak, at)
    SELECT site, key, stream, weak, drawn FROM input i WHERE key IS NOT NULL AND n NOT IN (SELECT h.n FROM held h)
  ), winners AS MATERIALIZED (
    SELECT nextval('cc.event_position'::regclass) AS position, o.* FROM (
      SELECT i.n, i.k + CASE WHEN i.expected IS NULL THEN 0 ELSE reached[i.n] END AS version, i.id, i.category, i.stream,
             i.type, i.site, i.actor, i.reference, i.data, decode(i.subject, 'hex') AS subject, i.personal, i.inline,
             CASE WHEN i.subject IS NOT NULL OR i.personal IS NOT NULL OR i.salt IS NOT NULL
                  THEN uuid_send(coalesce(i.salt, gen_random_uuid())) END AS salt, i.at_ms, i.part
        FROM input i WHERE n NOT IN (SELECT h.n FROM held h WHERE h.live) ORDER BY i.n) o
  ), appended AS (
    INSERT INTO cc.events (position, id, category, stream, version, type, site, time, actor, reference, data)
    SELECT position, id, category, stream, version, type, site,
           CASE WHEN at_ms = time_ms THEN drawn ELSE timestamptz 'epoch' + at_ms * interval '1 millisecond' END, actor, reference, data
      FROM winners
  ), personal_data AS (
    INSERT INTO cc.personal (position, site, subject, data, salt)
    SELECT position, site, subject, personal, salt FROM winners WHERE salt IS NOT NULL
  ), erased AS (
    INSERT INTO cc.erased_parts (position, digest, since) SELECT position, part, position FROM winners WHERE part IS NOT NULL
  ), seal AS (
    -- In the order of positions, in which the rows above were made. Sorting them again would cost every event.
    INSERT INTO cc.seals (first, last, count, digest, head, time)
    SELECT first, last, count, digest, sha256(previous || digest), drawn FROM (
      SELECT min(position) AS first, max(position) AS last, count(*) AS count, sha256(string_agg(
               cc.event_digest(position, id, category, stream, version, type, site, at_ms, actor, reference, data,
                               CASE WHEN salt IS NOT NULL THEN cc.personal_digest(salt, subject, personal) ELSE part END),
               '')) AS digest FROM winners) batch
     WHERE count > 0
  )
  SELECT json_build_object(
      'time', time_ms,
      'previous', ended,
      'first', (SELECT min(position) FROM winners),
      'lost', (SELECT json_agg(json_build_array(h.n, h.stream)) FROM held h WHERE h.live),
      'stored', stored,
      'conflicts', conflicts,
      'stale', stale,
      'paused', paused),
    CASE WHEN noted THEN (
      SELECT json_agg(json_build_object('position', position, 'site', site, 'subject', encode(subject, 'hex'),
                                        'time', time_ms, 'inline', inline))
        FROM winners WHERE inline IS NOT NULL) END,
    (SELECT array_agg(h.n) FROM held h WHERE NOT h.live)
    INTO outcome, notes, replaced;
  IF replaced IS NOT NULL THEN
    UPDATE cc.dedup c SET stream = r.stream, weak = coalesce(r.weak, false), at = drawn
      FROM json_to_recordset(batch) AS r (n integer, stream uuid, site text, key uuid, weak boolean)
     WHERE r.n = ANY (replaced) AND c.site = r.site AND c.key = r.key;
  END IF;
  IF notes IS NOT NULL THEN PERFORM cc.write_inline(notes); END IF;
  IF newest > drawn AND outcome ->> 'first' IS NOT NULL THEN
    INSERT INTO cc.clock_steps (position, before_time, after_time) VALUES ((outcome ->> 'first')::bigint, newest, drawn);
  END IF;
  RETURN outcome;
END $$;
