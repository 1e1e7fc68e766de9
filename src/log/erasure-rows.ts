import type { ClientBase } from 'pg';
import { readBeginning } from './beginnings.js';
import { bytesOf, type ErasureSearch } from './erasure-search.js';
import { SharedPageSource } from './page-source.js';
import { Page } from './projections/projection.js';

/** How far a projection has folded the log. */
export interface FoldedPosition {
  readonly name: string;
  readonly position: number;
}

/** The rows of projections that are about the subjects. */
function subjectRows({ site, projections }: ErasureSearch, subjects: ReadonlySet<string>) {
  return projections
    .flatMap(({ subjectColumns = [] }) => subjectColumns)
    .map(({ table, column }) => ({
      table,
      condition: `site = $1 AND ${column} = ANY ($2)`,
      values: [site, bytesOf(subjects)],
    }));
}

/** By table. */
export async function countRows(
  client: ClientBase,
  search: ErasureSearch,
  subjects: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const rows = new Map<string, number>();
  for (const { table, condition, values } of subjectRows(search, subjects)) {
    const found = await client.query<{ count: number }>(
      `SELECT count(*)::float8 AS count FROM cc.${table} WHERE ${condition}`,
      values,
    );
    rows.set(table, found.rows[0]?.count ?? 0);
  }
  return rows;
}

/** At most `most` of each table. Returns their numbers by table. */
export async function deleteRows(
  client: ClientBase,
  search: ErasureSearch,
  subjects: ReadonlySet<string>,
  most: number | undefined,
): Promise<Map<string, number>> {
  const rows = new Map<string, number>();
  for (const { table, condition, values } of subjectRows(search, subjects)) {
    const which =
      most === undefined
        ? condition
        : `ctid = ANY (ARRAY(SELECT ctid FROM cc.${table} WHERE ${condition} LIMIT ${most}))`;
    const { rowCount } = await client.query(`DELETE FROM cc.${table} WHERE ${which}`, values);
    rows.set(table, rowCount ?? 0);
  }
  return rows;
}

/**
 * After rows of the subjects were deleted: makes those again that what is left about them amounts to, as a rebuild would. Returns their
 * numbers by table. Nothing is appended or folded meanwhile.
 */
export async function foldLeft(
  client: ClientBase,
  search: ErasureSearch,
  subjects: ReadonlySet<string>,
  foldedPositions: readonly FoldedPosition[],
): Promise<Map<string, number>> {
  const { rows } = await client.query<{ stream: string }>(
    `SELECT DISTINCT e.stream FROM cc.personal p JOIN cc.events e USING (position)
      WHERE p.site = $1 AND p.subject = ANY ($2) AND e.position >= $3`,
    // An earlier site with the host has no rows.
    [search.site, bytesOf(subjects), await readBeginning(client, search.site)],
  );
  if (rows.length === 0) return new Map();
  const streams = rows.map(({ stream }) => stream);
  for (const projection of search.projections) {
    if (!projection.subjectColumns) continue;
    const folded = foldedPositions.find(({ name }) => name === projection.name)?.position ?? 0;
    const until = projection.inline ? Number.MAX_SAFE_INTEGER : folded;
    await projection.fold(new Page(client, -1, until, await SharedPageSource.ofStreams(client, streams, until)));
  }
  return countRows(client, search, subjects);
}
