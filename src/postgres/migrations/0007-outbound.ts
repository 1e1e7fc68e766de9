import type { MigrationInterface, QueryRunner } from 'typeorm';

/** For the outbound webhook: an index to count a site's events in a position range, and totals for people to read. */
export class Outbound0000000000007 implements MigrationInterface {
  name = 'Outbound0000000000007';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- Counts a reporting window: the cost depends on the site's events in it, not on the rest of the log.
CREATE INDEX events_counted ON cc.events (site, position)
  WHERE type IN ('conversion.received.v1', 'conversion.filtered.v1', 'visitor.bot_detected.v1');

-- The projection "totals".
CREATE TABLE cc.totals (
  site                text COLLATE "C" NOT NULL,
  minute              timestamptz(0) NOT NULL,
  conversions         bigint NOT NULL,
  bot_traffic_removed bigint NOT NULL,
  PRIMARY KEY (site, minute)
);

ALTER TABLE cc.sites ADD COLUMN webhook json;
`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not drop totals. Restore a backup instead.');
  }
}
