import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What is erased while a site moves to another cell has to be erased there, too. */
export class MovedErasures0000000000061 implements MigrationInterface {
  name = 'MovedErasures0000000000061';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLE);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE cc.moved_erasures');
  }
}

const TABLE = `
-- Events of a site whose move to another cell is under way that have lost their personal parts here, and which the other cell may
-- have with them. "sites move" deletes a row when the other cell has erased it.
CREATE TABLE cc.moved_erasures (
  site text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  PRIMARY KEY (site, position)
);
`;
