import { type Totals } from '../events/outbound.events.js';
import type { EventCount } from '../log/event-reader.js';

export const NO_TOTALS = { conversions: 0, bot_traffic_removed: 0 };

/** The events that totals are counted from, and the fields that decide whether one counts. A partial index covers them. */
export const COUNTED = ['conversion.received.v1', 'conversion.filtered.v1', 'visitor.bot_detected.v1'] as const;
export const COUNTED_BY = ['trial', 'mode', 'correction'] as const;

export function sumTotals(counts: readonly EventCount[]): Totals {
  const totals = { ...NO_TOTALS };
  for (const count of counts) {
    const kind = kindOf(count);
    if (kind) totals[kind] += count.count;
  }
  return totals;
}

/** A bot that is only observed was not removed, and neither trial conversions nor corrections count in a total. */
function kindOf({ type, values: [trial, mode, correction] }: EventCount): keyof Totals | undefined {
  if (trial === 'true' || correction === 'true') return undefined;
  switch (type) {
    case 'conversion.received.v1':
      return 'conversions';
    case 'conversion.filtered.v1':
      return 'bot_traffic_removed';
    default:
      return mode === 'enforce' ? 'bot_traffic_removed' : undefined;
  }
}
