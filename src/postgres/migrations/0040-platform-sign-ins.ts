import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sign-ins at platforms that are under way, or whose tokens wait to be used by a connection. */
export class PlatformSignIns0000000000040 implements MigrationInterface {
  name = 'PlatformSignIns0000000000040';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
CREATE TABLE cc.platform_sign_ins (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES cc.users ON DELETE CASCADE,
  -- Signing out ends the sign-ins at platforms that the session started.
  session_hash bytea NOT NULL REFERENCES cc.user_sessions ON DELETE CASCADE,
  site text NOT NULL,
  connection text NOT NULL,
  -- Digests of what the redirect from the platform must have: the state, and the browser's cookie.
  state_hash bytea NOT NULL UNIQUE,
  browser_hash bytea NOT NULL,
  status text NOT NULL CHECK (status IN ('started', 'exchanging', 'granted', 'connected', 'failed')),
  -- Why it failed, without secrets.
  reason text,
  -- The PKCE verifier and where it was started; later the tokens.
  sealed bytea NOT NULL,
  changed_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX platform_sign_ins_session ON cc.platform_sign_ins (session_hash);
CREATE INDEX platform_sign_ins_user ON cc.platform_sign_ins (user_id);
CREATE INDEX platform_sign_ins_expires ON cc.platform_sign_ins (expires_at);
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE cc.platform_sign_ins');
  }
}
