import type { ClientBase } from 'pg';
import { UserError } from '../kernel/errors.js';

const OLDEST_SUPPORTED = 15;

/** Acknowledged conversions must survive a power failure: refuses a server that can lose commits, naming the setting. */
export async function refuseUnsafeServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string; setting: string }>(
    `SELECT name, setting FROM pg_settings
      WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'server_version_num')`,
  );
  const setting = new Map(rows.map((row) => [row.name, row.setting]));
  const major = Math.floor(Number(setting.get('server_version_num')) / 10_000);
  if (major < OLDEST_SUPPORTED) {
    throw new UserError(
      `PostgreSQL ${major} is too old: set DATABASE_URL to a server of version ${OLDEST_SUPPORTED} or later.`,
    );
  }
  for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    if (setting.get(name) !== 'off') continue;
    throw new UserError(
      `PostgreSQL runs with ${name} = off, which can lose conversions that were already acknowledged. ` +
        `Set ${name} = on on that server (also check ALTER ROLE and ALTER DATABASE settings) and start again.`,
    );
  }
}
