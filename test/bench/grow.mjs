// Fills a log with conversions through SQL, many times faster than requests could: the events, personal rows and dedup
// claims that as many requests would have left. The only file here that knows the log's tables from the inside.

const SLICE = 100_000;
const PARTITION_EVENTS = 5_000_000;
/** Spread so that the newest million, whose claims are live by default, falls within the dedup window of a day. */
const SECONDS_BETWEEN = 0.08;

/** @param client a connection with the owner's rights; @param claims how many of the newest hold a claim */
export async function growLog(client, { events, claims }, progress) {
  await addPartitions(client, events);
  const newest = new Date();
  for (let done = 0; done < events; done += SLICE) {
    progress(done);
    await fillSlice(client, { from: done + 1, to: Math.min(done + SLICE, events), events, claims, newest });
  }
  // What autovacuum and the next checkpoint would otherwise do during the measurement.
  progress(events);
  await client.query('VACUUM (ANALYZE) cc.events, cc.personal, cc.dedup');
  await client.query('CHECKPOINT');
}

/** Two empty ones stay ahead, as the service keeps them. */
async function addPartitions(client, events) {
  const room = `SELECT max(p.beyond) - (SELECT last_value FROM cc.event_position) AS room FROM cc.log_partitions p`;
  while (Number((await client.query(room)).rows[0].room) < events + 2 * PARTITION_EVENTS) {
    await client.query('SELECT cc.add_partition(max(beyond), max(beyond) + $1::bigint) FROM cc.log_partitions', [
      PARTITION_EVENTS,
    ]);
  }
}

/** Under the append's own lock, in one transaction: readers see the slice whole and in order, as they would a batch. */
async function fillSlice(client, { from, to, events, claims, newest }) {
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock(4845001)');
  await client.query(FILL, [from, to, events, newest, SECONDS_BETWEEN, events - claims]);
  await client.query('COMMIT');
}

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
  SELECT position, random::uuid, 'conversion', stream, 1, 'conversion.received.v1', 'localhost', time,
         'key:0199d2f0-7d3a-7c55-9a51-3f0c2a6b9e10', reference,
         json_build_object('conversionId', stream, 'event', 'purchase', 'value', 129.9, 'currency', 'EUR',
           'orderId', reference, 'keyId', '0199d2f0-7d3a-7c55-9a51-3f0c2a6b9e10', 'trial', false)
    FROM made
), beside AS (
  INSERT INTO cc.personal (position, site, subject, data)
  SELECT position, 'localhost', sha256(convert_to('user' || n % 1000000, 'UTF8')),
         json_build_object('firstName', random || random, 'lastName', random || random, 'phone', random || random)
    FROM made
)
INSERT INTO cc.dedup (site, key, stream, weak, at)
SELECT 'localhost', gen_random_uuid(), stream, false, time FROM made WHERE n > $6::bigint`;
