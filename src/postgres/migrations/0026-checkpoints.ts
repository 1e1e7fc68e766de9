import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Signed checkpoints of the log's hash chain, and the public keys that verify them; `docs/audit.md` describes them. */
export class Checkpoints0000000000026 implements MigrationInterface {
  name = 'Checkpoints0000000000026';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- The private keys are sealed in cc.secrets, under the site '' and the name 'signing.<id>'. One key is active.
CREATE TABLE cc.signing_keys (
  id         text COLLATE "C" PRIMARY KEY,
  public_key text NOT NULL,
  active     boolean NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX signing_keys_active ON cc.signing_keys (active) WHERE active;

CREATE TABLE cc.checkpoints (
  position  bigint PRIMARY KEY,
  time      timestamptz(3) NOT NULL,
  -- The signed checkpoint, a compact JWS.
  token     text NOT NULL,
  published boolean NOT NULL DEFAULT false
);
CREATE INDEX checkpoints_unpublished ON cc.checkpoints (position) WHERE NOT published;
`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not drop signing keys. Restore a backup instead.');
  }
}
