import type { MigrationInterface, QueryRunner } from 'typeorm';

/** For searches in the sync log: an index to find a site's attempts by type and connection, newest first. */
export class Attempts0000000000041 implements MigrationInterface {
  name = 'Attempts0000000000041';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- A hash of site, type and connection: 8 bytes, and the attempts of one connection are side by side. The negative position is an
-- order that no other index has: with the position itself, PostgreSQL might scan the log backwards until it has found enough.
CREATE INDEX events_attempts ON cc.events (
  hashtextextended(coalesce(data ->> 'platform', ''), hashtextextended(type, hashtextextended(site, 0))), (- position))
  WHERE type IN ('conversion.delivered.v1', 'conversion.accepted.v1', 'conversion.confirmed.v1', 'conversion.rejected.v1',
    'conversion.skipped.v1', 'conversion.deferred.v1', 'conversion.failed.v1', 'conversion.validated.v1',
    'outbound.delivered.v1', 'outbound.failed.v1', 'inbound.rejected.v1');
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX cc.events_attempts');
  }
}
