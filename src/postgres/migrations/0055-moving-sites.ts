import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The projection `sites` tells which sites move, or have moved to another cell. */
export class MovingSites0000000000055 implements MigrationInterface {
  name = 'MovingSites0000000000055';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.sites ADD COLUMN epoch integer NOT NULL DEFAULT 0, ADD COLUMN move json');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.sites DROP COLUMN epoch, DROP COLUMN move');
  }
}
