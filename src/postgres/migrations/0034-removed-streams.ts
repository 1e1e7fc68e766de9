import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RemovedStreams0000000000034 implements MigrationInterface {
  name = 'RemovedStreams0000000000034';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- Streams with a derived id (UUIDv8) whose events retention has removed. An imported line has the same id whenever it is
-- imported again: without this table it would count once more.
CREATE TABLE cc.removed_streams (stream uuid PRIMARY KEY);
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE cc.removed_streams');
  }
}
