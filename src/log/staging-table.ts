import type { ClientBase } from 'pg';
import { copyIn } from './copy.js';

/** Turned into bytes then: until it is, a text made of parts keeps every row alive that the parts were cut from. */
const PIECE_CHARACTERS = 64 * 1024;

/** A table of which the newest row of each key stands. */
export interface StagedTable {
  readonly table: string;
  readonly key: readonly string[];
  readonly others: readonly string[];
}

/**
 * What is folded into such a table lies on a stagingTable first, without an index, and is sorted out once all of it is there: an
 * index that grows by random keys, one by one, costs a rebuild more than everything else together. Names are bare, as in
 * every fold: the connection's search path says which table is meant, and where the stagingTable is.
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

/** Rows as `COPY` reads them, a line each: the position of the event, the key, the others. */
export class StagedRows {
  private readonly pieces: Buffer[] = [];
  private latest = '';

  add(line: string): void {
    this.latest += line;
    if (this.latest.length > PIECE_CHARACTERS) this.endPiece();
  }

  async addTo(client: ClientBase, of: StagedTable): Promise<void> {
    this.endPiece();
    await copyIn(client, `COPY ${stagingTableOf(of)} (position, ${columnsOf(of)}) FROM STDIN`, this.pieces);
  }

  private endPiece(): void {
    this.pieces.push(Buffer.from(this.latest));
    this.latest = '';
  }
}

/** What is piled up, into rows that are there already. */
export async function mergeStagingTable(client: ClientBase, of: StagedTable): Promise<void> {
  const newer = of.others.map((column) => `excluded.${column}`);
  await client.query(
    `INSERT INTO ${of.table} (${columnsOf(of)})
     SELECT DISTINCT ON (${of.key}) ${columnsOf(of)} FROM ${stagingTableOf(of)} ORDER BY ${of.key}, position DESC
     ON CONFLICT (${of.key}) DO UPDATE SET (${of.others}) = ROW (${newer})`,
  );
  await client.query(`DROP TABLE ${stagingTableOf(of)}`);
}

/** Makes the table of the stagingTable itself: no row is moved, and the key comes last. */
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
