import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The numbers of the management API. Not rolling: an instance of the version before would erase a person and leave the row in
 * `attributions`.
 */
export class Statistics0000000000042 implements MigrationInterface {
  name = 'Statistics0000000000042';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- The projection "statistics", by quarter of an hour: the offsets of all time zones are multiples of one, so that a day of any
-- time zone is a sum of rows. It reads no personal data.
CREATE TABLE cc.conversion_statistics (
  site               text COLLATE "C" NOT NULL,
  quarter            timestamptz(0) NOT NULL,
  currency           text COLLATE "C" NOT NULL,
  conversions        bigint NOT NULL,
  -- Exact, so that the sum does not depend on the order in which events are folded.
  value              numeric NOT NULL,
  -- Of these conversions, also those that were matched later.
  matched            bigint NOT NULL,
  duplicates         bigint NOT NULL,
  -- Of the duplicates: with a field that differs from the first conversion.
  changed_duplicates bigint NOT NULL,
  filtered           bigint NOT NULL,
  PRIMARY KEY (site, quarter, currency)
);

-- Final outcomes of deliveries, by the time of the outcome.
CREATE TABLE cc.delivery_statistics (
  site      text COLLATE "C" NOT NULL,
  quarter   timestamptz(0) NOT NULL,
  platform  text COLLATE "C" NOT NULL,
  delivered bigint NOT NULL,
  accepted  bigint NOT NULL,
  confirmed bigint NOT NULL,
  rejected  bigint NOT NULL,
  failed    bigint NOT NULL,
  skipped   bigint NOT NULL,
  PRIMARY KEY (site, quarter, platform)
);

CREATE TABLE cc.refusal_statistics (
  site    text COLLATE "C" NOT NULL,
  quarter timestamptz(0) NOT NULL,
  refused bigint NOT NULL,
  PRIMARY KEY (site, quarter)
);

-- The projection "attributions": where each conversion came from, and which identifiers it carried. Personal: erasure deletes the
-- rows of a person, and rows expire with the identifiers.
CREATE TABLE cc.attributions (
  conversion  uuid PRIMARY KEY,
  site        text COLLATE "C" NOT NULL,
  subject     bytea NOT NULL,
  time        timestamptz(3) NOT NULL,
  currency    text COLLATE "C" NOT NULL,
  value       numeric,
  matched     boolean NOT NULL,
  source      text COLLATE "C",
  medium      text COLLATE "C",
  campaign    text COLLATE "C",
  -- Kind of the newest click id.
  click       text COLLATE "C",
  identifiers text[] COLLATE "C" NOT NULL,
  -- Connections of the site when the conversion was received.
  platforms   text[] COLLATE "C" NOT NULL
);
CREATE INDEX attributions_time ON cc.attributions (site, time);
CREATE INDEX attributions_subject ON cc.attributions (site, subject);
`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TABLE cc.attributions, cc.refusal_statistics, cc.delivery_statistics, cc.conversion_statistics',
    );
  }
}
