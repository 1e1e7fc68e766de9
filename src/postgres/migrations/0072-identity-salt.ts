import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Of the digest that the log has of a user's account at the sign-in provider. An account can be guessed: a plain digest would confirm it. */
export class IdentitySalt0000000000072 implements MigrationInterface {
  name = 'IdentitySalt0000000000072';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.users ADD COLUMN identity_salt bytea');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.users DROP COLUMN identity_salt');
  }
}
