import type { ClientBase } from 'pg';

type ColumnType = 'text' | 'boolean' | 'timestamptz' | 'bigint' | 'numeric';
export type Columns = Readonly<Record<string, ColumnType>>;

/**
 * Adds to the rows of a table, once per distinct key. A count that a row does not name stays as it is. Sums have no zeros at the
 * end, so that they are the same after a rebuild.
 */
export async function addToRows(
  tx: ClientBase,
  table: string,
  keys: Columns,
  counts: Columns,
  rows: readonly object[],
): Promise<void> {
  if (rows.length === 0) return;
  const typed = Object.entries({ ...keys, ...counts }).map(([name, type]) => `${name} ${type}`);
  const key = Object.keys(keys).join(', ');
  const exact = (name: string, sum: string) => (counts[name] === 'numeric' ? `trim_scale(${sum})` : sum);
  const sums = Object.keys(counts).map((name) => exact(name, `coalesce(sum(${name}), 0)`));
  const added = Object.keys(counts).map((name) => `${name} = ${exact(name, `t.${name} + excluded.${name}`)}`);
  await tx.query({
    name: `add-to-${table}`,
    text: `INSERT INTO ${table} AS t (${key}, ${Object.keys(counts).join(', ')})
           SELECT ${key}, ${sums.join(', ')} FROM json_to_recordset($1) AS r (${typed.join(', ')}) GROUP BY ${key}
           ON CONFLICT (${key}) DO UPDATE SET ${added.join(', ')}`,
    values: [JSON.stringify(rows)],
  });
}
