import { stat, statfs } from 'node:fs/promises';
import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { join } from 'node:path';
import { dedupWindowOf } from '../conversions/dedup-key.js';
import { OUTBOUND } from '../events/outbound.events.js';
import { usesKafka } from '../kafka/client.js';
import { probeKafka } from '../kafka/probe.js';
import { formatDuration } from '../kernel/durations.js';
import { messageOf } from '../kernel/errors.js';
import { readSettings, type Settings } from '../kernel/settings.js';
import { readPartitions } from '../log/partitions.js';
import { streamOf } from '../outbound/reporting-window.js';
import { MIGRATIONS } from '../postgres/migrations/index.js';
import { readMigrations } from '../postgres/schema.js';
import { SERVICE_ROLE } from '../postgres/service-role.js';
import type { Opened, Session } from './session.js';

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do about it. */
  readonly fix?: string;
}

type Finding = Omit<Check, 'name'>;

const GB = 1024 ** 3;
const DISK_FREE_MIN_BYTES = GB;
const WAL_SIZE_MIN_MB = 1024;
const CLOCK_DIFFERENCE_MAX_MS = 1_000;
const SERVICE_ANSWERS_WITHIN_MS = 2_000;
/** The service prunes once a minute; this much later something is wrong with it. */
const PRUNING_MAY_LAG_MS = 10 * 60_000;

/** Looks at everything it can reach. What stands behind a check that failed is left out: one cause, one line. */
export async function examine(session: Session): Promise<Check[]> {
  const checks: Check[] = [await check('node', node)];
  let settings: Settings;
  try {
    settings = readSettings(session.environment);
    const place = settings.databaseUrl ? 'database of DATABASE_URL' : `embedded database in ${settings.dataDir}`;
    checks.push({ name: 'settings', ok: true, detail: place });
  } catch (error) {
    return [
      ...checks,
      { name: 'settings', ok: false, detail: messageOf(error), fix: 'Mend the setting that is named and try again.' },
    ];
  }

  let opened: Opened | undefined;
  checks.push(
    await check('database', async () => {
      opened = await session.open();
      return database(opened);
    }),
  );
  if (opened) checks.push(...(await examineDatabase(opened)));
  if (!settings.databaseUrl) {
    checks.push(await check('disk', () => disk(settings.dataDir)));
    checks.push(await check('secret files', () => secretFiles(settings.dataDir)));
  }
  checks.push(await check('service', () => service(settings)));
  return checks;
}

async function examineDatabase(opened: Opened): Promise<Check[]> {
  const checks = [
    await check('durability', () => durability(opened)),
    await check('schema', () => schema(opened)),
    await check('append-only', () => appendOnly(opened)),
    await check('partitions', () => partitions(opened)),
    await check('checkpoints', () => checkpoints(opened)),
    await check('claims', () => claims(opened)),
    await check('projections', () => projections(opened)),
    await check('deliveries', () => deliveries(opened)),
    await check('webhooks', () => webhooks(opened)),
    await check('kafka', () => kafka(opened)),
    await check('clock', () => clock(opened)),
  ];
  // Worth a line only while keys change, or when one is wrong.
  const sealed = await check('secrets', () => secrets(opened));
  if (!sealed.ok || opened.settings.secretKeyPrevious) checks.push(sealed);
  return checks;
}

async function check(name: string, look: () => Promise<Finding>): Promise<Check> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    return { name, ok: false, detail: messageOf(error), fix: 'Mend what is named and run "doctor" again.' };
  }
}

async function node(): Promise<Finding> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const ok = major > 20 || (major === 20 && minor >= 19);
  return { ok, detail: process.version, ...(!ok && { fix: 'Install Node 20.19 or later.' }) };
}

async function database({ postgres }: Opened): Promise<Finding> {
  const { rows } = await postgres.pool.query<{ version: string }>(
    `SELECT current_setting('server_version') AS version`,
  );
  return { ok: true, detail: `PostgreSQL ${rows[0]?.version}` };
}

async function durability(opened: Opened): Promise<Finding> {
  const values = await readServerSettings(opened, ['fsync', 'synchronous_commit', 'full_page_writes']);
  const off = [...values].filter(([, value]) => value === 'off').map(([name]) => name);
  return {
    ok: off.length === 0,
    detail: [...values].map(([name, value]) => `${name} = ${value}`).join(', '),
    ...(off.length > 0 && {
      fix: `Set ${off.join(' and ')} to on: as it is, a power cut loses conversions that were acknowledged.`,
    }),
  };
}

async function schema({ postgres }: Opened): Promise<Finding> {
  const known = MIGRATIONS.map((Migration) => new Migration().name);
  const done = await readMigrations(postgres.pool);
  const missing = known.filter((name) => !done.includes(name));
  if (missing.length > 0) {
    return {
      ok: false,
      detail: `not run: ${missing.join(', ')}`,
      fix: 'Restart the service: it brings the schema up to date.',
    };
  }
  const newer = done.filter((name) => !known.includes(name));
  if (newer.length > 0) {
    return {
      ok: false,
      detail: `from a newer version: ${newer.join(', ')}`,
      fix: 'Update this installation to the version the database was last used with.',
    };
  }
  return { ok: true, detail: `up to date, ${done.length} migrations` };
}

async function appendOnly({ postgres }: Opened): Promise<Finding> {
  const { rows } = await postgres.pool.query<{ role: string; may_change: boolean; unguarded: string[] | null }>(
    `SELECT current_user AS role, has_table_privilege('cc.events', 'UPDATE, DELETE, TRUNCATE') AS may_change,
            (SELECT array_agg(relname::text) FROM pg_partition_tree('cc.events') JOIN pg_class ON oid = relid WHERE NOT EXISTS (
               SELECT FROM pg_trigger WHERE tgrelid = relid AND tgname = 'append_only' AND tgenabled IN ('O', 'A'))) AS unguarded`,
  );
  const { role, may_change, unguarded } = rows[0] as (typeof rows)[0];
  if (unguarded) {
    const repairs = unguarded.map((name) => `ALTER TABLE cc.${name} ENABLE TRIGGER append_only;`).join(' ');
    return {
      ok: false,
      detail: `no trigger refuses changes of cc.${unguarded.join(', cc.')}`,
      fix: `As the owner of the schema: ${repairs}`,
    };
  }
  if (role !== SERVICE_ROLE) {
    return {
      ok: true,
      detail: `by the trigger alone: the service works as ${role}, because it may not use the role ${SERVICE_ROLE}`,
      fix: `As a superuser: CREATE ROLE ${SERVICE_ROLE} NOLOGIN; GRANT ${SERVICE_ROLE} TO "${role}"; then restart the service.`,
    };
  }
  return {
    ok: !may_change,
    detail: may_change
      ? `the role ${SERVICE_ROLE} may change events`
      : `by the trigger, and by the role ${SERVICE_ROLE}`,
    ...(may_change && { fix: `REVOKE UPDATE, DELETE, TRUNCATE ON cc.events FROM ${SERVICE_ROLE};` }),
  };
}

async function partitions({ postgres }: Opened): Promise<Finding> {
  const { partitions, ahead } = await readPartitions(postgres.pool);
  const ok = ahead >= 1;
  return {
    ok,
    detail: `${partitions}, of them ${ahead} empty ones ahead`,
    ...(!ok && { fix: 'Start the service: it makes them, and looks after them every minute.' }),
  };
}

async function checkpoints(opened: Opened): Promise<Finding> {
  const values = await readServerSettings(opened, ['max_wal_size', 'checkpoint_timeout']);
  const walMb = Number(values.get('max_wal_size'));
  const ok = walMb >= WAL_SIZE_MIN_MB;
  return {
    ok,
    detail: `max_wal_size = ${walMb} MB, checkpoint_timeout = ${values.get('checkpoint_timeout')} s`,
    ...(!ok && {
      fix: `Set max_wal_size = '4GB' and checkpoint_timeout = '30min': frequent checkpoints slow every append down.`,
    }),
  };
}

/** Informational: claims that nobody needs cost space and nothing else. */
async function claims({ postgres, sites, settings }: Opened): Promise<Finding> {
  const windows = (await sites.all()).map((site) => dedupWindowOf(site.settings, settings.dedupWindowMs));
  const keptMs = Math.max(0, ...windows);
  const { rows } = await postgres.pool.query<{ claims: string; bytes: string; stale: boolean }>(
    `SELECT greatest(reltuples, 0)::bigint AS claims, pg_total_relation_size(oid) AS bytes,
            EXISTS (SELECT FROM cc.dedup WHERE at < now() - make_interval(secs => $1)) AS stale
       FROM pg_class WHERE oid = 'cc.dedup'::regclass`,
    [(keptMs + PRUNING_MAY_LAG_MS) / 1_000],
  );
  const { claims, bytes, stale } = rows[0] as (typeof rows)[0];
  const age = stale
    ? `some older than the longest window (${formatDuration(keptMs)}); a running service prunes them`
    : 'none older than needed';
  return { ok: true, detail: `about ${claims}, ${(Number(bytes) / 1024 ** 2).toFixed(1)} MB, ${age}` };
}

async function projections({ projections }: Opened): Promise<Finding> {
  const list = await projections.status();
  const parked = list.filter(({ state }) => state === 'parked');
  const behind = list.filter(({ lag }) => lag > 0).map(({ name, lag }) => `${name} by ${lag}`);
  if (parked.length > 0) {
    return {
      ok: false,
      detail: parked.map(({ name, reason }) => `${name} is parked: ${reason}`).join('; '),
      fix: `Update to a version that knows this event, then run ${parked.map(({ name }) => `"projections rebuild ${name}"`).join(', ')}.`,
    };
  }
  return {
    ok: true,
    detail: behind.length === 0 ? `${list.length}, all at the head of the log` : `behind the log: ${behind.join(', ')}`,
  };
}

/** Informational: what waits goes out by itself, and a connection that stands still harms no other. */
async function deliveries({ postgres, sites }: Opened): Promise<Finding> {
  const { rows } = await postgres.pool.query<{ waiting: number; oldest: Date | null }>(
    `SELECT count(*)::float8 AS waiting, min(due) AS oldest FROM cc.deliveries WHERE kind = 'send'`,
  );
  const { waiting, oldest } = rows[0] as (typeof rows)[0];
  const still = (await sites.all()).flatMap(({ host, connections }) =>
    connections
      .filter(({ state, disconnected }) => state !== 'active' && !disconnected)
      .map((connection) => ({ host, ...connection })),
  );
  const named = still.map(({ host, platform, state, reason }) => {
    return `${platform} of ${host} is ${state}${reason === undefined ? '' : ` (${reason})`}`;
  });
  const parked = still.filter(({ state }) => state === 'parked');
  const mending = parked.map(({ host, platform }) => `"platforms connect ${platform} --site ${host} --set …"`);
  return {
    ok: true,
    detail: [oldest ? `${waiting} wait, the oldest is due ${oldest.toISOString()}` : 'none waits', ...named].join('; '),
    ...(parked.length > 0 && { fix: `Give new credentials with ${mending.join(', ')}; what was kept goes out then.` }),
  };
}

/** One that fails is tried again by itself; one that the service has disabled waits for somebody. */
async function webhooks({ log, sites }: Opened): Promise<Finding> {
  const set = (await sites.all()).flatMap(({ host, webhook }) => (webhook ? [{ host, webhook }] : []));
  const ends = await log.readEnds(
    OUTBOUND,
    set.filter(({ webhook }) => webhook.enabled).map(({ host }) => streamOf(host)),
  );
  const failing = ends
    .filter((event) => event.type === 'outbound.failed.v1')
    .map(({ site, data }) => `${site} fails since ${data.failingSince} (${data.reason})`);
  const disabled = set.filter(({ webhook }) => !webhook.enabled && webhook.reason !== undefined);
  const named = disabled.map(({ host, webhook }) => `${host} is disabled since ${webhook.since} (${webhook.reason})`);
  const mending = disabled.map(({ host }) => `"webhook enable --site ${host}"`);
  return {
    ok: disabled.length === 0,
    detail: [`${set.length} set`, ...failing, ...named].join('; '),
    ...(disabled.length > 0 && {
      fix: `Mend the receiver, then run ${mending.join(', ')}; what was held is pushed then.`,
    }),
  };
}

async function kafka({ postgres, settings }: Opened): Promise<Finding> {
  if (!usesKafka(settings)) return { ok: true, detail: 'not configured (KAFKA_BROKERS): events are in the log alone' };
  try {
    const { brokers, behind } = await probeKafka(settings, postgres.pool);
    const detail = behind === 0 ? 'everything is published' : `${behind} events are not published yet`;
    return { ok: true, detail: `${brokers} ${brokers === 1 ? 'broker' : 'brokers'}, ${detail}` };
  } catch (error) {
    return {
      ok: false,
      detail: `${settings.kafkaBrokers.join(', ')} cannot be reached: ${messageOf(error)}`,
      fix: 'Check KAFKA_BROKERS, KAFKA_SSL and KAFKA_SASL_…, and that a broker runs. Conversions are taken meanwhile; the log keeps what is due.',
    };
  }
}

async function secrets({ secrets }: Opened): Promise<Finding> {
  const { present, previous, lost } = await secrets.survey();
  const detail = `${present} sealed with SECRET_KEY, ${previous} with SECRET_KEY_PREVIOUS`;
  if (lost.length > 0) {
    return {
      ok: false,
      detail: `${detail}, ${lost.length} with neither: ${lost.join(', ')}`,
      fix: 'Set the key they were sealed with as SECRET_KEY_PREVIOUS, or give new ones with "platforms connect" and "webhook set".',
    };
  }
  const fix =
    previous > 0 ? 'Restart the service: it seals them anew.' : 'Remove SECRET_KEY_PREVIOUS: it opens nothing.';
  return { ok: true, detail, fix };
}

async function clock({ postgres }: Opened): Promise<Finding> {
  const askedMs = Date.now();
  const { rows } = await postgres.pool.query<{ now: string }>(
    'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now',
  );
  const answeredMs = Date.now();
  // Somewhere between question and answer: what the way there and back took may not count as a difference.
  const databaseMs = Number(rows[0]?.now);
  const differenceMs = Math.round(Math.max(0, askedMs - databaseMs, databaseMs - answeredMs));
  const ok = differenceMs <= CLOCK_DIFFERENCE_MAX_MS;
  return {
    ok,
    detail:
      differenceMs === 0
        ? 'this machine and the database agree'
        : `this machine and the database differ by ${differenceMs} ms`,
    ...(!ok && { fix: 'Let both take their time from the same source (NTP).' }),
  };
}

/** Where the database lies: that may be another disk than the folder's own. */
async function disk(dataDir: string): Promise<Finding> {
  const folder = join(dataDir, 'postgres');
  const { bavail, bsize } = await statfs(folder).catch(() => statfs(dataDir));
  const ok = bavail * bsize >= DISK_FREE_MIN_BYTES;
  return {
    ok,
    detail: `${((bavail * bsize) / GB).toFixed(1)} GB free for ${dataDir}`,
    ...(!ok && { fix: 'Free some space, or move DATA_DIR to a larger disk: a full one stops the log.' }),
  };
}

async function secretFiles(dataDir: string): Promise<Finding> {
  const seen: string[] = [];
  const open: string[] = [];
  for (const name of ['secret-key', 'demo-key']) {
    const file = join(dataDir, name);
    const found = await stat(file).catch(() => undefined);
    if (found) seen.push(name);
    if (found && (found.mode & 0o077) !== 0) open.push(file);
  }
  if (open.length > 0) {
    return { ok: false, detail: `others may read ${open.join(' and ')}`, fix: `chmod 600 ${open.join(' ')}` };
  }
  return { ok: true, detail: seen.length === 0 ? 'there are none' : `${seen.join(' and ')}: for their owner only` };
}

async function service(settings: Settings): Promise<Finding> {
  if (settings.port === 0) return { ok: true, detail: 'not asked: PORT is 0, so it may listen anywhere' };
  const where = `${settings.host}:${settings.port}`;
  const answer = await askReady(settings);
  if (answer === undefined) return { ok: true, detail: `not running on ${where}` };
  const body = parseReadiness(answer.body);
  if (!body) {
    return { ok: false, detail: `something else listens on ${where}`, fix: 'Stop it, or set PORT to another one.' };
  }
  return {
    ok: body.ok,
    detail: body.ok ? `ready on ${where}` : `not ready on ${where}: ${answer.body}`,
    ...(!body.ok && { fix: "Look at the service's own log, and at the checks above." }),
  };
}

/** Undefined when nobody listens. */
function askReady({ host, port, tlsCert }: Settings): Promise<{ body: string } | undefined> {
  // A service that listens everywhere listens here too.
  const hostname = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const options = { hostname, port, path: '/readyz', timeout: SERVICE_ANSWERS_WITHIN_MS, agent: false };
  return new Promise((resolve, reject) => {
    // The certificate names the customer's host, not this address; nothing secret is sent or believed.
    const asked = tlsCert ? requestTls({ ...options, rejectUnauthorized: false }) : requestPlain(options);
    asked.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part) => {
        body += part;
        if (body.length > 64 * 1024) response.destroy();
      });
      response.on('close', () => resolve({ body }));
    });
    asked.on('timeout', () => asked.destroy(new Error(`${host}:${port} takes connections but does not answer`)));
    asked.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNREFUSED' ? resolve(undefined) : reject(error),
    );
    asked.end();
  });
}

function parseReadiness(body: string): { ok: boolean } | undefined {
  try {
    const { ok, log } = JSON.parse(body);
    return typeof ok === 'boolean' && log ? { ok } : undefined;
  } catch {
    return undefined;
  }
}

async function readServerSettings({ postgres }: Opened, names: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await postgres.pool.query<{ name: string; setting: string }>(
    'SELECT name, setting FROM pg_settings WHERE name = ANY ($1) ORDER BY name',
    [names],
  );
  return new Map(rows.map(({ name, setting }) => [name, setting]));
}
