import type { ComparedDelivery } from './delivery-outcomes.js';

/** Counts by recorded outcome (`was`), by simulated outcome (`would`), and by pairs that differ (`changes`). */
export interface Differences {
  readonly was: Readonly<Record<string, number>>;
  readonly would: Readonly<Record<string, number>>;
  readonly changes: readonly { readonly was: string; readonly would: string; readonly count: number }[];
}

export interface ShadowResult {
  readonly conversions: Differences;
  readonly platforms: Readonly<Record<string, Differences & { readonly payloadsChanged: number }>>;
  /** Conversions that cannot be decided because their person was erased since. */
  readonly undecided: number;
}

/** Status where there is no delivery on one of the two sides. */
const NONE = 'not sent on';

/** Counts recorded against simulated outcomes. */
export class Comparison {
  undecided = 0;
  private readonly conversions = new Tally();
  private readonly platforms = new Map<string, { readonly tally: Tally; payloadsChanged: number }>();

  add(
    decision: { readonly was: string; readonly would: string },
    deliveries: ReadonlyMap<string, ComparedDelivery>,
  ): void {
    this.conversions.add(decision.was, decision.would);
    for (const [name, { was, would }] of deliveries) {
      const platform = this.platforms.get(name) ?? { tally: new Tally(), payloadsChanged: 0 };
      this.platforms.set(name, platform);
      platform.tally.add(was?.status ?? NONE, would?.status ?? NONE);
      const bothHavePayloads = was?.bodySha256 !== undefined && would?.bodySha256 !== undefined;
      if (bothHavePayloads && was.bodySha256 !== would.bodySha256) platform.payloadsChanged += 1;
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
