import { AUTH } from '../../events/auth.events.js';
import type { TypesOf } from '../../events/index.js';
import type { StoredEvent } from '../../log/event.js';
import type { Page, Projection } from '../../log/projections/projection.js';
import { listEvents } from '../../log/projections/reducer.js';

const FAILURES = listEvents<StoredEvent<TypesOf<typeof AUTH>>>({ categories: [AUTH] });

/** Failed authentications by site and minute. */
export const authFailuresProjection: Projection = {
  name: 'auth_failures',
  tables: ['auth_failures'],
  bySite: true,
  reducers: [FAILURES],
  async fold(page: Page): Promise<void> {
    const counts = new Map<string, { site: string; minute: string; failed: number; throttled: number }>();
    for (const event of await page.reduce(FAILURES)) {
      const minute = `${event.time.slice(0, 16)}:00Z`;
      const id = `${event.site} ${minute}`;
      const count = counts.get(id) ?? { site: event.site, minute, failed: 0, throttled: 0 };
      if (event.type === 'auth.failed.v1') count.failed += 1;
      if (event.type === 'auth.throttled.v1') count.throttled += event.data.count;
      counts.set(id, count);
    }
    if (counts.size === 0) return;
    await page.tx.query(
      `INSERT INTO auth_failures (site, minute, failed, throttled)
       SELECT site, minute, failed, throttled FROM json_to_recordset($1) AS c (
         site text, minute timestamptz, failed bigint, throttled bigint)
       ON CONFLICT (site, minute) DO UPDATE SET failed = auth_failures.failed + excluded.failed,
         throttled = auth_failures.throttled + excluded.throttled`,
      [JSON.stringify([...counts.values()])],
    );
  },
};
