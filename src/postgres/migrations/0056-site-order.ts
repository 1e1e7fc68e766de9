import type { MigrationInterface, QueryRunner } from 'typeorm';

/** For sites that came from another log: an index to find the position of a place in the order of a site's events. */
export class SiteOrder0000000000056 implements MigrationInterface {
  name = 'SiteOrder0000000000056';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- Only copied events have entries.
CREATE INDEX events_copied ON cc.events (site, origin) WHERE origin IS NOT NULL;
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX cc.events_copied');
  }
}
