import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A dry run is carried out by one job, and a platform sign-in connects one platform: both also when requests are repeated. */
export class Once0000000000044 implements MigrationInterface {
  name = 'Once0000000000044';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- The dry run that the job carries out. A forced delivery counts again each time, so a dry run has one job at most.
ALTER TABLE cc.jobs ADD COLUMN dry_run uuid UNIQUE;

-- A process that ends between the connection and the answer leaves 'connecting': interrupted, not done.
ALTER TABLE cc.platform_sign_ins DROP CONSTRAINT platform_sign_ins_status_check;
ALTER TABLE cc.platform_sign_ins ADD CONSTRAINT platform_sign_ins_status_check
  CHECK (status IN ('started', 'exchanging', 'granted', 'connecting', 'connected', 'failed'));
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
ALTER TABLE cc.platform_sign_ins DROP CONSTRAINT platform_sign_ins_status_check;
UPDATE cc.platform_sign_ins SET status = 'failed', reason = 'interrupted' WHERE status = 'connecting';
ALTER TABLE cc.platform_sign_ins ADD CONSTRAINT platform_sign_ins_status_check
  CHECK (status IN ('started', 'exchanging', 'granted', 'connected', 'failed'));
ALTER TABLE cc.jobs DROP COLUMN dry_run;
`);
  }
}
