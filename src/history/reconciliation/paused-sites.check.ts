import { type HoldDifference, readHoldDifferences } from '../../log/audit/pause-audit.js';
import type { Check } from '../verify.js';
import { Violations } from './violations.js';

/** The append refuses what the log says: of paused sites what begins, of sites that have left or arrive all but erasures. */
export const pausedSitesCheck: Check = {
  name: 'paused sites',
  async examine({ postgres }) {
    const violations = new Violations();
    for (const difference of await readHoldDifferences(postgres.pool)) violations.add(describe(difference));
    return violations.finding('the append refuses the sites that are paused, have left or arrive');
  },
};

function describe({ site, expected, found }: HoldDifference): string {
  if (expected === 'closed')
    return `${site} has left or is arriving, but events are stored for it: run the "sites move ${site}" that closed it again`;
  if (found === 'closed')
    return `${site} is in this cell, but nothing is stored for it: delete its row from cc.paused_sites${
      expected === 'paused' ? `, then run "sites resume ${site}" and "sites pause ${site}"` : ''
    }`;
  return found === 'paused'
    ? `${site} is not paused, but nothing new is stored for it: run "sites pause ${site}", then "sites resume ${site}"`
    : `${site} is paused, but conversions are stored for it: run "sites resume ${site}", then "sites pause ${site}"`;
}
