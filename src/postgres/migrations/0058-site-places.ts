import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Connections and webhooks state the place of an event in the order of its site instead of its position. For events that were not
 * copied both are the same number, and none is copied yet: so the keys are renamed, and the projection need not be folded again.
 */
export class SitePlaces0000000000058 implements MigrationInterface {
  name = 'SitePlaces0000000000058';

  async up(runner: QueryRunner): Promise<void> {
    await renameKeys(runner, 'position', 'place');
  }

  async down(runner: QueryRunner): Promise<void> {
    await renameKeys(runner, 'place', 'position');
  }
}

/** Within a string a quotation mark is escaped, so what is replaced is a key. Settings of platforms have no such key. */
async function renameKeys(runner: QueryRunner, from: string, to: string): Promise<void> {
  await runner.query(`
UPDATE cc.sites SET connections = replace(connections::text, '"${from}":', '"${to}":')::json,
                    webhook = replace(webhook::text, '"${from}":', '"${to}":')::json`);
}
