// What must hold after every drill. The ledger is loaded into PostgreSQL and compared with the log as sets.
import { setTimeout as sleep } from 'node:timers/promises';
import { PLATFORMS } from './double.mjs';
import { CANARY } from './load.mjs';

const POLL_MS = 1_000;
/** Longer than the log is read behind its head, plus a delivery lease, plus a retry: what is still owed stays so. */
const STUCK_AFTER_MS = 150_000;
const SAMPLE = 5;

const STATE = `
SET work_mem = '256MB';
SET max_parallel_workers_per_gather = 0;
DROP SCHEMA IF EXISTS drill CASCADE;
CREATE SCHEMA drill;
CREATE UNLOGGED TABLE drill.ledger (order_id text, site text, value numeric, class text, attempts integer);
CREATE UNLOGGED TABLE drill.platform (
  request integer, platform text, order_id text, id text, hash text, answer text, at bigint, url text);
CREATE UNLOGGED TABLE drill.pushes (
  id text, from_position bigint, to_position bigint, window_start text, window_end text, conversions integer);
`;

/** One row per received conversion and platform, with its newest outcome. */
const DELIVERIES = `
CREATE UNLOGGED TABLE drill.received AS
  SELECT stream, position, reference AS order_id, (data->>'value')::numeric AS value, data->'platforms' AS platforms
    FROM cc.events WHERE type = 'conversion.received.v1';
CREATE UNLOGGED TABLE drill.closed AS
  SELECT c.data->>'stretchId' AS id, coalesce(e.position, 0) AS until FROM cc.events c
    LEFT JOIN cc.events e ON e.stream = (c.data #>> '{counted,stream}')::uuid AND e.version = (c.data #>> '{counted,version}')::integer
   WHERE c.type = 'outbound.closed.v1';
CREATE UNLOGGED TABLE drill.outcomes AS
  SELECT stream, version, position, data->>'platform' AS platform, split_part(type, '.', 2) AS status,
         data->>'reason' AS reason
    FROM cc.events
   WHERE type IN ('conversion.delivered.v1', 'conversion.accepted.v1', 'conversion.confirmed.v1', 'conversion.rejected.v1',
                  'conversion.skipped.v1', 'conversion.deferred.v1', 'conversion.failed.v1');
CREATE UNLOGGED TABLE drill.deliveries AS
  SELECT r.stream, r.order_id, p.platform, o.status, o.reason
    FROM drill.received r
         CROSS JOIN LATERAL json_array_elements_text(coalesce(r.platforms, '[]')) AS p (platform)
         LEFT JOIN (SELECT DISTINCT ON (stream, platform) stream, platform, status, reason
                      FROM drill.outcomes ORDER BY stream, platform, version DESC, position DESC) o
           ON o.stream = r.stream AND o.platform = p.platform;
CREATE INDEX ON drill.received (position);
ANALYZE drill.received; ANALYZE drill.outcomes; ANALYZE drill.deliveries; ANALYZE drill.ledger; ANALYZE drill.platform;
`;

const OWED = `
SELECT (SELECT coalesce(sum(json_array_length(data->'platforms')), 0) FROM cc.events WHERE type = 'conversion.received.v1')
     - (SELECT count(*) FROM (
          SELECT DISTINCT ON (stream, data->>'platform') type FROM cc.events
           WHERE type IN ('conversion.delivered.v1', 'conversion.accepted.v1', 'conversion.confirmed.v1',
                          'conversion.rejected.v1', 'conversion.skipped.v1', 'conversion.deferred.v1', 'conversion.failed.v1')
           ORDER BY stream, data->>'platform', version DESC, position DESC) o WHERE type <> 'conversion.deferred.v1')`;

const BEHIND = `
SELECT count(*) FROM cc.projections
 WHERE name IN ('totals', 'deliveries') AND NOT parked AND position < (SELECT coalesce(max(position), 0) FROM cc.events)`;

/** Resolves with the seconds until nothing was owed and the projections had read everything, or undefined. */
export async function settle({ database }, withinMs) {
  const startedMs = performance.now();
  let last = { owed: -1, sinceMs: startedMs };
  for (;;) {
    const askedMs = performance.now();
    const owed = Number(await database.value(OWED));
    if (owed === 0 && Number(await database.value(BEHIND)) === 0) return Math.round((askedMs - startedMs) / 1_000);
    if (owed !== last.owed) last = { owed, sinceMs: askedMs };
    if (askedMs - last.sinceMs > STUCK_AFTER_MS || askedMs - startedMs > withinMs) return undefined;
    await sleep(Math.max(POLL_MS, performance.now() - askedMs));
  }
}

/**
 * @param explained reasons of skipped and failed deliveries that this drill causes, as `platform status reason`
 * @param sentAgain orders that the database lost and that were sent again: each was sent to platforms with two ids
 * @param repeatsMax how often platforms may have received a conversion again that they had accepted
 */
export async function checkInvariants(
  testbed,
  settledS,
  { explained = [], repeatsMax, verify = true, sentAgain = [] } = {},
) {
  const { database, ledger, deliveries, pushes } = testbed;
  for (const file of [ledger, deliveries, pushes]) file.flush();
  const client = await database.connect();
  /** A row that holds when the query finds nothing; otherwise it shows the first it found. */
  const none = async (what, query, values) => {
    const { rows } = await client.query({ text: query, values, rowMode: 'array' });
    const sample = rows.slice(0, SAMPLE).map((row) => row.join(' '));
    const more = rows.length > SAMPLE ? ', …' : '';
    return {
      what,
      result: rows.length === 0 ? 0 : `${rows.length}: ${sample.join(', ')}${more}`,
      ok: rows.length === 0,
    };
  };
  try {
    await client.query(STATE);
    await client.query(`COPY drill.ledger FROM '${ledger.path}'`);
    await client.query(`COPY drill.platform FROM '${deliveries.path}'`);
    await client.query(`COPY drill.pushes FROM '${pushes.path}'`);
    await client.query(DELIVERIES);
    const rows = [
      {
        what: 'nothing is owed',
        result: settledS === undefined ? 'still owed' : `after ${settledS} s`,
        ok: settledS !== undefined,
      },
      await none(
        'I1 acknowledged and not stored',
        `SELECT order_id FROM drill.ledger l WHERE class = 'acknowledged'
            AND NOT EXISTS (SELECT FROM drill.received r WHERE r.order_id = l.order_id AND r.value = l.value)`,
      ),
      await none(
        'I2 stored and neither acknowledged nor unknown',
        `SELECT order_id FROM drill.received r WHERE NOT EXISTS (
           SELECT FROM drill.ledger l WHERE l.order_id = r.order_id AND l.class IN ('acknowledged', 'unknown'))`,
      ),
      await none(
        'I3 stored more than once',
        'SELECT order_id, count(*) FROM drill.received GROUP BY order_id HAVING count(*) > 1',
      ),
      await none(
        'I3 two events of a stream with the same version',
        'SELECT stream, version, count(*) FROM cc.events GROUP BY stream, version HAVING count(*) > 1',
      ),
      await none(
        'I4 neither delivered nor with a visible reason',
        `SELECT platform, coalesce(status, 'without outcome'), reason, count(*) || ' conversions, such as ' || min(order_id)
           FROM drill.deliveries
          WHERE coalesce(status, '') NOT IN ('delivered', 'accepted', 'confirmed')
            AND concat_ws(' ', platform, status, reason) <> ALL ($1) GROUP BY 1, 2, 3`,
        [explained],
      ),
      await none(
        'I4 delivered according to the log, not to the platform',
        `SELECT order_id, platform FROM drill.deliveries d WHERE status IN ('delivered', 'accepted', 'confirmed')
            AND NOT EXISTS (SELECT FROM drill.platform p
              WHERE p.platform = d.platform AND p.order_id = d.order_id AND p.answer = 'ok')`,
      ),
      await none(
        'I4 sent with more than one id or body',
        `SELECT platform, order_id, count(DISTINCT id), count(DISTINCT hash) FROM drill.platform WHERE order_id <> ALL ($1)
          GROUP BY platform, order_id HAVING count(DISTINCT id) > 1 OR count(DISTINCT hash) > 1`,
        [sentAgain],
      ),
      await none(
        'I4 sent and not stored',
        `SELECT DISTINCT order_id FROM drill.platform p
          WHERE NOT EXISTS (SELECT FROM drill.received r WHERE r.order_id = p.order_id)`,
      ),
      await none(
        'I4 an outcome after the delivery',
        `SELECT o.stream, o.platform, o.status FROM drill.outcomes o JOIN drill.outcomes d USING (stream, platform)
          WHERE d.status = 'delivered' AND o.version > d.version`,
      ),
      await none(
        'I5 totals that differ from the log',
        `SELECT site, p.sum, e.count FROM (SELECT site, sum(conversions) FROM cc.totals GROUP BY site) p
           FULL JOIN (SELECT site, count(*) FROM cc.events WHERE type = 'conversion.received.v1' GROUP BY site) e USING (site)
          WHERE p.sum IS DISTINCT FROM e.count`,
      ),
      await none(
        'I6 a reporting window with more than one message id, or one id with more than one content',
        `SELECT window_start, count(DISTINCT id) FROM drill.pushes GROUP BY window_start HAVING count(DISTINCT id) > 1
          UNION ALL
         SELECT id, count(DISTINCT (from_position, to_position, conversions)) FROM drill.pushes GROUP BY id
         HAVING count(DISTINCT (from_position, to_position, conversions)) > 1`,
      ),
      await none(
        'I6 windows that do not start where the previous one ended, or with other totals than the log',
        `SELECT id, from_position, previous, conversions, counted FROM (
           SELECT w.*, (SELECT count(*) FROM drill.received r WHERE r.position > coalesce(after, 0) AND r.position <= until) AS counted
             FROM (SELECT p.*, lag(p.to_position) OVER pushed AS previous, c.until, lag(c.until) OVER pushed AS after
                     FROM (SELECT DISTINCT id, from_position, to_position, conversions FROM drill.pushes) p
                     JOIN drill.closed c USING (id) WINDOW pushed AS (ORDER BY from_position, to_position)) w) p
          WHERE previous <> from_position OR conversions <> counted`,
      ),
      await none(
        'I7 raw personal data or a secret in the log',
        `SELECT position, type FROM cc.events WHERE data::text LIKE ANY ($1)
          UNION ALL SELECT position, 'personal' FROM cc.personal WHERE data::text LIKE ANY ($1)`,
        [canaries(testbed).map((canary) => `%${canary}%`)],
      ),
      canaryRow(testbed),
      restartRow(testbed),
    ];
    const { repeats, requests } = await repeatsOf(client);
    rows.push({
      what: 'repeats to platforms, all with the same id and body',
      result: `${repeats} of ${requests}`,
      ok: repeatsMax === undefined || repeats <= repeatsMax,
    });
    if (verify) rows.push(await verifyRow(testbed));
    return rows;
  } finally {
    await client.end();
  }
}

/** Conversions that a platform had accepted, with an answer that reached the sender, and received again. */
async function repeatsOf(client) {
  const { rows } = await client.query(
    `WITH accepted AS (
       SELECT platform, order_id, request FROM drill.platform p WHERE answer = 'ok' AND NOT EXISTS (
         SELECT FROM drill.platform a WHERE a.request = p.request AND a.answer = 'abandoned')
     ), firsts AS (SELECT platform, order_id, min(request) AS request FROM accepted GROUP BY platform, order_id)
     SELECT count(*)::integer AS requests,
            count(*) FILTER (WHERE p.request > f.request)::integer AS repeats
       FROM drill.platform p LEFT JOIN firsts f USING (platform, order_id) WHERE p.answer <> 'abandoned'`,
  );
  return rows[0];
}

/** Raw personal data of the load, the API key and the platforms' secrets. */
function canaries({ site }) {
  const secrets = Object.values(PLATFORMS).flatMap(({ settings }) => Object.values(settings));
  return [CANARY, site.key, ...secrets.filter((value) => value.startsWith('canary'))];
}

function canaryRow(testbed) {
  const found = testbed.logs().flatMap(({ file, text }) =>
    canaries(testbed)
      .filter((canary) => text.includes(canary))
      .map((canary) => `${canary.slice(0, 12)}… in ${file}`),
  );
  return {
    what: 'I7 raw personal data or a secret in log files',
    result: found.join(', ') || 0,
    ok: found.length === 0,
  };
}

function restartRow({ instances }) {
  const unordered = instances.flatMap((instance) => instance.unordered);
  const failedStarts = instances.reduce((sum, instance) => sum + instance.failedStarts, 0);
  return {
    what: 'I8 exits that the drill did not order',
    result: unordered.join(', ') || (failedStarts === 0 ? 0 : `0 (${failedStarts} starts were repeated)`),
    ok: unordered.length === 0,
  };
}

async function verifyRow(testbed) {
  const what = 'history verify';
  try {
    await testbed.cli('history', 'verify');
    return { what, result: 'all checks passed', ok: true };
  } catch ({ stdout = '', stderr = '' }) {
    const failed = stdout.split('\n').filter((line) => line.startsWith('FAIL'));
    return { what, result: failed.join('; ') || stderr.slice(-300), ok: false };
  }
}
