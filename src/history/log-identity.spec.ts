import type { EventLog } from '../log/event-log.js';
import { identifyLog } from './log-identity.js';

describe('identifyLog', () => {
  it('takes the first event that retention keeps, so that the id stays when others are removed', async () => {
    const events = [
      { id: 'visit', category: 'visitor' },
      { id: 'site', category: 'site' },
      { id: 'second', category: 'site' },
    ];
    const log = (from: number) =>
      ({
        read: async ({ categories = [] as readonly string[], limit = 0 }) =>
          events
            .slice(from)
            .filter(({ category }) => categories.includes(category))
            .slice(0, limit),
        head: async () => 3,
      }) as unknown as EventLog;
    expect(await identifyLog(log(0))).toEqual({ id: 'site', head: 3 });
    expect(await identifyLog(log(1))).toEqual({ id: 'site', head: 3 });
    expect(await identifyLog(log(3))).toEqual({ id: '', head: 3 });
  });
});
