import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import { prepareCluster } from '../../src/postgres/cluster.js';
import { temporaryFolder } from './folders.js';
import { startHeld, stopCluster, urlOf } from './postgres-server.js';

const FIXTURES = join(import.meta.dirname, '..', 'fixtures');
const DAY_MS = 24 * 60 * 60 * 1_000;
const WRITTEN_ON = { '0.1': '2026-11-15', '0.2': '2026-11-17' };

export type EarlierVersion = keyof typeof WRITTEN_ON;

/**
 * Restores the database of an earlier version. `yesterday` moves all its times, so that duplicate windows are still open; the
 * payloads of waiting deliveries then have other times too, and are no longer those of the first attempt.
 */
export async function restoreLog(
  client: Client,
  version: EarlierVersion,
  asOf: 'written' | 'yesterday',
): Promise<void> {
  await client.query(`DO $$ BEGIN CREATE ROLE cc_service NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`);
  const sql = gunzipSync(readFileSync(join(FIXTURES, `log-${version}.sql.gz`))).toString('utf8');
  await client.query(asOf === 'yesterday' ? moveToYesterday(sql, WRITTEN_ON[version]) : sql);
}

export interface EventsDigest {
  readonly events: number;
  readonly md5: string;
}

/** Over all columns of the events up to a position, and of their personal data, that earlier versions have. One was renamed since. */
export async function digestEvents(client: Client, lastPosition: number): Promise<EventsDigest> {
  const { rows } = await client.query<EventsDigest>(
    `SELECT count(*)::int AS events, md5(string_agg(concat(
              to_jsonb(e) - '{noun,category,origin}'::text[], to_jsonb(e) ->> 'noun', to_jsonb(e) ->> 'category', e.data,
              p.site, p.subject, p.data), E'\\n' ORDER BY e.position)) AS md5
       FROM cc.events e LEFT JOIN cc.personal p USING (position) WHERE e.position <= $1`,
    [lastPosition],
  );
  return rows[0] as EventsDigest;
}

export interface EarlierDataDirectory {
  readonly dataDir: string;
  readonly lastPosition: number;
  readonly digest: EventsDigest;
}

/** A data directory of version 0.2, as it is when the service has stopped. */
export async function restoreDataDirectory(): Promise<EarlierDataDirectory> {
  const dataDir = temporaryFolder('cc-upgrade-');
  const cluster = await prepareCluster({ dataDir, onMessage: () => {} });
  await startHeld(cluster);
  const client = new Client({ connectionString: urlOf(cluster) });
  await client.connect();
  await restoreLog(client, '0.2', 'yesterday');
  const { rows } = await client.query<{ last: number }>('SELECT max(position)::int AS last FROM cc.events');
  const lastPosition = rows[0]?.last as number;
  const digest = await digestEvents(client, lastPosition);
  await client.end();
  await stopCluster(cluster);
  const files = join(FIXTURES, 'data-0.2');
  for (const file of readdirSync(files)) copyFileSync(join(files, file), join(dataDir, file));
  return { dataDir, lastPosition, digest };
}

function moveToYesterday(sql: string, writtenOn: string): string {
  const days = Math.floor((Date.now() - Date.parse(writtenOn)) / DAY_MS) - 1;
  const epochMs = new RegExp(`\\b${String(Date.parse(writtenOn)).slice(0, 4)}\\d{9}\\b`, 'g');
  return sql
    .replace(/\b20\d\d-\d\d-\d\d/g, (date) => new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10))
    .replace(epochMs, (ms) => String(Number(ms) + days * DAY_MS));
}
