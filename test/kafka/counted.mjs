/** Events by site and type; unable to count what says that it is poison. Sums commute: the order of partitions is no matter. */
export const counted = {
  name: 'counted',
  tables: ['counted'],
  source: 'any',
  categories: ['conversion', 'visitor'],
  async fold(page) {
    for (const { site, type, data, personal } of await page.events({ categories: this.categories })) {
      if (data.poison || personal) throw new Error('cannot count this one');
      await page.tx.query(
        'INSERT INTO counted VALUES ($1, $2, 1) ON CONFLICT (site, type) DO UPDATE SET count = counted.count + 1',
        [site, type],
      );
    }
  },
};
