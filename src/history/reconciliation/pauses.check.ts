import { BEGUN_WHILE_PAUSED } from '../../events/begun-while-paused.js';
import { VISITOR } from '../../events/visitor.events.js';
import { counted } from '../../kernel/counted.js';
import type { EventCheck } from '../verify.js';
import { Violations } from './violations.js';

const OPENING = /^conversion\.(received|deduplicated|filtered)\.v1$/;

/**
 * No conversion and no visit begins while its site is paused, and after a site has left the log stores nothing of it but erasures, and
 * what comes back with it. The append decides that by a row beside the log.
 */
export function pausesCheck(): EventCheck {
  const violations = new Violations();
  const pausedAt = new Map<string, number>();
  const leavingAt = new Map<string, number>();
  const closedAt = new Map<string, number>();
  let pauses = 0;
  return {
    name: 'pauses',
    read(row) {
      const { type, site, position } = row;
      if (type === 'site.moved_in.v1') closedAt.delete(site);
      const closed = closedAt.get(site);
      if (closed !== undefined && type !== 'visitor.erased.v1')
        violations.add(`the ${type} at position ${position} was stored although ${site} was closed at ${closed}`);
      if (type === 'site.moved_out.v1') closedAt.set(site, position);
      if (type === 'site.paused.v1') {
        pauses += 1;
        pausedAt.set(site, position);
      } else if (type === 'site.resumed.v1' || type === 'site.removed.v1') pausedAt.delete(site);
      if (type === 'site.move_started.v1') leavingAt.set(site, position);
      else if (type === 'site.move_cancelled.v1' || type === 'site.moved_in.v1') leavingAt.delete(site);
      const since = pausedAt.get(site) ?? leavingAt.get(site);
      if (since === undefined || row.version > 1) return;
      if (OPENING.test(type) || (row.category === VISITOR && !BEGUN_WHILE_PAUSED.includes(type)))
        violations.add(`the ${type} at position ${position} was stored although ${site} was paused at ${since}`);
    },
    finish() {
      const closed = closedAt.size === 0 ? '' : `; ${counted(closedAt.size, 'site has', 'sites have')} left`;
      return violations.findingOfLog(`${pauses} pauses, ${pausedAt.size} of them not ended${closed}`);
    },
  };
}
