import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An erasure deletes the stored answers to writes of the site. */
export class AnswersBySite0000000000070 implements MigrationInterface {
  name = 'AnswersBySite0000000000070';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- Null for writes that concern no site, and for erasures, whose answers have nothing about a person.
ALTER TABLE cc.idempotency_keys ADD COLUMN site text;
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.idempotency_keys DROP COLUMN site');
  }
}
