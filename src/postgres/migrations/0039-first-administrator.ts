import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A sign-in link without a user creates the first administrator. */
export class FirstAdministrator0000000000039 implements MigrationInterface {
  name = 'FirstAdministrator0000000000039';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.sign_in_links ALTER COLUMN user_id DROP NOT NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM cc.sign_in_links WHERE user_id IS NULL');
    await runner.query('ALTER TABLE cc.sign_in_links ALTER COLUMN user_id SET NOT NULL');
  }
}
