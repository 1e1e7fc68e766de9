import type { UsedIdentifier } from './used-identifiers.js';

/** Click ids of which one click of Google has one. */
const GOOGLE_CLICKS = ['gclid', 'gbraid', 'wbraid'];
const CLICKS = [
  ...GOOGLE_CLICKS,
  ...['dclid', 'fbclid', 'ttclid', 'msclkid', 'twclid', 'li_fat_id', 'sccid', 'rdt_cid', 'epik'],
];

/** Sets of which platforms use any member: from the counts of the members it is not known how many carried at least one. */
const UNIONS: Readonly<Record<string, readonly string[]>> = { google_click: GOOGLE_CLICKS, any_click: CLICKS };

/** Matched to a visit. */
const VISIT = 'visit';

/** The identifiers in the order of the stored counts. New ones are added at the end. */
const NAMES: readonly string[] = [
  VISIT,
  ...['email', 'phone', 'first_name', 'last_name', 'external_id', 'city', 'region', 'postal_code', 'country'],
  ...['ip_address', 'user_agent', '_fbp', '_ttp', '_ga', '_ga_session', '_uetvid', '_scid', '_rdt_uuid'],
  ...CLICKS,
  ...Object.keys(UNIONS),
];
const INDEX: ReadonlyMap<string, number> = new Map(NAMES.map((name, index) => [name, index]));
/** The counts that an identifier is part of. */
const COUNTED_IN: ReadonlyMap<string, readonly number[]> = new Map(
  NAMES.map((name) => {
    const unions = Object.entries(UNIONS).filter(([, members]) => members.includes(name));
    return [name, [name, ...unions.map(([union]) => union)].map((counted) => INDEX.get(counted) as number)];
  }),
);

export function noCounts(): number[] {
  return NAMES.map(() => 0);
}

/** Adds a number of conversions to the counts. */
export function countCarried(
  counts: number[],
  { identifiers, matched }: { readonly identifiers: readonly string[]; readonly matched: boolean },
  by: number,
): void {
  const changed = new Set<number>();
  for (const name of identifiers) for (const index of COUNTED_IN.get(name) ?? []) changed.add(index);
  if (matched) changed.add(0);
  for (const index of changed) counts[index] = (counts[index] ?? 0) + by;
}

export function matchedOf(counts: readonly number[]): number {
  return counts[0] ?? 0;
}

/** How many carried at least one of these identifiers. */
export function carriedOf(counts: readonly number[], { anyOf }: Pick<UsedIdentifier, 'anyOf'>): number {
  const [name] = anyOf.length === 1 ? anyOf : Object.keys(UNIONS).filter((union) => isSame(UNIONS[union] ?? [], anyOf));
  const index = name === undefined ? undefined : INDEX.get(name);
  if (index === undefined) throw new Error(`There is no count of conversions with any of ${anyOf.join(', ')}`);
  return counts[index] ?? 0;
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name) => other.includes(name));
}
