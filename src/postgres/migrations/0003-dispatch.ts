import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Leases of live instances, deliveries that wait for their next attempt, and which instance carries them out. */
export class Dispatch0000000000003 implements MigrationInterface {
  name = 'Dispatch0000000000003';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- Leases by the database's clock. The token grows with every new holder. "reached" is the holder's progress: the next holder
-- starts there.
CREATE TABLE cc.leases (
  name    text COLLATE "C" PRIMARY KEY,
  holder  uuid NOT NULL,
  token   bigint NOT NULL,
  until   timestamptz NOT NULL,
  reached bigint NOT NULL
);

-- The projection "deliveries": deliveries that wait for their next attempt or for a platform's confirmation. A settled
-- delivery has no row.
CREATE TABLE cc.deliveries (
  conversion uuid NOT NULL,
  platform   text COLLATE "C" NOT NULL,
  site       text COLLATE "C" NOT NULL,
  -- Position of the event that scheduled the attempt: a lease names it, so that no attempt is made twice.
  position   bigint NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  due        timestamptz(3) NOT NULL,
  attempt    integer NOT NULL,
  reason     text,
  details    json NOT NULL,
  PRIMARY KEY (conversion, platform)
);
CREATE INDEX deliveries_due ON cc.deliveries (site, platform, due);
CREATE UNIQUE INDEX deliveries_position ON cc.deliveries (position);

-- Which instance makes which attempt. A row is valid until the holder's lease is deleted, which happens after the results of
-- its attempts are folded: an expired lease may belong to attempts whose results are not yet in the table above.
CREATE TABLE cc.delivery_claims (
  position bigint PRIMARY KEY,
  holder   text COLLATE "C" NOT NULL
);
`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not drop pending deliveries. Restore a backup instead.');
  }
}
