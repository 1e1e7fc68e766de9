import { readPauseDifferences } from '../../log/pause-audit.js';
import type { Check } from '../verify.js';
import { Violations } from './violations.js';

/** The append refuses the sites that are paused according to the log, and no others. */
export const pausedSitesCheck: Check = {
  name: 'paused sites',
  async examine({ postgres }) {
    const violations = new Violations();
    for (const { site, isRefused } of await readPauseDifferences(postgres.pool))
      violations.add(
        isRefused
          ? `${site} is not paused, but nothing new is stored for it: run "sites pause ${site}", then "sites resume ${site}"`
          : `${site} is paused, but conversions are stored for it: run "sites resume ${site}", then "sites pause ${site}"`,
      );
    return violations.finding('the append refuses the sites that are paused');
  },
};
