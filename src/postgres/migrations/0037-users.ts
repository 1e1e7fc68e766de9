import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Users of the management API, their sessions and tokens. */
export class Users0000000000037 implements MigrationInterface {
  name = 'Users0000000000037';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
CREATE TABLE cc.users (
  id uuid PRIMARY KEY,
  email text NOT NULL UNIQUE,
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('admin', 'operator', 'analyst')),
  -- Null: all sites.
  sites text[],
  password_hash text,
  disabled_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now()
);

CREATE TABLE cc.user_sessions (
  hash bytea PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES cc.users ON DELETE CASCADE,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  last_used_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX user_sessions_user ON cc.user_sessions (user_id);

-- A link with which a user chooses a password, once.
CREATE TABLE cc.sign_in_links (
  hash bytea PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES cc.users ON DELETE CASCADE,
  expires_at timestamptz(3) NOT NULL
);

CREATE TABLE cc.sign_in_attempts (
  -- Digest of the account, the address, or both.
  key bytea NOT NULL,
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX sign_in_attempts_key ON cc.sign_in_attempts (key, at);
CREATE INDEX sign_in_attempts_at ON cc.sign_in_attempts (at);

CREATE TABLE cc.api_tokens (
  id uuid PRIMARY KEY,
  owner_id uuid NOT NULL REFERENCES cc.users ON DELETE CASCADE,
  name text NOT NULL,
  prefix text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  scopes text[] NOT NULL,
  sites text[],
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  last_used_at timestamptz(3),
  expires_at timestamptz(3),
  revoked_at timestamptz(3)
);
CREATE INDEX api_tokens_owner ON cc.api_tokens (owner_id);

-- Answers to writes with an Idempotency-Key. Sealed: an answer may hold a secret that is shown once.
CREATE TABLE cc.idempotency_keys (
  actor text NOT NULL,
  key text NOT NULL,
  -- Digest of method, path and body.
  request bytea NOT NULL,
  -- Null while the request is carried out.
  status integer,
  answer bytea,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (actor, key)
);
CREATE INDEX idempotency_keys_created ON cc.idempotency_keys (created_at);
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TABLE cc.idempotency_keys, cc.api_tokens, cc.sign_in_attempts, cc.sign_in_links, cc.user_sessions, cc.users',
    );
  }
}
