import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Holds of readers in progress, besides the permanent one of the Kafka relay; `docs/log.md` describes them. */
export class RetentionHolds0000000000024 implements MigrationInterface {
  name = 'RetentionHolds0000000000024';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- "session" is 0 for a permanent hold. Any other number is the second key of an advisory lock that the reader's database session
-- keeps: without that lock the reader is gone, and its row holds nothing.
ALTER TABLE cc.log_holds
  ADD COLUMN since   timestamptz NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN session integer NOT NULL DEFAULT 0,
  DROP CONSTRAINT log_holds_pkey,
  ADD PRIMARY KEY (name, session);
CREATE SEQUENCE cc.log_hold_session AS integer CYCLE;
`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not undo what retention has removed. Restore a backup instead.');
  }
}
