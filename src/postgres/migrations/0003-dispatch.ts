import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What sending needs: who is alive, what waits to be tried again, and who has taken it. */
export class Dispatch0000000000003 implements MigrationInterface {
  name = 'Dispatch0000000000003';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- Who owns something for a while, by the database's clock. The token grows with every change of hands. "reached" is how
-- far the holder has come with what it owns: whoever takes over begins there.
CREATE TABLE cc.leases (
  name    text COLLATE "C" PRIMARY KEY,
  holder  uuid NOT NULL,
  token   bigint NOT NULL,
  until   timestamptz NOT NULL,
  reached bigint NOT NULL
);

-- The projection "deliveries": what waits, for its next try or for a platform's word. A delivery that is settled has no row.
CREATE TABLE cc.deliveries (
  conversion uuid NOT NULL,
  platform   text COLLATE "C" NOT NULL,
  site       text COLLATE "C" NOT NULL,
  -- Of the event that says so: a claim names it, so that no try is made twice.
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

-- Who is making which try. It counts until the holder's lease is gone, which is after what came of his tries was folded:
-- a lease that has only run out may stand for tries that the rows above do not know of yet.
CREATE TABLE cc.delivery_claims (
  position bigint PRIMARY KEY,
  holder   text COLLATE "C" NOT NULL
);
`);
  }

  async down(): Promise<void> {
    throw new Error('What waits to be delivered is not thrown away by a migration. Restore a backup instead.');
  }
}
