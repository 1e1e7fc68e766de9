import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Earlier versions could lose deliveries before the position at which the scan for owed deliveries began. It reads the log once. */
export class ScanFromTheStart0000000000032 implements MigrationInterface {
  name = 'ScanFromTheStart0000000000032';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`UPDATE cc.leases SET reached = 0 WHERE name = 'deliveries-scan'`);
  }

  async down(): Promise<void> {}
}
