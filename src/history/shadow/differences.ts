import type { Fate } from './deliveries.js';
import type { ShadowResult } from './shadow.js';

/** How often each outcome was, how often it would be, and which became which. */
export interface Differences {
  readonly was: Readonly<Record<string, number>>;
  readonly would: Readonly<Record<string, number>>;
  readonly changes: readonly { readonly was: string; readonly would: string; readonly count: number }[];
}

/** Of a delivery that there was not, or would not be. */
const NONE = 'not sent on';

/** Counts what was beside what would have been. */
export class Comparison {
  undecided = 0;
  private readonly conversions = new Tally();
  private readonly platforms = new Map<string, { readonly tally: Tally; payloadsChanged: number }>();

  add(
    opening: { readonly was: string; readonly would: string },
    before: ReadonlyMap<string, Fate>,
    after: ReadonlyMap<string, Fate>,
  ): void {
    this.conversions.add(opening.was, opening.would);
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const platform = this.platforms.get(name) ?? { tally: new Tally(), payloadsChanged: 0 };
      this.platforms.set(name, platform);
      const [was, would] = [before.get(name), after.get(name)];
      platform.tally.add(was?.status ?? NONE, would?.status ?? NONE);
      const areSpelled = was?.bodySha256 !== undefined && would?.bodySha256 !== undefined;
      if (areSpelled && was.bodySha256 !== would.bodySha256) platform.payloadsChanged += 1;
    }
  }

  result(): ShadowResult {
    const platforms = [...this.platforms].map(
      ([name, { tally, payloadsChanged }]) => [name, { ...tally.differences(), payloadsChanged }] as const,
    );
    return {
      conversions: this.conversions.differences(),
      platforms: Object.fromEntries(platforms),
      undecided: this.undecided,
    };
  }
}

class Tally {
  private readonly counts = new Map<string, { readonly was: string; readonly would: string; count: number }>();

  add(was: string, would: string): void {
    const key = `${was}\n${would}`;
    const pair = this.counts.get(key) ?? { was, would, count: 0 };
    pair.count += 1;
    this.counts.set(key, pair);
  }

  differences(): Differences {
    const pairs = [...this.counts.values()];
    return {
      was: sums(pairs, 'was'),
      would: sums(pairs, 'would'),
      changes: pairs.filter(({ was, would }) => was !== would),
    };
  }
}

function sums(pairs: readonly { was: string; would: string; count: number }[], side: 'was' | 'would') {
  const totals: Record<string, number> = {};
  for (const pair of pairs) totals[pair[side]] = (totals[pair[side]] ?? 0) + pair.count;
  return totals;
}
