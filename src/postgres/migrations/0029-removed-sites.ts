import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sites can be removed; their row stays, because a host that is added again continues its stream. */
export class RemovedSites0000000000029 implements MigrationInterface {
  name = 'RemovedSites0000000000029';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.sites ADD COLUMN removed boolean NOT NULL DEFAULT false');
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not drop columns of projections. Restore a backup instead.');
  }
}
