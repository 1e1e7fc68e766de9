import type { ClientBase } from 'pg';
import { addToRows } from './add-to-rows.js';
import type { CountedConversion } from './counted-conversion.js';
import { DecimalSum } from './decimal-sum.js';
import { changeIdentifiers } from './identifier-rows.js';

const KEYS = {
  site: 'text',
  quarter: 'timestamptz',
  part: 'text',
  source: 'text',
  medium: 'text',
  campaign: 'text',
  click: 'text',
  other: 'boolean',
  matched: 'boolean',
  currency: 'text',
} as const;
const ALL_KEYS = Object.keys(KEYS).join(', ');
const SOURCE = 'source, medium, campaign, click';
const RECORD = Object.entries(KEYS)
  .map(([name, type]) => `${name} ${type}`)
  .join(', ');

/** The key of a row. */
interface Row {
  readonly site: string;
  readonly quarter: string;
  readonly part: 'first' | 'joined' | 'further';
  readonly source: string;
  readonly medium: string;
  readonly campaign: string;
  readonly click: string;
  readonly other: boolean;
  readonly matched: boolean;
  readonly currency: string;
}

type SourceRow = Pick<Row, 'site' | 'quarter' | 'source' | 'medium' | 'campaign' | 'click'>;

/** Conversions that are counted in the same row. */
interface Placed {
  readonly row: Row;
  readonly conversions: CountedConversion[];
}

/**
 * The first conversions of each quarter, by position. It counts erased ones too, so that an erasure does not change which are
 * the first: after it the rows equal those of a rebuild.
 */
class FirstConversions {
  private constructor(private readonly quarters: Map<string, { counted: number; last: number | undefined }>) {}

  /** As of before a page, for the quarters of these conversions. */
  static async read(tx: ClientBase, conversions: readonly CountedConversion[]): Promise<FirstConversions> {
    const quarters = new Map(
      conversions.map(({ site, quarter }) => [quarterKey({ site, quarter }), { site, quarter }]),
    );
    const { rows } = await tx.query<{ site: string; quarter: Date; counted: number; last: number | null }>(
      `SELECT q.site, q.quarter,
              (SELECT coalesce(sum(conversions), 0)::float8 FROM conversion_statistics s
                WHERE s.site = q.site AND s.quarter = q.quarter) AS counted,
              (SELECT position::float8 FROM attribution_limits l WHERE l.site = q.site AND l.quarter = q.quarter) AS last
         FROM json_to_recordset($1) AS q (site text, quarter timestamptz)`,
      [JSON.stringify([...quarters.values()])],
    );
    return new FirstConversions(
      new Map(
        rows.map(({ site, quarter, counted, last }) => [
          quarterKey({ site, quarter: quarter.toISOString() }),
          { counted, last: last ?? undefined },
        ]),
      ),
    );
  }

  /** Counts the conversions of a page, in log order, and stores where the first ones end. */
  async count(tx: ClientBase, conversions: readonly CountedConversion[], firstMax: number): Promise<void> {
    const reached: { site: string; quarter: string; position: number }[] = [];
    for (const { site, quarter, position } of conversions) {
      const state = this.quarters.get(quarterKey({ site, quarter }));
      if (!state) continue;
      state.counted += 1;
      if (state.counted !== firstMax) continue;
      state.last = position;
      reached.push({ site, quarter, position });
    }
    if (reached.length === 0) return;
    await tx.query(
      `INSERT INTO attribution_limits SELECT site, quarter, position
         FROM json_to_recordset($1) AS r (site text, quarter timestamptz, position bigint)`,
      [JSON.stringify(reached)],
    );
  }

  has({ site, quarter, position }: CountedConversion): boolean {
    return position <= (this.quarters.get(quarterKey({ site, quarter }))?.last ?? Number.POSITIVE_INFINITY);
  }
}

/**
 * Adds the conversions of a page to the rows, before they are added to `conversion_statistics`. A visitor can invent sources:
 * of the conversions after the first of a quarter, those that none of the first has are counted together.
 */
export async function addAttributions(
  tx: ClientBase,
  conversions: readonly CountedConversion[],
  firstMax: number,
): Promise<void> {
  if (conversions.length === 0) return;
  const first = await FirstConversions.read(tx, conversions);
  await first.count(tx, conversions, firstMax);
  const early: CountedConversion[] = [];
  const later: CountedConversion[] = [];
  for (const conversion of conversions) (first.has(conversion) ? early : later).push(conversion);
  // The sources of the first ones are stored when the others are placed.
  for (const some of [early, later]) await change(tx, await place(tx, some, first), 1);
}

/** Moves conversions that were matched later to the row of their visit. */
export async function joinAttributions(
  tx: ClientBase,
  joins: readonly { readonly before: CountedConversion; readonly after: CountedConversion }[],
): Promise<void> {
  if (joins.length === 0) return;
  const all = joins.map(({ before }) => before);
  const first = await FirstConversions.read(tx, all);
  const stored = await storedOf(tx, await place(tx, all, first));
  const moved = new Set(stored.flatMap(({ conversions }) => conversions));
  const joined = joins.filter(({ before }) => moved.has(before)).map(({ after }) => after);
  await change(tx, stored, -1);
  await change(tx, await place(tx, joined, first), 1);
}

/** Takes conversions out of the rows, as if they had been erased before they were folded. */
export async function takeAttributions(tx: ClientBase, conversions: readonly CountedConversion[]): Promise<void> {
  if (conversions.length === 0) return;
  const first = await FirstConversions.read(tx, conversions);
  await change(tx, await storedOf(tx, await place(tx, conversions, first)), -1);
}

/** Groups conversions by their row. Those of erased people have none. */
async function place(
  tx: ClientBase,
  conversions: readonly CountedConversion[],
  first: FirstConversions,
): Promise<Placed[]> {
  const groups = new Map<string, Placed>();
  for (const conversion of conversions) {
    const { site, quarter, joined, matched, currency, attribution } = conversion;
    if (!attribution) continue;
    const { source, medium, campaign, click } = attribution;
    const part = first.has(conversion) ? (joined ? 'joined' : 'first') : 'further';
    const key = `${sourceKey({ site, quarter, source, medium, campaign, click })}\0${part}\0${matched}\0${currency}`;
    const group = groups.get(key);
    if (group) group.conversions.push(conversion);
    else {
      const row = { site, quarter, part, source, medium, campaign, click, other: false, matched, currency } as const;
      groups.set(key, { row, conversions: [conversion] });
    }
  }
  return nameOrMerge(tx, [...groups.values()]);
}

/** Counts sources that none of the first conversions has together. */
async function nameOrMerge(tx: ClientBase, groups: readonly Placed[]): Promise<Placed[]> {
  const asked = groups.filter(({ row }) => isInventable(row));
  if (asked.length === 0) return [...groups];
  const quarters = new Map(
    asked.map(({ row: { site, quarter } }) => [quarterKey({ site, quarter }), { site, quarter }]),
  );
  const { rows } = await tx.query<SourceRow & { quarter: Date }>(
    `SELECT DISTINCT a.site, a.quarter, a.source, a.medium, a.campaign, a.click
       FROM json_to_recordset($1) AS q (site text, quarter timestamptz)
       JOIN attributions a ON a.site = q.site AND a.quarter = q.quarter AND a.part = 'first'`,
    [JSON.stringify([...quarters.values()])],
  );
  const named = new Set(rows.map((row) => sourceKey({ ...row, quarter: row.quarter.toISOString() })));
  return groups.map((group) =>
    !isInventable(group.row) || named.has(sourceKey(group.row))
      ? group
      : { ...group, row: { ...group.row, source: '', medium: '', campaign: '', other: true } },
  );
}

/** Those whose row has not expired. */
async function storedOf(tx: ClientBase, groups: readonly Placed[]): Promise<Placed[]> {
  const { rows } = await tx.query<{ index: number }>(
    `SELECT r.index FROM json_to_recordset($1) AS r (index int, ${RECORD}) JOIN attributions USING (${ALL_KEYS})`,
    [JSON.stringify(groups.map(({ row }, index) => ({ index, ...row })))],
  );
  return rows.map(({ index }) => groups[index] as Placed);
}

async function change(tx: ClientBase, groups: readonly Placed[], by: 1 | -1): Promise<void> {
  if (groups.length === 0) return;
  const rows = groups.flatMap(({ row, conversions }) => {
    const value = new DecimalSum();
    for (const conversion of conversions) value.add(by * conversion.value);
    return value
      .parts()
      .map((part, index) => ({ ...row, conversions: index === 0 ? by * conversions.length : 0, value: part }));
  });
  await addToRows(tx, 'attributions', KEYS, { conversions: 'bigint', value: 'numeric' }, rows);
  await changeIdentifiers(
    tx,
    groups.flatMap(({ conversions }) => conversions),
    by,
  );
  if (by < 0)
    await removeEmpty(
      tx,
      groups.map(({ row }) => row),
    );
}

/** Whether the source is only counted by its name if one of the first conversions has it. */
function isInventable({ part, source, medium, campaign }: Row): boolean {
  return part === 'further' && (source !== '' || medium !== '' || campaign !== '');
}

/** Deletes rows without conversions, and those that expired meanwhile. A source that none of the first conversions has any more is not counted by its name. */
async function removeEmpty(tx: ClientBase, changed: readonly Row[]): Promise<void> {
  const list = JSON.stringify(changed);
  await tx.query(
    `DELETE FROM attributions USING json_to_recordset($1) AS r (${RECORD})
      WHERE ${Object.keys(KEYS)
        .map((name) => `attributions.${name} = r.${name}`)
        .join(' AND ')} AND attributions.conversions <= 0`,
    [list],
  );
  await tx.query(
    `WITH unnamed AS (
       DELETE FROM attributions a USING (SELECT DISTINCT site, quarter, ${SOURCE} FROM json_to_recordset($1) AS r (${RECORD})) r
        WHERE (a.site, a.quarter, a.source, a.medium, a.campaign, a.click) =
              (r.site, r.quarter, r.source, r.medium, r.campaign, r.click)
          AND a.part = 'further' AND NOT a.other AND (a.source, a.medium, a.campaign) <> ('', '', '')
          AND NOT EXISTS (SELECT FROM attributions f WHERE f.part = 'first'
                AND (f.site, f.quarter, f.source, f.medium, f.campaign, f.click) =
                    (a.site, a.quarter, a.source, a.medium, a.campaign, a.click))
       RETURNING a.*)
     INSERT INTO attributions AS t (${ALL_KEYS}, conversions, value)
     SELECT site, quarter, part, '', '', '', click, true, matched, currency, sum(conversions), trim_scale(sum(value))
       FROM unnamed GROUP BY site, quarter, part, click, matched, currency
     ON CONFLICT (${ALL_KEYS}) DO UPDATE SET conversions = t.conversions + excluded.conversions,
       value = trim_scale(t.value + excluded.value)`,
    [list],
  );
}

function quarterKey({ site, quarter }: { readonly site: string; readonly quarter: string }): string {
  return `${site} ${quarter}`;
}

/** No text of a source contains the separator. */
function sourceKey({ site, quarter, source, medium, campaign, click }: SourceRow): string {
  return `${site}\0${quarter}\0${source}\0${medium}\0${campaign}\0${click}`;
}
