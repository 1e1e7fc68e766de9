import type { ProjectionRunner } from '../../log/projections/projection-runner.js';
import type { Postgres } from '../../postgres/postgres.js';
import { keyState, type SiteKey } from '../site.js';

/** The keys of a site from the projections, after they have caught up with the log. */
export async function listKeys(
  { postgres, projections }: { postgres: Postgres; projections: ProjectionRunner },
  host: string,
) {
  await projections.catchUp('sites');
  await projections.catchUp('key_usage');
  // Imported here because loading TypeORM takes longer than most commands of the command line run.
  const [{ SiteRow }, { KeyUsageRow }, { In }] = await Promise.all([
    import('../site-row.js'),
    import('./key-usage-row.js'),
    import('typeorm'),
  ]);
  const row = await (await postgres.repository(SiteRow)).findOneBy({ host });
  const keys = row?.keys ?? [];
  const usage = await (await postgres.repository(KeyUsageRow)).findBy({ keyId: In(keys.map((key) => key.id)) });
  const lastUsed = new Map(usage.map(({ keyId, lastUsedAt }) => [keyId, lastUsedAt.toISOString()]));
  const nowMs = postgres.clock.nowMs();
  return keys.map((key: SiteKey) => {
    const { id, name, prefix, trial, createdAt, rotation } = key;
    return {
      id,
      name,
      prefix,
      trial,
      createdAt,
      lastUsedAt: lastUsed.get(id) ?? null,
      status: keyState(key, nowMs),
      ...rotation,
    };
  });
}
