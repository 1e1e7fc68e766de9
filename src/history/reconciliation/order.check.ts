import { countOutOfOrder } from '../../log/log-audit.js';
import type { Check } from '../verify.js';

/**
 * Time never decreases along the log, except where the log records that its clock was set back: looking up a position by time
 * depends on that.
 */
export const orderCheck: Check = {
  name: 'order',
  async examine({ postgres, until }) {
    const client = await postgres.connect('verify');
    try {
      const outOfOrder = await countOutOfOrder(client, until);
      if (outOfOrder === 0)
        return {
          ok: true,
          detail: `time never decreases up to position ${until}, except at recorded steps of the clock`,
        };
      return { ok: false, detail: `${outOfOrder} events have an earlier time than the event before them` };
    } finally {
      await client.end();
    }
  },
};
