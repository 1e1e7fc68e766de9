import type { ClientBase } from 'pg';

export interface TableColumns {
  readonly name: string;
  readonly columns: readonly string[];
}

export interface Table extends TableColumns {
  /** Tables that it refers to. */
  readonly refersTo: readonly string[];
  readonly bytes: number;
}

/** Of the database itself: the migrations that made it, and the login of its service. */
const NOT_COPIED = ['schema_migrations', 'schema_compatibility', 'service_login'];

/** The tables of a backup, each after those that it refers to. */
export async function readTables(client: ClientBase): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `SELECT c.relname AS name,
            (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns,
            ARRAY (SELECT f.confrelid::regclass::text FROM pg_constraint f
                    WHERE f.conrelid = c.oid AND f.contype = 'f') AS "refersTo",
            CASE c.relkind WHEN 'r' THEN pg_table_size(c.oid)
              ELSE (SELECT sum(pg_table_size(p.relid)) FROM pg_partition_tree(c.oid) p) END::float8 AS bytes
       FROM pg_class c
      WHERE c.relnamespace = 'cc'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> ALL ($1)
      ORDER BY c.relname`,
    [NOT_COPIED],
  );
  const ordered: Table[] = [];
  const isPlaced = (name: string) => ordered.some((table) => table.name === name.replace(/^cc\./, ''));
  while (ordered.length < rows.length) {
    const next = rows.filter((table) => !ordered.includes(table) && table.refersTo.every(isPlaced));
    if (next.length === 0) throw new Error('Tables refer to each other in a circle');
    ordered.push(...next);
  }
  return ordered;
}

/** For COPY and SELECT. */
export function columnList(client: ClientBase, { columns }: TableColumns): string {
  return columns.map((column) => client.escapeIdentifier(column)).join(', ');
}

export function qualified(client: ClientBase, name: string): string {
  return `cc.${client.escapeIdentifier(name)}`;
}
