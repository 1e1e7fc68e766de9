import type { Page, Projection } from '../../log/projections/projection.js';
import { NewestByActor } from '../../log/projections/reducer.js';

const NEWEST = new NewestByActor('key:');

/** When each API key was last used: the time of its newest event. */
export const keyUsageProjection: Projection = {
  name: 'key_usage',
  tables: ['key_usage'],
  reducers: [NEWEST],
  async fold(page: Page): Promise<void> {
    const newest = [...(await page.reduce(NEWEST))];
    if (newest.length === 0) return;
    await page.tx.query(
      `INSERT INTO key_usage (key_id, last_used_at) SELECT * FROM unnest($1::uuid[], $2::timestamptz[])
       ON CONFLICT (key_id) DO UPDATE SET last_used_at = greatest(key_usage.last_used_at, excluded.last_used_at)`,
      [newest.map(([actor]) => actor.slice('key:'.length)), newest.map(([, timeMs]) => new Date(timeMs))],
    );
  },
};
