import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How far the move of a site has come, in the cell that it leaves and in the one that it moves to. */
export class SiteMoves0000000000057 implements MigrationInterface {
  name = 'SiteMoves0000000000057';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLE);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE cc.site_moves');
  }
}

const TABLE = `
-- The newest move of a site in each direction. Every step of a move locks the row of the cell that it is made in.
CREATE TABLE cc.site_moves (
  site text COLLATE "C" NOT NULL,
  direction text NOT NULL CHECK (direction IN ('in', 'out')),
  -- How often the site has moved, this time included. A step of an earlier move is refused.
  epoch integer NOT NULL,
  -- The other cell.
  cell text NOT NULL,
  -- Everything up to this position of the log that the site leaves is copied: so many events.
  reached bigint NOT NULL DEFAULT 0,
  events bigint NOT NULL DEFAULT 0,
  -- Of the site when its move began; null in the cell that it moves to.
  total bigint,
  -- Complete, or cancelled.
  done boolean NOT NULL DEFAULT false,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (site, direction)
);
`;
