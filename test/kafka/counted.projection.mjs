/** Counts events by site and type; fails on events marked as poison. Sums do not depend on the order of partitions. */
export const counted = {
  name: 'counted',
  tables: ['counted'],
  source: 'any',
  categories: ['conversion', 'visitor'],
  async fold(page) {
    for (const { site, type, data, personal } of await page.events({ categories: this.categories })) {
      if (data.poison || personal) throw new Error('cannot count this event');
      await page.tx.query(
        'INSERT INTO counted VALUES ($1, $2, 1) ON CONFLICT (site, type) DO UPDATE SET count = counted.count + 1',
        [site, type],
      );
    }
  },
};
