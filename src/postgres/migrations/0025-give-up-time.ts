import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When a waiting delivery becomes too old to be sent. */
export class GiveUpTime0000000000025 implements MigrationInterface {
  name = 'GiveUpTime0000000000025';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- An attempt is due at this time even if the connection is parked or paused: it records that the delivery is too old. NULL for
-- deliveries that were deferred by earlier versions.
ALTER TABLE cc.deliveries ADD COLUMN give_up_at timestamptz(3);
CREATE INDEX deliveries_give_up ON cc.deliveries (give_up_at) WHERE give_up_at IS NOT NULL;
`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not drop what is known about pending deliveries. Restore a backup instead.');
  }
}
