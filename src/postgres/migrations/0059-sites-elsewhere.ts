import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sites that this log takes for its own, and that another cell has got from here: this log was restored or failed over. */
export class SitesElsewhere0000000000059 implements MigrationInterface {
  name = 'SitesElsewhere0000000000059';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLE);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE cc.sites_elsewhere');
  }
}

const TABLE = `
-- What other cells have proved. As long as a row exists, the site is closed in cc.paused_sites. It ends when the site comes back.
CREATE TABLE cc.sites_elsewhere (
  site text COLLATE "C" PRIMARY KEY,
  -- The cell that has the site, or had it before it moved on.
  cell text NOT NULL,
  -- The move by which that cell got it.
  epoch integer NOT NULL,
  found_at timestamptz NOT NULL DEFAULT now()
);
`;
