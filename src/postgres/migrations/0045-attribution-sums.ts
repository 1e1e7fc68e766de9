import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Attributions as sums instead of a row per conversion. Not rolling: an instance of the version before would write rows per
 * conversion. The projection `statistics`, which now includes them, starts again at the beginning of the log.
 */
export class AttributionSums0000000000045 implements MigrationInterface {
  name = 'AttributionSums0000000000045';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
DROP TABLE cc.attributions;
DELETE FROM cc.projections WHERE name = 'attributions';
TRUNCATE cc.conversion_statistics, cc.delivery_statistics, cc.refusal_statistics;
UPDATE cc.projections SET position = 0 WHERE name = 'statistics';
-- The projection adds to the same few rows again and again.
ALTER TABLE cc.conversion_statistics SET (fillfactor = 70);
ALTER TABLE cc.delivery_statistics SET (fillfactor = 70);

-- Where conversions came from. An erasure takes out what the conversions of the person added.
CREATE TABLE cc.attributions (
  site        text COLLATE "C" NOT NULL,
  quarter     timestamptz(0) NOT NULL,
  -- "first": of the first conversions of the quarter, which may have any source. "joined": of these, matched later.
  -- "further": of all others, whose source is one that a "first" row has, or is counted in a row with "other".
  part        text COLLATE "C" NOT NULL,
  other       boolean NOT NULL,
  -- '' where there is none.
  source      text COLLATE "C" NOT NULL,
  medium      text COLLATE "C" NOT NULL,
  campaign    text COLLATE "C" NOT NULL,
  -- Kind of the newest click id.
  click       text COLLATE "C" NOT NULL,
  matched     boolean NOT NULL,
  currency    text COLLATE "C" NOT NULL,
  conversions bigint NOT NULL,
  value       numeric NOT NULL,
  PRIMARY KEY (site, quarter, part, source, medium, campaign, click, other, matched, currency)
) WITH (fillfactor = 70);
CREATE INDEX attributions_quarter ON cc.attributions (quarter);

-- The position of the last of the "first" conversions of a quarter, once it has as many.
CREATE TABLE cc.attribution_limits (
  site     text COLLATE "C" NOT NULL,
  quarter  timestamptz(0) NOT NULL,
  position bigint NOT NULL,
  PRIMARY KEY (site, quarter)
);
CREATE INDEX attribution_limits_quarter ON cc.attribution_limits (quarter);

-- Which identifiers conversions carried, by the connections that they were for.
CREATE TABLE cc.identifier_statistics (
  site        text COLLATE "C" NOT NULL,
  quarter     timestamptz(0) NOT NULL,
  -- Connections of the site when the conversions were received, with commas between.
  platforms   text COLLATE "C" NOT NULL,
  conversions bigint NOT NULL,
  -- How many carried each identifier, in the order of src/statistics/identifier-counts.ts.
  carried     bigint[] NOT NULL,
  PRIMARY KEY (site, quarter, platforms)
) WITH (fillfactor = 70);
CREATE INDEX identifier_statistics_quarter ON cc.identifier_statistics (quarter);
`);
  }

  async down(): Promise<void> {
    throw new Error('The rows per conversion cannot be restored. Restore a backup instead.');
  }
}
