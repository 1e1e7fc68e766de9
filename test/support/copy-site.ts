import type { Client } from 'pg';

const PAGE_EVENTS = 40;
/** As after a failover. */
const JUMP = 1_000_000_000;

const READ = `
  SELECT e.position::text, e.id, e.category, e.stream, e.version, e.type, e.site, e.time::text, e.actor, e.reference,
         e.data::text AS data, coalesce(e.origin, e.position)::text AS origin, encode(p.subject, 'hex') AS subject,
         p.data::text AS personal, encode(p.salt, 'hex') AS salt, encode(x.digest, 'hex') AS erased
    FROM cc.events e LEFT JOIN cc.personal p ON p.position = e.position LEFT JOIN cc.erased_parts x ON x.position = e.position
   WHERE e.site = $1 ORDER BY e.position`;

/** Stores those that the log does not have, with a seal, and returns how many. */
const STORE = `
  WITH page AS MATERIALIZED (
    SELECT nextval('cc.event_position') AS position, o.* FROM (
      SELECT * FROM json_to_recordset($1) AS r (
        id uuid, category text, stream uuid, version integer, type text, site text, time timestamptz, actor text,
        reference text, data text, origin bigint, subject text, personal text, salt text, erased text, n integer)
       WHERE NOT EXISTS (SELECT FROM cc.events e WHERE e.stream = r.stream AND e.id = r.id) ORDER BY r.n) o
  ), events AS (
    INSERT INTO cc.events (position, id, category, stream, version, type, site, time, actor, reference, data, origin)
    SELECT position, id, category, stream, version, type, site, time, actor, reference, data::json, origin FROM page
  ), personal AS (
    INSERT INTO cc.personal (position, site, subject, data, salt)
    SELECT position, site, decode(subject, 'hex'), personal::json, decode(salt, 'hex') FROM page WHERE salt IS NOT NULL
  ), erased AS (
    INSERT INTO cc.erased_parts SELECT position, decode(erased, 'hex') FROM page WHERE erased IS NOT NULL
  ), sealed AS (
    SELECT min(position) AS first, max(position) AS last, count(*) AS count, sha256(string_agg(
             cc.event_digest(position, id, category, stream, version, type, site, (extract(epoch FROM time) * 1000)::bigint, actor,
               reference, data::json, CASE WHEN erased IS NOT NULL THEN decode(erased, 'hex') WHEN salt IS NOT NULL THEN
               cc.personal_digest(decode(salt, 'hex'), decode(subject, 'hex'), personal::json) END, origin),
             '' ORDER BY position)) AS digest FROM page
  )
  INSERT INTO cc.seals (first, last, count, digest, head, time)
  SELECT first, last, count, digest, sha256(coalesce((SELECT s.head FROM cc.seals s ORDER BY s.last DESC LIMIT 1),
           decode(repeat('00', 32), 'hex')) || digest), clock_timestamp() FROM sealed WHERE count > 0
  RETURNING count`;

/**
 * Copies what a log has of a site into another one, with dedup claims and secrets: in plain SQL, for specs of what readers make of it.
 * Both sessions are those of a superuser. `between` is called between pages.
 */
export async function copySite(
  from: Client,
  to: Client,
  site: string,
  between: () => Promise<void> = async () => {},
): Promise<number> {
  const { rows } = await from.query<{ position: string }>(READ, [site]);
  await leapBeyond(to, Number(rows.at(-1)?.position));
  let stored = 0;
  for (let at = 0; at < rows.length; at += PAGE_EVENTS) {
    const page = rows.slice(at, at + PAGE_EVENTS).map((row, n) => ({ ...row, n }));
    await to.query('BEGIN; SELECT pg_advisory_xact_lock(4845001)');
    const { rows: seals } = await to.query<{ count: number }>(STORE, [JSON.stringify(page)]);
    await to.query('COMMIT');
    stored += seals[0]?.count ?? 0;
    await between();
  }
  for (const [table, key] of [
    ['dedup', 'site, key'],
    ['secrets', 'site, name'],
  ] as const) {
    const copied = await from.query(`SELECT row_to_json(t) AS row FROM cc.${table} t WHERE site = $1`, [site]);
    await to.query(
      `INSERT INTO cc.${table} SELECT * FROM json_populate_recordset(null::cc.${table}, $1) ON CONFLICT (${key}) DO NOTHING`,
      [JSON.stringify(copied.rows.map(({ row }) => row))],
    );
  }
  return stored;
}

async function leapBeyond(client: Client, position: number): Promise<void> {
  const { rows } = await client.query<{ last: string }>('SELECT last_value AS last FROM cc.event_position');
  const start = (Math.floor(Math.max(position, Number(rows[0]?.last)) / JUMP) + 1) * JUMP;
  await client.query('BEGIN; SELECT pg_advisory_xact_lock(4845001)');
  await client.query('SELECT cc.add_partition($1, $2)', [start, start + 5_000_000]);
  await client.query(`SELECT setval('cc.event_position', $1, false)`, [start]);
  await client.query('COMMIT');
}
