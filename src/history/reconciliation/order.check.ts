import { countOutOfOrder } from '../../log/log-audit.js';
import type { Check } from '../verify.js';

/**
 * Time never decreases along the log, except where the log records that its clock was set back: looking up a position by time
 * depends on that. Of events copied from another log, whose times are of that log, the seals tell when they were stored.
 */
export const orderCheck: Check = {
  name: 'order',
  async examine({ postgres, until }) {
    const client = await postgres.connect('verify');
    try {
      const { events, seals } = await countOutOfOrder(client, until);
      if (events + seals === 0)
        return {
          ok: true,
          detail: `time never decreases up to position ${until}, except at recorded steps of the clock`,
        };
      const earlier = (count: number, what: string) =>
        count > 0 ? [`${count} ${what}s have an earlier time than the ${what} before them`] : [];
      return { ok: false, detail: [...earlier(events, 'event'), ...earlier(seals, 'seal')].join('; ') };
    } finally {
      await client.end();
    }
  },
};
