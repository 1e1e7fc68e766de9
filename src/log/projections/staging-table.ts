import type { ClientBase } from 'pg';
import { copyIn } from '../copy.js';

/** Convert to bytes at this size: a concatenated string keeps the strings that it was built from in memory. */
const CHUNK_CHARACTERS = 64 * 1024;

/** A table that keeps the newest row of each key. */
export interface StagedTable {
  readonly table: string;
  readonly key: readonly string[];
  readonly others: readonly string[];
}

/**
 * Rows are staged without an index first, because an index that grows by random keys one by one would cost a rebuild more than
 * everything else. Names are unqualified, as in every fold: the search path of the connection decides where the table is.
 */
export async function createStagingTable(
  client: ClientBase,
  of: StagedTable,
  kind: 'UNLOGGED' | 'TEMP',
): Promise<void> {
  const stagingTable = stagingTableOf(of);
  await client.query(
    `DROP TABLE IF EXISTS ${stagingTable}; CREATE ${kind} TABLE ${stagingTable} (LIKE cc.${of.table} INCLUDING ALL)`,
  );
  await client.query(`ALTER TABLE ${stagingTable} DROP CONSTRAINT ${stagingTable}_pkey, ADD COLUMN position bigint`);
}

/** Rows in COPY text format, one per line: position of the event, key columns, other columns. */
export class StagedRows {
  private readonly chunks: Buffer[] = [];
  private current = '';

  add(line: string): void {
    this.current += line;
    if (this.current.length > CHUNK_CHARACTERS) this.endChunk();
  }

  async addTo(client: ClientBase, of: StagedTable): Promise<void> {
    this.endChunk();
    await copyIn(client, `COPY ${stagingTableOf(of)} (position, ${columnsOf(of)}) FROM STDIN`, this.chunks);
  }

  private endChunk(): void {
    this.chunks.push(Buffer.from(this.current));
    this.current = '';
  }
}

/** Deletes the staged rows of a site from before a position. */
export async function deleteStaged(client: ClientBase, of: StagedTable, site: string, before: number): Promise<void> {
  await client.query(`DELETE FROM ${stagingTableOf(of)} WHERE site = $1 AND position < $2`, [site, before]);
}

/** Merges the staged rows into existing ones. */
export async function mergeStagingTable(client: ClientBase, of: StagedTable): Promise<void> {
  const newer = of.others.map((column) => `excluded.${column}`);
  await client.query(
    `INSERT INTO ${of.table} (${columnsOf(of)})
     SELECT DISTINCT ON (${of.key}) ${columnsOf(of)} FROM ${stagingTableOf(of)} ORDER BY ${of.key}, position DESC
     ON CONFLICT (${of.key}) DO UPDATE SET (${of.others}) = ROW (${newer})`,
  );
  await client.query(`DROP TABLE ${stagingTableOf(of)}`);
}

/** Turns the staging table into the table itself: no row is copied, and the primary key is built last. */
export async function promoteStagingTable(client: ClientBase, of: StagedTable): Promise<void> {
  const stagingTable = stagingTableOf(of);
  await client.query(`SET work_mem = '64MB'; SET maintenance_work_mem = '256MB'`);
  await client.query(
    `DELETE FROM ${stagingTable} USING (
       SELECT ${of.key}, max(position) AS newest FROM ${stagingTable} GROUP BY ${of.key} HAVING count(*) > 1) repeated
      WHERE (${of.key.map((column) => `${stagingTable}.${column}`)}) = (${of.key.map((column) => `repeated.${column}`)})
        AND position < newest`,
  );
  await client.query(
    `ALTER TABLE ${stagingTable} DROP COLUMN position; ALTER TABLE ${stagingTable} RENAME TO ${of.table}`,
  );
  await client.query(`ALTER TABLE ${of.table} SET LOGGED`);
  await client.query(`ALTER TABLE ${of.table} ADD PRIMARY KEY (${of.key})`);
}

function stagingTableOf({ table }: StagedTable): string {
  return `${table}_staging`;
}

function columnsOf({ key, others }: StagedTable): string {
  return [...key, ...others].join(', ');
}
