import { ALTERNATIVE_CLICKS, CLICK_IDS, COOKIES, PLATFORM_CLICK_KINDS } from '../platforms/click-ids.js';
import type { UsedIdentifier } from './used-identifiers.js';

/** Matched to a visit. */
const VISIT = 'visit';
const ANY_CLICK = 32;

/** Sets of which platforms use any member: from the counts of the members it is not known how many carried at least one. */
const UNIONS: readonly { readonly number: number; readonly kinds: readonly string[] }[] = [
  ...ALTERNATIVE_CLICKS,
  { number: ANY_CLICK, kinds: PLATFORM_CLICK_KINDS },
];

/** The place of each identifier in stored counts. Click ids and cookies have theirs in the manifests of the platforms. */
const INDEX: ReadonlyMap<string, number> = new Map([
  ...[
    ...[VISIT, 'email', 'phone', 'first_name', 'last_name', 'external_id', 'city', 'region', 'postal_code', 'country'],
    ...['ip_address', 'user_agent'],
  ].map((name, index) => [name, index] as const),
  ...[...COOKIES, ...CLICK_IDS].map(([name, { number }]) => [name, number] as const),
]);
const LENGTH = 1 + Math.max(...INDEX.values(), ...UNIONS.map(({ number }) => number));
/** The counts that an identifier is part of. */
const COUNTED_IN: ReadonlyMap<string, readonly number[]> = new Map(
  [...INDEX].map(([name, index]) => {
    const unions = UNIONS.filter(({ kinds }) => kinds.includes(name));
    return [name, [index, ...unions.map(({ number }) => number)]];
  }),
);

export function noCounts(): number[] {
  return Array.from({ length: LENGTH }, () => 0);
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
  const [name = ''] = anyOf;
  const index = anyOf.length === 1 ? INDEX.get(name) : UNIONS.find(({ kinds }) => isSame(kinds, anyOf))?.number;
  if (index === undefined) throw new Error(`There is no count of conversions with any of ${anyOf.join(', ')}`);
  return counts[index] ?? 0;
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name) => other.includes(name));
}
