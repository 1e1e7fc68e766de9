import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Deletes the webhook secrets of removed sites, which earlier versions have left. */
export class RemovedWebhooks0000000000051 implements MigrationInterface {
  name = 'RemovedWebhooks0000000000051';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DELETE FROM cc.secrets s USING (
         SELECT DISTINCT ON (site) site, type FROM cc.events
          WHERE category = 'site' AND type IN ('site.registered.v1', 'site.removed.v1')
          ORDER BY site, position DESC) newest
        WHERE newest.type = 'site.removed.v1' AND s.site = newest.site AND starts_with(s.name, 'outbound.')`,
    );
  }

  /** They were of no use. */
  async down(): Promise<void> {}
}
