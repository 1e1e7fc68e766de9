// Fills a log through SQL, much faster than through requests, with the events, personal rows and dedup claims of as many
// conversions. The only file of the benchmark that writes to the log's tables.

const SLICE = 100_000;
const PARTITION_EVENTS = 5_000_000;
/** The newest million, whose dedup claims are live by default, falls within the dedup window of 24 hours. */
const SECONDS_BETWEEN = 0.08;

/** @param client a connection with the owner's rights; @param claims how many of the newest conversions hold a dedup claim */
export async function fillLog(client, { events, claims, site = 'localhost' }, progress) {
  await addPartitions(client, events);
  const newest = new Date();
  for (let done = 0; done < events; done += SLICE) {
    progress(done);
    await fillSlice(client, { from: done + 1, to: Math.min(done + SLICE, events), events, claims, newest, site });
  }
  // Otherwise autovacuum and the next checkpoint would run during the measurement.
  progress(events);
  await client.query('VACUUM (ANALYZE) cc.events, cc.personal, cc.dedup');
  await client.query('CHECKPOINT');
}

/** Keeps two empty partitions ahead, as the service does. */
async function addPartitions(client, events) {
  const freePositions = `SELECT max(p.beyond) - (SELECT last_value FROM cc.event_position) AS free FROM cc.log_partitions p`;
  while (Number((await client.query(freePositions)).rows[0].free) < events + 2 * PARTITION_EVENTS) {
    await client.query('SELECT cc.add_partition(max(beyond), max(beyond) + $1::bigint) FROM cc.log_partitions', [
      PARTITION_EVENTS,
    ]);
  }
}

/** Holds the append lock for one transaction, so that readers see the slice complete and in order, like a batch. */
async function fillSlice(client, { from, to, events, claims, newest, site }) {
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock(4845001)');
  await client.query(FILL, [from, to, events, newest, SECONDS_BETWEEN, events - claims, site]);
  await client.query('COMMIT');
}

/** JSON as the append writes it, without blanks: what is copied to another cell must have this form. */
const FILL = `
WITH drawn AS MATERIALIZED (
  SELECT n, nextval('cc.event_position'::regclass) AS position, replace(gen_random_uuid()::text, '-', '') AS random,
         $4::timestamptz - make_interval(secs => ($3::bigint - n) * $5::float8) AS time
    FROM generate_series($1::bigint, $2::bigint) AS n
), made AS MATERIALIZED (
  -- A stream id begins with its time (UUIDv7).
  SELECT *, 'ORD-' || left(random, 24) AS reference,
         (lpad(to_hex((extract(epoch FROM time) * 1000)::bigint), 12, '0') || '7' || substr(random, 14))::uuid AS stream
    FROM drawn
), events AS (
  INSERT INTO cc.events (position, id, category, stream, version, type, site, time, actor, reference, data)
  SELECT position, random::uuid, 'conversion', stream, 1, 'conversion.received.v1', $7, time,
         'key:0199d2f0-7d3a-7c55-9a51-3f0c2a6b9e10', reference,
         ('{"conversionId":"' || stream || '","event":"purchase","value":129.9,"currency":"EUR","orderId":"' || reference ||
           '","keyId":"0199d2f0-7d3a-7c55-9a51-3f0c2a6b9e10","trial":false}')::json
    FROM made
), personal AS (
  INSERT INTO cc.personal (position, site, subject, data)
  SELECT position, $7, sha256(convert_to('user' || n % 1000000, 'UTF8')),
         ('{"firstName":"' || random || random || '","lastName":"' || random || random || '","phone":"' || random || random || '"}')::json
    FROM made
)
INSERT INTO cc.dedup (site, key, stream, weak, at)
SELECT $7, gen_random_uuid(), stream, false, time FROM made WHERE n > $6::bigint`;

/** Conversions with an outcome for each platform. */
export async function fillDeliveries(client, { events, platforms }, progress) {
  await addPartitions(client, events);
  const conversions = Math.floor(events / (platforms.length + 1));
  const slice = Math.floor(SLICE / (platforms.length + 1));
  for (let done = 0; done < conversions; done += slice) {
    progress(done * (platforms.length + 1));
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock(4845001)');
    await client.query(FILL_DELIVERIES, [done + 1, Math.min(done + slice, conversions), platforms]);
    await client.query('COMMIT');
  }
  await client.query('VACUUM (ANALYZE) cc.events');
  await client.query('CHECKPOINT');
}

/** Each platform's outcomes follow a slice's conversions, as under load. */
const FILL_DELIVERIES = `
WITH made AS MATERIALIZED (
  SELECT n, replace(gen_random_uuid()::text, '-', '') AS random FROM generate_series($1::bigint, $2::bigint) AS n
), streams AS MATERIALIZED (
  SELECT *, (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') || '7' || substr(random, 14))::uuid AS stream FROM made
), rows AS (
  SELECT 0 AS step, n, 1 AS version, 'conversion.received.v1' AS type, stream,
         json_build_object('conversionId', stream, 'event', 'purchase', 'value', 129.9, 'currency', 'EUR',
           'orderId', 'ORD-' || left(random, 24), 'keyId', '0199d2f0-7d3a-7c55-9a51-3f0c2a6b9e10', 'trial', false,
           'platforms', to_json($3::text[]), 'settings', 7) AS data
    FROM streams
  UNION ALL
  SELECT p.at::integer, n, 1 + p.at::integer, 'conversion.delivered.v1', stream,
         json_build_object('conversionId', stream, 'platform', p.platform, 'attempt', 1, 'status', 'delivered',
           'durationMs', 41, 'httpStatus', 200, 'requestId', random, 'bodySha256', left(random || random, 43),
           'response', '{"events_received":1,"messages":[],"fbtrace_id":"' || random || '"}')
    FROM streams CROSS JOIN unnest($3::text[]) WITH ORDINALITY AS p (platform, at)
), ordered AS (SELECT * FROM rows ORDER BY step, n)
INSERT INTO cc.events (position, id, category, stream, version, type, site, time, actor, reference, data)
SELECT nextval('cc.event_position'::regclass), gen_random_uuid(), 'conversion', stream, version, type, 'localhost', now(), 'system', NULL, data
  FROM ordered`;
