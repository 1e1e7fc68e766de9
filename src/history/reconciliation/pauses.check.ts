import { BEGUN_WHILE_PAUSED } from '../../events/begun-while-paused.js';
import { VISITOR } from '../../events/visitor.events.js';
import type { EventCheck } from '../verify.js';
import { Violations } from './violations.js';

const OPENING = /^conversion\.(received|deduplicated|filtered)\.v1$/;

/** No conversion and no visit begins while its site is paused. The append decides that by a row beside the log. */
export function pausesCheck(): EventCheck {
  const violations = new Violations();
  const pausedAt = new Map<string, number>();
  let pauses = 0;
  return {
    name: 'pauses',
    read(row) {
      const { type, site, position } = row;
      if (type === 'site.paused.v1') {
        pauses += 1;
        pausedAt.set(site, position);
      } else if (type === 'site.resumed.v1' || type === 'site.removed.v1') pausedAt.delete(site);
      const since = pausedAt.get(site);
      if (since === undefined || row.version > 1) return;
      if (OPENING.test(type) || (row.category === VISITOR && !BEGUN_WHILE_PAUSED.includes(type)))
        violations.add(`the ${type} at position ${position} was stored although ${site} was paused at ${since}`);
    },
    finish: () => violations.findingOfLog(`${pauses} pauses, ${pausedAt.size} of them not ended`),
  };
}
