import type { EventCheck } from '../verify.js';
import { Violations } from './violations.js';

const ERASED = 'visitor.erased.v1';
/** Deletes the value of the filter, which is a personal part. */
const FILTER_REMOVED = 'site.filter_removed.v1';

interface SiteErasures {
  /** Positions whose personal part is recorded as erased. */
  readonly erased: number[];
  /** What the erasure events of the site account for. */
  recorded: number;
  /** Position of the last one. */
  last: number;
}

/**
 * A personal part is only missing because a data subject was erased, or a filter of the site was removed: each erased part is followed by an erasure event of its
 * site, and these events account for all of them. Retention removes personal parts as well, and records it. (A part that is
 * missing without being recorded as erased does not match its seal, which the chain check finds.)
 */
export function erasuresCheck(): EventCheck {
  const violations = new Violations();
  const sites = new Map<string, SiteErasures>();
  const of = (site: string) => {
    const known = sites.get(site) ?? { erased: [], recorded: 0, last: 0 };
    sites.set(site, known);
    return known;
  };
  return {
    name: 'erasures',
    read(row) {
      if (row.isErased) of(row.site).erased.push(row.position);
      if (row.type !== ERASED && row.type !== FILTER_REMOVED) return;
      const site = of(row.site);
      site.recorded += row.type === ERASED ? (row.data() as { events: number }).events : 1;
      site.last = row.position;
    },
    finish(removals) {
      let parts = 0;
      for (const [site, { erased: all, recorded, last }] of sites) {
        const erased = all.filter(
          (position) => !removals.some((range) => range.first <= position && position <= range.last),
        );
        parts += erased.length;
        for (const position of erased.filter((each) => each > last))
          violations.add(`the personal part at position ${position} is gone without a later erasure event of ${site}`);
        if (erased.length > recorded)
          violations.add(
            `${site}: ${erased.length} personal parts are gone, its erasure events account for ${recorded}`,
          );
      }
      return violations.findingOfLog(`${parts} erased personal parts`);
    },
  };
}
