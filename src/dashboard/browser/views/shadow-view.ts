import { connectionTitle, formatNumber } from '../format.js';

interface Differences {
  readonly changes: readonly { readonly was: string; readonly would: string; readonly count: number }[];
  readonly payloadsChanged?: number;
}

interface ShadowResult {
  readonly conversions: Differences;
  readonly platforms: Readonly<Record<string, Differences>>;
  readonly undecided: number;
}

interface DifferenceRow {
  /** Conversions, or the platform whose deliveries changed. */
  readonly of: string;
  readonly was: string;
  readonly would: string;
  readonly count: number;
}

export function isShadowResult(result: unknown): result is ShadowResult {
  return typeof result === 'object' && result !== null && 'conversions' in result && 'platforms' in result;
}

/** What a shadow replay found: a row for each kind of change, the conversions first. */
export function differenceRows({ conversions, platforms }: ShadowResult): DifferenceRow[] {
  return [
    ...rowsOf('Conversions', conversions),
    ...Object.entries(platforms).flatMap(([platform, found]) => rowsOf(connectionTitle(platform), found)),
  ];
}

function rowsOf(of: string, { changes, payloadsChanged = 0 }: Differences): DifferenceRow[] {
  return [
    ...changes.map((change) => ({ of, ...change })),
    ...(payloadsChanged > 0 ? [{ of, was: 'sent', would: 'sent with another payload', count: payloadsChanged }] : []),
  ];
}

/** In a line of the list of jobs. */
export function differenceText(result: ShadowResult): string {
  const count = differenceRows(result).reduce((sum, row) => sum + row.count, 0);
  return count === 0 ? 'No difference' : `${formatNumber(count)} would differ`;
}
