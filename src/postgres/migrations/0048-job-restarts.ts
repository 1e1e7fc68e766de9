import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How often an export started again because personal data of its site was erased while it ran. */
export class JobRestarts0000000000048 implements MigrationInterface {
  name = 'JobRestarts0000000000048';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.jobs ADD restarts integer NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.jobs DROP restarts');
  }
}
