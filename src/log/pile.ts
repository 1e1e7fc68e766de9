import type { ClientBase } from 'pg';
import { copyIn } from './copy.js';

/** Turned into bytes then: until it is, a text made of parts keeps every row alive that the parts were cut from. */
const PIECE_CHARACTERS = 64 * 1024;

/** A table of which the newest row of each key stands. */
export interface PiledTable {
  readonly table: string;
  readonly key: readonly string[];
  readonly others: readonly string[];
}

/**
 * What is folded into such a table lies on a pile first, without an index, and is sorted out once all of it is there: an
 * index that grows by random keys, one by one, costs a rebuild more than everything else together. Names are bare, as in
 * every fold: the connection's search path says which table is meant, and where the pile is.
 */
export async function makePile(client: ClientBase, of: PiledTable, kind: 'UNLOGGED' | 'TEMP'): Promise<void> {
  const pile = pileOf(of);
  await client.query(`DROP TABLE IF EXISTS ${pile}; CREATE ${kind} TABLE ${pile} (LIKE cc.${of.table} INCLUDING ALL)`);
  await client.query(`ALTER TABLE ${pile} DROP CONSTRAINT ${pile}_pkey, ADD COLUMN position bigint`);
}

/** Rows as `COPY` reads them, a line each: the position of the event, the key, the others. */
export class PileRows {
  private readonly pieces: Buffer[] = [];
  private latest = '';

  add(line: string): void {
    this.latest += line;
    if (this.latest.length > PIECE_CHARACTERS) this.endPiece();
  }

  async addTo(client: ClientBase, of: PiledTable): Promise<void> {
    this.endPiece();
    await copyIn(client, `COPY ${pileOf(of)} (position, ${columnsOf(of)}) FROM STDIN`, this.pieces);
  }

  private endPiece(): void {
    this.pieces.push(Buffer.from(this.latest));
    this.latest = '';
  }
}

/** What is piled up, into rows that are there already. */
export async function mergePile(client: ClientBase, of: PiledTable): Promise<void> {
  const newer = of.others.map((column) => `excluded.${column}`);
  await client.query(
    `INSERT INTO ${of.table} (${columnsOf(of)})
     SELECT DISTINCT ON (${of.key}) ${columnsOf(of)} FROM ${pileOf(of)} ORDER BY ${of.key}, position DESC
     ON CONFLICT (${of.key}) DO UPDATE SET (${of.others}) = ROW (${newer})`,
  );
  await client.query(`DROP TABLE ${pileOf(of)}`);
}

/** Makes the table of the pile itself: no row is moved, and the key comes last. */
export async function makeTableOfPile(client: ClientBase, of: PiledTable): Promise<void> {
  const pile = pileOf(of);
  await client.query(`SET work_mem = '64MB'; SET maintenance_work_mem = '256MB'`);
  await client.query(
    `DELETE FROM ${pile} USING (
       SELECT ${of.key}, max(position) AS newest FROM ${pile} GROUP BY ${of.key} HAVING count(*) > 1) repeated
      WHERE (${of.key.map((column) => `${pile}.${column}`)}) = (${of.key.map((column) => `repeated.${column}`)})
        AND position < newest`,
  );
  await client.query(`ALTER TABLE ${pile} DROP COLUMN position; ALTER TABLE ${pile} RENAME TO ${of.table}`);
  await client.query(`ALTER TABLE ${of.table} SET LOGGED`);
  await client.query(`ALTER TABLE ${of.table} ADD PRIMARY KEY (${of.key})`);
}

function pileOf({ table }: PiledTable): string {
  return `${table}_pile`;
}

function columnsOf({ key, others }: PiledTable): string {
  return [...key, ...others].join(', ');
}
