import { hash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { ClientBase } from 'pg';
import { runCli } from '../../src/cli/run-cli.js';
import { dedupProjection } from '../../src/conversions/dedup.projection.js';
import { Sealer } from '../../src/kernel/sealing.js';
import { derivedUuid } from '../../src/kernel/uuid.js';
import { appendingTransaction } from '../../src/log/append/append-in-transaction.js';
import { readHead } from '../../src/log/event-reader.js';
import { parseCopiedRows } from '../../src/log/site-copy/copied-rows.js';
import { readSitePage } from '../../src/log/site-copy/site-pages.js';
import { storePage as store } from '../../src/log/site-copy/store-page.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { Sandbox } from '../../src/sandbox/sandbox.js';
import { SiteSecrets } from '../../src/sites/site-secrets.js';
import { consentProjection, identifiersProjection } from '../../src/visitors/inline.projections.js';
import { Collector } from './collector.js';
import { temporaryFolder } from './folders.js';
import { SECRET_KEY } from './secret-key.js';
import { post, send, type TestService, type TestSite } from './service.js';
import { startReceiver } from './webhook-receiver.js';

const folder = temporaryFolder('cc-site-copies-');

/** Runs a command of the command line on a database, and returns what it prints. */
export async function run(databaseUrl: string, ...argv: string[]): Promise<string> {
  const [stdout, stderr] = [new Collector(), new Collector()];
  const env = {
    DATABASE_URL: databaseUrl,
    SECRET_KEY,
    ERASURE_LIST: join(folder, 'erasures'),
    OUTBOUND_ALLOW_PRIVATE: 'true',
  };
  const code = await runCli(argv, { env, stdout, stderr });
  if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr.text}${stdout.text}`);
  return stdout.text;
}

export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** All checks of `history verify`, by name. */
export async function verified(
  databaseUrl: string,
  environment: Record<string, string> = {},
  ...options: string[]
): Promise<Map<string, Finding>> {
  const [stdout, stderr] = [new Collector(), new Collector()];
  const env = { DATABASE_URL: databaseUrl, SECRET_KEY, ...environment };
  await runCli(['history', 'verify', '--json', ...options], { env, stdout, stderr });
  const { checks } = JSON.parse(stdout.text || stderr.text) as { checks: Finding[] };
  return new Map(checks.map((check) => [check.name, check]));
}

export async function close(target: Postgres, site: string): Promise<void> {
  await target.pool.query(
    'INSERT INTO cc.paused_sites (site, closed) VALUES ($1, true) ON CONFLICT (site) DO UPDATE SET closed = true',
    [site],
  );
}

export async function open(target: Postgres, site: string): Promise<void> {
  await target.pool.query('DELETE FROM cc.paused_sites WHERE site = $1', [site]);
  await target.pool.query(`UPDATE cc.site_moves SET done = true WHERE site = $1 AND direction = 'in'`, [site]);
}

/** The site leaves the log: its last event there, and from then on it is closed. */
export async function leave(source: Postgres, site: string, to: string, epoch: number): Promise<void> {
  await appendingTransaction(source, async (client, append) => {
    const { rowCount } = await client.query('SELECT FROM cc.events WHERE site = $1', [site]);
    const data = { to, epoch, events: (rowCount as number) + 1 };
    await append({ ...ofSite(site), events: [{ type: 'site.moved_out.v1', data }] });
    await client.query('INSERT INTO cc.paused_sites (site, closed) VALUES ($1, true)', [site]);
  });
}

/** The site is open in the log that it has been copied into. */
export async function arrive(target: Postgres, site: string, from: string, epoch: number): Promise<void> {
  await appendingTransaction(target, async (client, append) => {
    await client.query('DELETE FROM cc.paused_sites WHERE site = $1', [site]);
    await client.query(`UPDATE cc.site_moves SET done = true WHERE site = $1 AND direction = 'in'`, [site]);
    const data = { from, epoch, events: 1, position: 1, head: '0'.repeat(64), after: 0 };
    await append({ ...ofSite(site), events: [{ type: 'site.moved_in.v1', data }] });
  });
}

function ofSite(site: string) {
  return { category: 'site', stream: derivedUuid(`site ${site}`), expected: 'any', site, actor: 'cli' } as const;
}

/** What a move does before the first event: the site does not belong to the log, and its secrets are there. */
export async function begin(source: Postgres, target: Postgres, site: string): Promise<void> {
  await close(target, site);
  await target.pool.query(
    `INSERT INTO cc.site_moves (site, direction, epoch, cell, after) VALUES ($1, 'in', 1, 'a', $2)
     ON CONFLICT (site, direction) DO UPDATE SET done = false,
       after = CASE WHEN site_moves.done THEN excluded.after ELSE site_moves.after END`,
    [site, await readHead(target.pool)],
  );
  const { rows } = await source.pool.query<{ name: string; sealed: Buffer }>(
    'SELECT name, sealed FROM cc.secrets WHERE site = $1',
    [site],
  );
  const secrets = new SiteSecrets(target.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
  if (rows.length === 0) await secrets.replaceDedupSecret(site, Buffer.alloc(32, 1));
  for (const { name, sealed } of rows)
    await target.pool.query('INSERT INTO cc.secrets VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [site, name, sealed]);
}

export async function inTransaction<Result>(
  target: Postgres,
  work: (client: ClientBase) => Promise<Result>,
): Promise<Result> {
  const client = await target.connect('copy');
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } finally {
    await client.end();
  }
}

/** Returns how many events were stored. */
export async function storeRows(target: Postgres, client: ClientBase, site: string, rows: Buffer): Promise<number> {
  const { rows: moves } = await client.query<{ after: number }>(
    `SELECT after::float8 AS after FROM cc.site_moves WHERE site = $1 AND direction = 'in' FOR UPDATE`,
    [site],
  );
  const after = moves[0]?.after ?? 0;
  const secrets = new SiteSecrets(target.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
  const inline = [identifiersProjection, consentProjection, dedupProjection(secrets)];
  return store(client, site, parseCopiedRows(rows, site), { clock: target.clock, inline, after });
}

export function storePage(target: Postgres, site: string, rows: Buffer): Promise<number> {
  return inTransaction(target, (client) => storeRows(target, client, site, rows));
}

/** All pages of this size. */
export function readPages(source: Postgres, site: string, limit: number): Promise<Buffer[]> {
  return source.read(async (client) => {
    const until = await readHead(client);
    const pages: Buffer[] = [];
    for (let after = 0; after < until; ) {
      const { rows, last } = await readSitePage(client, site, { after, until, limit });
      pages.push(rows);
      after = last;
    }
    return pages;
  });
}

/** All pages as one. */
export async function readAll(source: Postgres, site: string): Promise<Buffer> {
  return Buffer.concat(await readPages(source, site, 1_000));
}

/** Copies everything of a site. Returns how many events were stored. */
export async function copySite(source: Postgres, target: Postgres, site: string, pageEvents = 7): Promise<number> {
  await begin(source, target, site);
  let stored = 0;
  for (const page of await readPages(source, site, pageEvents)) stored += await storePage(target, site, page);
  return stored;
}

/** Everything of a site that a copy must preserve, in the order of the site. Without `position`, which is of each log. */
export async function contentOf(postgres: Postgres, site: string) {
  const { rows } = await postgres.pool.query(
    `SELECT e.id, e.category, e.stream, e.version, e.type, e.site, e.time, e.actor, e.reference,
            e.data::text, p.site AS of, encode(p.subject, 'hex') AS subject, p.data::text AS personal, encode(p.salt, 'hex') AS salt,
            encode(x.digest, 'hex') AS erased
       FROM cc.events e LEFT JOIN cc.personal p USING (position) LEFT JOIN cc.erased_parts x USING (position)
      WHERE e.site = $1 ORDER BY e.position`,
    [site],
  );
  return rows;
}

/** Rows of tables that are kept by site, without positions. */
export async function tablesOf(postgres: Postgres, site: string) {
  const read = async (columns: string, table: string) =>
    (await postgres.pool.query(`SELECT ${columns} FROM cc.${table} WHERE site = $1 ORDER BY 1, 2, 3`, [site])).rows;
  return {
    dedup: await read('key, stream, weak, at', 'dedup'),
    identifiers: await read(
      `encode(subject, 'hex') AS subject, encode(visitor, 'hex') AS visitor, kind, at, landed, value::text`,
      'identifiers',
    ),
    consent: await read(
      `encode(subject, 'hex') AS subject, encode(visitor, 'hex') AS visitor, at, denies, state::text`,
      'consent',
    ),
  };
}

const BROWSER = 'Mozilla/5.0 (Windows NT 10.0; rv:115.0) Gecko/20100101 Firefox/115.0';

/** Conversions with outcomes, repeats and a match, visits, consent, an erasure, refusals, a push and changes of settings. */
export async function makeHistory(service: TestService, site: TestSite, url: string): Promise<void> {
  const sandbox = await new Sandbox().start();
  const receiver = await startReceiver();
  const settings = ['--set', 'pixel_id=1234567890', '--set', 'access_token=a', '--endpoint', `${sandbox.url}/meta`];
  await run(url, 'platforms', 'connect', 'meta', '--site', site.host, ...settings);
  await run(url, 'webhook', 'set', '--site', site.host, '--url', receiver.url);
  await service.refreshSites();
  const order = (orderId: string, email: string, value = 10) =>
    post(service, site, { email, event: 'purchase', value, currency: 'EUR', orderId });
  const tag = async (call: 'collect' | 'identify' | 'consent', email: string, more = {}) => {
    const message = { v: 1, visitor: randomUUID(), visit: randomUUID(), hash: hash('sha256', email), clicks: {} };
    const body = JSON.stringify({ ...message, ...more });
    const headers = {
      Host: site.host,
      Origin: `https://${site.host}`,
      'Content-Type': 'text/plain',
      'User-Agent': BROWSER,
    };
    const reply = await send(service, { method: 'POST', path: `/__cc/${call}`, body, headers });
    if (reply.status > 299) throw new Error(`${call}: ${reply.status} ${reply.body}`);
  };
  await tag('collect', 'jane@example.com', { clicks: { fbclid: { id: 'a\tb"\\', t: Date.now() } } });
  await tag('identify', 'jane@example.com', { clicks: { gclid: { id: 'Zoë 日本', t: Date.now() } } });
  await tag('consent', 'kim@example.com', { consent: { ad_storage: 'denied' } });
  for (let turn = 1; turn <= 8; turn += 1)
    await order(`A-${turn}`, turn % 2 === 0 ? 'jane@example.com' : 'john@example.com');
  await order('A-1', 'john@example.com', 99);
  await order('A\\N\n-9', 'kim@example.com');
  await post(service, site, 'not json');
  await run(url, 'webhook', 'push', '--site', site.host);
  await run(url, 'visitors', 'erase', '--site', site.host, '--email', 'john@example.com');
  await order('A-10', 'jane@example.com');
  await run(url, 'sites', 'pause', site.host);
  await run(url, 'sites', 'resume', site.host);
  await sandbox.stop();
  await receiver.stop();
}
