import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Files of jobs are stored without compression, which took most of the CPU time of an export. They are deleted after days. */
export class FileStorage0000000000050 implements MigrationInterface {
  name = 'FileStorage0000000000050';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.job_chunks ALTER bytes SET STORAGE EXTERNAL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE cc.job_chunks ALTER bytes SET STORAGE EXTENDED');
  }
}
