import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the outbound webhook needs: a way to count a site's stretch of the log, and totals for people. */
export class Outbound0000000000007 implements MigrationInterface {
  name = 'Outbound0000000000007';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- A stretch is counted from here: it costs what it holds, whatever else the log holds.
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
    throw new Error('Totals are not thrown away by a migration. Restore a backup instead.');
  }
}
