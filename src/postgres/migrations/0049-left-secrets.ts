import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Deletes secrets of disconnected connections. Earlier versions deleted them after the event, and left them when they were
 * interrupted in between; a second disconnection did not delete them either, because it changes nothing.
 */
export class LeftSecrets0000000000049 implements MigrationInterface {
  name = 'LeftSecrets0000000000049';
  readonly rolling = true;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DELETE FROM cc.secrets s USING (
         SELECT DISTINCT ON (site, data ->> 'platform') site, data ->> 'platform' AS connection, type FROM cc.events
          WHERE category = 'site' AND type IN ('site.platform_connected.v1', 'site.platform_disconnected.v1')
          ORDER BY site, data ->> 'platform', position DESC) newest
        WHERE newest.type = 'site.platform_disconnected.v1' AND s.site = newest.site
          AND starts_with(s.name, newest.connection || '.')`,
    );
  }

  /** They were of no use. */
  async down(): Promise<void> {}
}
