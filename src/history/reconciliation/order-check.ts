import { countOutOfOrder } from '../../log/event-audit.js';
import type { Check } from '../verify.js';

/** Time never goes back along the log: a moment is found in it by that. */
export const orderCheck: Check = {
  name: 'order',
  async examine({ postgres, until }) {
    const client = await postgres.connect('verify');
    try {
      const wrong = await countOutOfOrder(client, until);
      if (wrong === 0) return { ok: true, detail: `time and position agree up to position ${until}` };
      return { ok: false, detail: `${wrong} events are older than the one before them` };
    } finally {
      await client.end();
    }
  },
};
