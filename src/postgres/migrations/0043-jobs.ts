import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Exports and replays that the management API carries out, and the files of exports. */
export class Jobs0000000000043 implements MigrationInterface {
  name = 'Jobs0000000000043';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
CREATE TABLE cc.jobs (
  id uuid PRIMARY KEY,
  site text NOT NULL,
  actor text NOT NULL,
  request json NOT NULL,
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
  -- Of the lease: who runs the job, and until when if it is not renewed. Each claim has a holder of its own.
  holder uuid,
  until timestamptz(3),
  claims integer NOT NULL DEFAULT 0,
  cancel_requested boolean NOT NULL DEFAULT false,
  progress json,
  -- Where another process continues.
  checkpoint json,
  result json,
  reason text,
  -- Of the file so far.
  bytes bigint NOT NULL DEFAULT 0,
  file_until timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  started_at timestamptz(3),
  finished_at timestamptz(3)
);
CREATE INDEX jobs_unfinished ON cc.jobs (id) WHERE state IN ('queued', 'running');

CREATE TABLE cc.job_chunks (
  job uuid NOT NULL REFERENCES cc.jobs ON DELETE CASCADE,
  -- Offset of its first byte in the file.
  start bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (job, start)
);
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE cc.job_chunks, cc.jobs');
  }
}
