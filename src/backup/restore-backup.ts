import { isDeepStrictEqual } from 'node:util';
import type { ClientBase } from 'pg';
import { ALERT_CHANNELS_STREAM, LOG, type LogEvent, NO_SITE } from '../events/log.events.js';
import { SITE, streamIdOf } from '../events/site.events.js';
import type { Actor } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import { productVersion } from '../kernel/product-version.js';
import type { Sealer } from '../kernel/sealing.js';
import { appendInTransaction } from '../log/append/append-in-transaction.js';
import { copyIn } from '../log/copy.js';
import { readEvents } from '../log/event-reader.js';
import { followLineage } from '../log/lineage.js';
import type { Postgres } from '../postgres/postgres.js';
import { lockSchema, readMigrations } from '../postgres/schema.js';
import { withConnection } from '../postgres/with-connection.js';
import { beginPause } from '../sites/pause.js';
import { evolve, type Site, stateOf } from '../sites/site.js';
import { ArchiveReader, type BackupHeader } from './archive.js';
import { KEY_LABEL } from './key-check.js';
import { columnList, qualified, readTables } from './tables.js';

/** Any start of a service stores something in the last ones. */
const EMPTY = ['events', 'seals', 'sites', 'users', 'signing_keys', 'secrets'];

export interface RestoreRequest {
  readonly file: string;
  readonly actor: Actor;
  /** Called with the share that is done; may throw to stop. */
  progress(done: number, table: string): void;
}

export interface RestoreSummary {
  /** When the backup was made. */
  readonly time: string;
  /** The sites that the restore has paused. */
  readonly paused: readonly string[];
}

/**
 * Fills an empty database from a backup, in one transaction: all of it or nothing. The original may still run, and may have sent since
 * what the copy would send, so every site is paused.
 */
export async function restoreBackup(
  postgres: Postgres,
  sealer: Sealer,
  { file, actor, progress }: RestoreRequest,
): Promise<RestoreSummary> {
  const archive = new ArchiveReader(file);
  try {
    const { header } = archive;
    return await withConnection(postgres.connectAsOwner('restore'), async (owner) => {
      // A service that starts waits until the database is restored.
      await lockSchema(owner);
      await requireSameTables(owner, header, file);
      await requireEmpty(owner);
      requireKey(sealer, header);
      await owner.query('BEGIN');
      await clear(owner, header);
      for (const { table, rows } of archive.blocks()) {
        const columns = header.tables.find(({ name }) => name === table);
        if (!columns) throw new Error(`The header of the backup does not name the table ${table}`);
        await copyIn(owner, `COPY ${qualified(owner, table)} (${columnList(owner, columns)}) FROM STDIN`, [rows]);
        progress(archive.done, table);
      }
      const paused = await finish(owner, postgres, header, actor);
      await owner.query('COMMIT');
      await owner.query('ANALYZE');
      return { time: header.time, paused };
    });
  } finally {
    archive.close();
  }
}

async function requireSameTables(owner: ClientBase, header: BackupHeader, file: string): Promise<void> {
  const columns = (tables: BackupHeader['tables']) =>
    Object.fromEntries(tables.map(({ name, columns }) => [name, columns.toSorted()]));
  const [migrations, tables] = [await readMigrations(owner), await readTables(owner)];
  const isSame =
    isDeepStrictEqual(migrations.toSorted(), header.migrations.toSorted()) &&
    isDeepStrictEqual(columns(tables), columns(header.tables));
  if (isSame) return;
  throw new UserError(
    `${file} was made by version ${header.version}, whose tables are not those of this version, ${productVersion()}. ` +
      `Nothing was restored. Restore it into an empty database with version ${header.version}; to upgrade, then start this version.`,
  );
}

async function requireEmpty(owner: ClientBase): Promise<void> {
  const { rows } = await owner.query<{ used: boolean }>(
    `SELECT ${EMPTY.map((table) => `EXISTS (SELECT FROM cc.${table})`).join(' OR ')} AS used`,
  );
  if (rows[0]?.used)
    throw new UserError(
      'The database has been used. Nothing was changed. Restore into an empty one: set DATABASE_URL to a new database or, without it, DATA_DIR to a new folder.',
    );
}

function requireKey(sealer: Sealer, { keyCheck }: BackupHeader): void {
  if (sealer.tryOpen(Buffer.from(keyCheck, 'base64'), KEY_LABEL)) return;
  throw new UserError(
    'SECRET_KEY is not the key of the backup. Nothing was restored. Set the key that it was made with (without DATABASE_URL: put the ' +
      'file secret-key into DATA_DIR); if the key was changed since, set the one before as SECRET_KEY_PREVIOUS.',
  );
}

/** What the migrations have put into the tables is in the backup, too. */
async function clear(owner: ClientBase, { tables, partitions }: BackupHeader): Promise<void> {
  const { rows } = await owner.query<{ first: string }>('SELECT first::text FROM cc.log_partitions');
  for (const { first } of rows) await owner.query(`DROP TABLE cc.events_${first}, cc.personal_${first}`);
  // Partitions must not change.
  for (const { name } of tables.toReversed())
    if (name !== 'events') await owner.query(`DELETE FROM ${qualified(owner, name)}`);
  for (const { first, beyond } of partitions) await owner.query('SELECT cc.add_partition($1, $2)', [first, beyond]);
  await owner.query('DELETE FROM cc.log_partitions');
}

/** Returns the sites that are paused now. */
async function finish(
  owner: ClientBase,
  postgres: Postgres,
  { sequences }: BackupHeader,
  actor: Actor,
): Promise<string[]> {
  for (const { name, value, called } of sequences)
    await owner.query('SELECT setval($1::regclass, $2, $3)', [qualified(owner, name), value, called]);
  // Whatever the database says about itself: what is restored is a copy.
  await owner.query(`UPDATE cc.lineage SET database = ''`);
  await followLineage(owner, () => {});
  const { rows: held } = await owner.query<{ site: string }>('SELECT site FROM cc.paused_sites');
  const paused: string[] = [];
  for (const [site, version] of await readSites(owner)) {
    if (site.removed || stateOf(site) !== 'open' || held.some((each) => each.site === site.host)) continue;
    await beginPause(owner, site.host);
    await appendInTransaction(owner, postgres.clock, {
      category: SITE,
      stream: streamIdOf(site.host),
      expected: version,
      site: site.host,
      actor,
      events: [{ type: 'site.paused.v1', data: {} }],
    });
    paused.push(site.host);
  }
  await pauseAlerts(owner, postgres, actor);
  // What a job does could have been done since.
  await owner.query(
    `UPDATE cc.jobs SET state = 'failed', holder = NULL, until = NULL, finished_at = now(), reason = 'The database was restored.'
      WHERE state IN ('queued', 'running')`,
  );
  return paused;
}

/** The original tells the same people of what began there, and sends what had to be sent. */
async function pauseAlerts(owner: ClientBase, postgres: Postgres, actor: Actor): Promise<void> {
  await owner.query('DELETE FROM cc.alert_messages WHERE settled_at IS NULL');
  const [channel] = await readEvents(owner, { streams: [ALERT_CHANNELS_STREAM], limit: 1 });
  if (!channel) return;
  const event: LogEvent = { type: 'log.alert_channel_paused.v1', data: { channelId: null } };
  const of = { category: LOG, stream: ALERT_CHANNELS_STREAM, expected: 'any', site: NO_SITE, actor } as const;
  await appendInTransaction(owner, postgres.clock, { ...of, events: [event] });
}

/** With the versions of their streams. */
async function readSites(owner: ClientBase): Promise<[Site, number][]> {
  const sites = new Map<string, [Site, number]>();
  for (const event of await readEvents(owner, { categories: [SITE] })) {
    const site = evolve(sites.get(event.stream)?.[0], event);
    if (site) sites.set(event.stream, [site, event.version]);
  }
  return [...sites.values()];
}
