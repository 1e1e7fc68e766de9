import type { MigrationInterface, QueryRunner } from 'typeorm';

/** For sites that came from another log: an index to find the position of a place in the order of a site's events. */
export class SiteOrder0000000000056 implements MigrationInterface {
  name = 'SiteOrder0000000000056';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- Only copied events have entries. Erasures are left out: a log that the site has left stores them too, so that their origins
-- need not be in the order of their positions.
CREATE INDEX events_copied ON cc.events (site, origin) WHERE origin IS NOT NULL AND type <> 'visitor.erased.v1';
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX cc.events_copied');
  }
}
