import { isOpening } from '../../conversions/conversion.js';
import { CONVERSION } from '../../events/conversion.events.js';
import type { StreamBook } from '../verify.js';
import { Wrongs } from './wrongs.js';

/** Every request that was answered with 200 left one conversion, and each of those opened once: as one of three. */
export function conversionsBook(isShortened: boolean): StreamBook {
  const wrongs = new Wrongs();
  const counts: Record<string, number> = { received: 0, deduplicated: 0, filtered: 0 };
  let conversions = 0;
  return {
    name: 'conversions',
    read(stream) {
      const [first] = stream;
      if (!first?.stream.startsWith(`${CONVERSION}-`) || (isShortened && first.version > 1)) return;
      conversions += 1;
      const openings = stream.filter(isOpening);
      for (const { type } of openings) {
        const kind = type.split('.')[1] as string;
        counts[kind] = (counts[kind] ?? 0) + 1;
      }
      if (!isOpening(first)) wrongs.add(`${first.stream} begins with ${first.type}`);
      else if (openings.length > 1) wrongs.add(`${first.stream} opens ${openings.length} times`);
      const conversionId = 'conversionId' in first.data ? first.data.conversionId : undefined;
      if (conversionId !== first.stream.slice(CONVERSION.length + 1))
        wrongs.add(`${first.stream} says that it is conversion ${conversionId}`);
    },
    close() {
      const { received, deduplicated, filtered } = counts as Record<'received' | 'deduplicated' | 'filtered', number>;
      const sum = received + deduplicated + filtered;
      if (sum !== conversions) wrongs.add(`${conversions} conversions, but ${sum} openings`);
      return wrongs.finding(
        `received ${received} + deduplicated ${deduplicated} + filtered ${filtered} = ${conversions} conversions`,
      );
    },
  };
}
