import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When the sign-in provider last confirmed the role of a user, and the refresh token with which it is asked again, sealed. */
export class ProviderRoles0000000000066 implements MigrationInterface {
  name = 'ProviderRoles0000000000066';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.users ADD COLUMN confirmed_at timestamptz(3), ADD COLUMN provider_grant bytea');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.users DROP COLUMN confirmed_at, DROP COLUMN provider_grant');
  }
}
