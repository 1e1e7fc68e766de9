import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A move that is continued after the site has left copies only the dedup claims that are new, as long as no cell acts for the site. */
export class CopiedClaims0000000000062 implements MigrationInterface {
  name = 'CopiedClaims0000000000062';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(COLUMN);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.site_moves DROP COLUMN claims_until');
  }
}

const COLUMN = `
-- In the cell that a site moves to: all dedup claims from before this time of the other cell, in milliseconds, are copied; null
-- until that is so.
ALTER TABLE cc.site_moves ADD COLUMN claims_until bigint;
`;
