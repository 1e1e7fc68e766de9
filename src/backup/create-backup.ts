import type { ClientBase } from 'pg';
import { withClient } from '../history/with-client.js';
import { productVersion } from '../kernel/product-version.js';
import type { Sealer } from '../kernel/sealing.js';
import { copyOut } from '../log/copy.js';
import { withReaderHold } from '../log/retention/retention-holds.js';
import type { Postgres } from '../postgres/postgres.js';
import { readMigrations } from '../postgres/schema.js';
import { ArchiveWriter, type BackupHeader } from './archive.js';
import { KEY_LABEL, KEY_TEXT } from './key-check.js';
import { columnList, qualified, readTables, type Table } from './tables.js';

/** Rows are compressed together in blocks of about this size. */
const BLOCK_BYTES = 1 << 20;

export interface BackupSummary {
  readonly file: string;
  readonly bytes: number;
  readonly events: number;
  /** ISO time of the snapshot. */
  readonly time: string;
}

export interface BackupRun {
  /** Ends it at once. */
  readonly signal: AbortSignal;
  /** Called with the share that is done. */
  progress(done: number, table: string): void;
}

/** Copies all tables, as of one moment, to a file, while the service goes on. If anything fails there is no file. */
export function createBackup(
  postgres: Postgres,
  sealer: Sealer,
  file: string,
  { signal, progress }: BackupRun,
): Promise<BackupSummary> {
  const failed = new AbortController();
  const connect = () => postgres.connect('backup');
  return withReaderHold(postgres, 'backup', 0, (hold) =>
    withClient(connect, AbortSignal.any([signal, failed.signal]), async (client) => {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const tables = await readTables(client);
      const header = await readHeader(client, sealer, tables);
      const archive = new ArchiveWriter(file, header);
      try {
        const allBytes = tables.reduce((sum, { bytes }) => sum + bytes, 0) || 1;
        let [events, before] = [0, 0];
        for (const table of tables) {
          const rows = await copyTable(client, archive, table, failed, (copied) =>
            progress((before + Math.min(copied, table.bytes)) / allBytes, table.name),
          );
          if (table.name === 'events') events = rows;
          before += table.bytes;
        }
        await hold.confirm();
        archive.finish();
        return { file, bytes: archive.bytes, events, time: header.time };
      } catch (error) {
        archive.discard();
        throw failed.signal.aborted ? failed.signal.reason : error;
      }
    }),
  );
}

/** Returns how many rows it has. */
async function copyTable(
  client: ClientBase,
  archive: ArchiveWriter,
  table: Table,
  failed: AbortController,
  onBlock: (copiedBytes: number) => void,
): Promise<number> {
  let lines: Buffer[] = [];
  let [blockBytes, copied, rows] = [0, 0, 0];
  const flush = () => {
    if (blockBytes > 0) archive.add({ table: table.name, rows: Buffer.concat(lines) });
    copied += blockBytes;
    [lines, blockBytes] = [[], 0];
    onBlock(copied);
  };
  const select = `SELECT ${columnList(client, table)} FROM ${qualified(client, table.name)}`;
  await copyOut(client, `COPY (${select}) TO STDOUT`, (line) => {
    // The buffer belongs to the connection. Each block is compressed at once, so that no more than one is in memory.
    lines.push(Buffer.from(line));
    blockBytes += line.length;
    rows += 1;
    if (blockBytes < BLOCK_BYTES || failed.signal.aborted) return;
    try {
      flush();
    } catch (error) {
      // Otherwise the rest of the table would be read for nothing.
      failed.abort(error);
    }
  });
  flush();
  return rows;
}

async function readHeader(client: ClientBase, sealer: Sealer, tables: readonly Table[]): Promise<BackupHeader> {
  const { rows: partitions } = await client.query<BackupHeader['partitions'][number]>(
    'SELECT first::text, beyond::text FROM cc.log_partitions ORDER BY first',
  );
  const { rows: names } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class s WHERE relnamespace = 'cc'::regnamespace AND relkind = 'S'
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = s.oid AND deptype IN ('a', 'i')) ORDER BY relname`,
  );
  const sequences: BackupHeader['sequences'][number][] = [];
  for (const { name } of names) {
    // Not as of the snapshot: it may be ahead of it, never behind.
    const { rows } = await client.query<{ value: string; called: boolean }>(
      `SELECT last_value::text AS value, is_called AS called FROM ${qualified(client, name)}`,
    );
    sequences.push({ name, ...(rows[0] as { value: string; called: boolean }) });
  }
  const { rows: clock } = await client.query<{ now: Date }>('SELECT now()');
  return {
    version: productVersion(),
    migrations: await readMigrations(client),
    tables: tables.map(({ name, columns }) => ({ name, columns })),
    partitions,
    sequences,
    time: (clock[0] as { now: Date }).now.toISOString(),
    keyCheck: sealer.seal(KEY_TEXT, KEY_LABEL).toString('base64'),
  };
}
