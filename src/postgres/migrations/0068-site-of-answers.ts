import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which site a write was about whose answer is stored: another site with the same host does not repeat it. */
export class SiteOfAnswers0000000000068 implements MigrationInterface {
  name = 'SiteOfAnswers0000000000068';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.idempotency_keys ADD COLUMN IF NOT EXISTS site text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.idempotency_keys DROP COLUMN IF EXISTS site');
  }
}
