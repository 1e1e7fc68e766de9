import { counted } from '../../kernel/counted.js';
import { countOutOfOrder, readUnfoundedSteps } from '../../log/audit/log-audit.js';
import { readArrivedSites } from '../../log/site-copy/arrived-sites.js';
import { withConnection } from '../../postgres/with-connection.js';
import type { Check } from '../verify.js';
import { Violations } from './violations.js';

/**
 * Time never decreases along the log, except where the log records that its clock was set back: looking up a position by time
 * depends on that. Of events copied from another log, whose times are of that log, the seals tell when they were stored. And each
 * recorded step happened: a forged one would change what times mean.
 */
export const orderCheck: Check = {
  name: 'order',
  async examine({ postgres, until }) {
    const violations = new Violations();
    await withConnection(postgres.connect('verify'), async (client) => {
      const { events, seals } = await countOutOfOrder(client, until, await readArrivedSites(client));
      if (events > 0)
        violations.add(`${counted(events, 'event has', 'events have')} an earlier time than the event before`);
      if (seals > 0) violations.add(`${counted(seals, 'seal has', 'seals have')} an earlier time than the seal before`);
      for (const position of await readUnfoundedSteps(client))
        violations.add(`a step of the clock is recorded at position ${position}, and the seals show none there`);
    });
    return violations.findingOfLog(`the times up to position ${until} were compared`);
  },
};
