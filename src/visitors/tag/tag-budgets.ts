import { networkOf } from '../../kernel/addresses.js';
import type { DailyBudget } from '../../kernel/settings/setting-formats.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Callers beyond this number are bound by the site's budget alone, so that a flood of addresses uses bounded memory. */
const CALLERS_MAX = 100_000;

/** `person`: calls about one email, from any visitor and address. */
export type BudgetScope = 'address' | 'visitor' | 'person' | 'site';

export interface Exceeded {
  readonly scope: BudgetScope;
  readonly limit: keyof DailyBudget;
  readonly retryAfterS: number;
}

export interface BudgetedCall {
  readonly site: string;
  readonly address: string | undefined;
  /** Only a visitor with a valid cookie has a budget of its own. */
  readonly visitor: string | undefined;
  readonly subject: string | undefined;
  readonly bytes: number;
}

interface Usage {
  readonly emails: Set<string>;
  calls: number;
  bytes: number;
}

/**
 * Daily budgets of the tag's endpoints, counted by each instance. They bound what anonymous callers can store, and how many
 * people they can say something about.
 */
export class TagBudgets {
  private readonly used = new Map<string, Usage>();
  private day = 0;

  constructor(private readonly limits: Readonly<Record<BudgetScope, DailyBudget>>) {}

  /** Counts the call, or returns the budget that it exceeds: a refused call uses none of the others. */
  take(call: BudgetedCall, nowMs: number): Exceeded | undefined {
    const day = Math.floor(nowMs / DAY_MS);
    if (day !== this.day) {
      this.day = day;
      this.used.clear();
    }
    const usages = this.usagesOf(call);
    for (const { scope, usage } of usages) {
      const limit = exceededLimit(usage, this.limits[scope], call);
      if (limit) return { scope, limit, retryAfterS: Math.ceil(((day + 1) * DAY_MS - nowMs) / 1_000) };
    }
    for (const { usage } of usages) {
      usage.calls += 1;
      usage.bytes += call.bytes;
      if (call.subject !== undefined) usage.emails.add(shortened(call.subject));
    }
    return undefined;
  }

  private usagesOf({ site, address, visitor, subject }: BudgetedCall): { scope: BudgetScope; usage: Usage }[] {
    const names: readonly (readonly [BudgetScope, string | undefined])[] = [
      ['site', ''],
      ['address', networkOf(address)],
      ['visitor', visitor],
      ['person', subject && shortened(subject)],
    ];
    return names.flatMap(([scope, name]) => {
      const usage = name === undefined ? undefined : this.usageOf(`${scope} ${site} ${name}`, scope === 'site');
      return usage ? [{ scope, usage }] : [];
    });
  }

  private usageOf(key: string, isAlwaysCounted: boolean): Usage | undefined {
    const known = this.used.get(key);
    if (known || (this.used.size >= CALLERS_MAX && !isAlwaysCounted)) return known;
    const usage = { emails: new Set<string>(), calls: 0, bytes: 0 };
    this.used.set(key, usage);
    return usage;
  }
}

function exceededLimit(
  usage: Usage,
  budget: DailyBudget,
  { subject, bytes }: BudgetedCall,
): keyof DailyBudget | undefined {
  if (usage.calls >= budget.calls) return 'calls';
  if (usage.bytes + bytes > budget.bytes) return 'bytes';
  const isNew = subject !== undefined && !usage.emails.has(shortened(subject));
  return isNew && usage.emails.size >= budget.emails ? 'emails' : undefined;
}

/** Enough to tell the emails of a day apart. */
function shortened(subject: string): string {
  return subject.slice(0, 16);
}
