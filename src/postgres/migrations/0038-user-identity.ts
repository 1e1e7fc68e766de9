import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Links a user to an account at the sign-in provider. */
export class UserIdentity0000000000038 implements MigrationInterface {
  name = 'UserIdentity0000000000038';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- Digest of issuer and subject. An email address may be given to another person, a subject is not.
ALTER TABLE cc.users ADD COLUMN identity bytea UNIQUE;
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.users DROP COLUMN identity');
  }
}
