import { isOpening } from '../../conversions/conversion.js';
import { CONVERSION } from '../../events/conversion.events.js';
import { counted } from '../../kernel/counted.js';
import type { IsPartial, StreamCheck } from '../verify.js';
import { Violations } from './violations.js';

/** Every request that was answered with 200 has one conversion stream, and each stream has one opening event, its first. */
export function conversionsCheck(isPartial: IsPartial): StreamCheck {
  const violations = new Violations();
  const counts: Record<string, number> = { received: 0, deduplicated: 0, filtered: 0 };
  let conversions = 0;
  return {
    name: 'conversions',
    read(stream) {
      const [first] = stream;
      if (!first?.stream.startsWith(`${CONVERSION}-`) || (isPartial(first.site) && !isOpening(first))) return;
      conversions += 1;
      const openings = stream.filter(isOpening);
      for (const { type } of openings) {
        const kind = type.split('.')[1] as string;
        counts[kind] = (counts[kind] ?? 0) + 1;
      }
      if (!isOpening(first)) violations.add(`${first.stream} starts with ${first.type}`);
      else if (openings.length > 1) violations.add(`${first.stream} has ${openings.length} opening events`);
      const conversionId = 'conversionId' in first.data ? first.data.conversionId : undefined;
      if (conversionId !== first.stream.slice(CONVERSION.length + 1))
        violations.add(`${first.stream} contains the conversion id ${conversionId}`);
    },
    finish() {
      const { received, deduplicated, filtered } = counts as Record<'received' | 'deduplicated' | 'filtered', number>;
      const sum = received + deduplicated + filtered;
      if (sum !== conversions)
        violations.add(`${counted(conversions, 'conversion')}, but ${counted(sum, 'opening event')}`);
      return violations.finding(
        `received ${received} + deduplicated ${deduplicated} + filtered ${filtered} = ${counted(conversions, 'conversion')}`,
      );
    },
  };
}
