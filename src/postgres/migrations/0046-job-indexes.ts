import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Jobs are listed and given up by site, deleted by age, and the bytes of their files are added up with each page of a file. */
export class JobIndexes0000000000046 implements MigrationInterface {
  name = 'JobIndexes0000000000046';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
CREATE INDEX jobs_site ON cc.jobs (site, id);
CREATE INDEX jobs_finished ON cc.jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_files ON cc.jobs (bytes) WHERE bytes > 0;
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX cc.jobs_site, cc.jobs_finished, cc.jobs_files');
  }
}
