import type { EventCheck } from '../verify.js';
import { Violations } from './violations.js';

const ERASED = 'visitor.erased.v1';

interface SiteErasures {
  /** Positions whose personal part is recorded as erased, since the last erasure event of the site. */
  recent: number[];
  /** All of them. */
  erased: number;
  /** What the erasure events of the site account for. */
  recorded: number;
}

/**
 * A personal part is only missing because a data subject was erased: each erased part is followed by an erasure event of its
 * site, and these events account for all of them. (A part that is missing without being recorded as erased does not match its
 * seal, which the chain check finds.)
 */
export function erasuresCheck(): EventCheck {
  const violations = new Violations();
  const sites = new Map<string, SiteErasures>();
  let parts = 0;
  const of = (site: string) => {
    const known = sites.get(site) ?? { recent: [], erased: 0, recorded: 0 };
    sites.set(site, known);
    return known;
  };
  return {
    name: 'erasures',
    read(row) {
      if (row.isErased) {
        const site = of(row.site);
        site.recent.push(row.position);
        site.erased += 1;
        parts += 1;
      }
      if (row.type !== ERASED) return;
      const site = of(row.site);
      site.recorded += (row.data() as { events: number }).events;
      site.recent = [];
    },
    finish() {
      for (const [site, { recent, erased, recorded }] of sites) {
        for (const position of recent)
          violations.add(`the personal part at position ${position} is gone without a later erasure event of ${site}`);
        if (erased > recorded)
          violations.add(`${site}: ${erased} personal parts are gone, its erasure events account for ${recorded}`);
      }
      return violations.findingOfLog(`${parts} erased personal parts`);
    },
  };
}
