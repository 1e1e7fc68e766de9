import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What is owed is found by reading the log. Instances hold no leases any more; a delivery that any instance may carry out has a
 * lease of its own, by the database's clock.
 */
export class DeliveryLeases0000000000023 implements MigrationInterface {
  name = 'DeliveryLeases0000000000023';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
DROP TABLE cc.delivery_leases;
CREATE TABLE cc.delivery_leases (
  conversion uuid NOT NULL,
  platform   text COLLATE "C" NOT NULL,
  holder     uuid NOT NULL,
  until      timestamptz NOT NULL,
  PRIMARY KEY (conversion, platform)
);

-- The scan begins where the instances before had settled everything: after the oldest of their positions.
INSERT INTO cc.leases (name, holder, token, until, reached)
SELECT 'deliveries-scan', gen_random_uuid(), 1, '-infinity', coalesce(
  (SELECT min(reached) FROM cc.leases WHERE starts_with(name, 'instance:')),
  (SELECT max(position) FROM cc.events), 0);
DELETE FROM cc.leases WHERE starts_with(name, 'instance:');
`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not restore the leases of instances. Restore a backup instead.');
  }
}
