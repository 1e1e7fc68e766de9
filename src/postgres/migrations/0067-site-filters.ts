import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rows of sites have no lists of blocked people any more. */
export class SiteFilters0000000000067 implements MigrationInterface {
  name = 'SiteFilters0000000000067';

  async up(runner: QueryRunner): Promise<void> {
    // As text, so that the rows are those that the projection would write.
    await runner.query(
      `UPDATE cc.sites SET settings = (
         SELECT ('{' || string_agg(to_json(key)::text || ':' || value::text, ',' ORDER BY place) || '}')::json
           FROM json_each(settings) WITH ORDINALITY AS one (key, value, place)
          WHERE key NOT IN ('blocked', 'blockIps', 'allowIps'))`,
    );
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not restore removed rows. Restore a backup instead.');
  }
}
