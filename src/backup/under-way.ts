import { deliveriesProjection } from '../delivery/deliveries.projection.js';
import { UnsettledConversions } from '../delivery/owed/owed.js';
import { readScanProgress } from '../delivery/owed/owed-report.js';
import { readUnsettled } from '../delivery/owed/read-unsettled.js';
import type { EventLog } from '../log/event-log.js';
import type { ProjectionRunner } from '../log/projections/projection-runner.js';
import type { Postgres } from '../postgres/postgres.js';

/** Deliveries of one connection that had no final outcome when the backup was made. The original may have made them since. */
export interface UnderWay {
  readonly site: string;
  readonly platform: string;
  readonly deliveries: number;
}

interface Dependencies {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly projections: Pick<ProjectionRunner, 'catchUp'>;
}

/** Those that wait for another attempt, and those that were not attempted. */
export async function readUnderWay({ postgres, log, projections }: Dependencies): Promise<UnderWay[]> {
  await projections.catchUp(deliveriesProjection.name);
  const { rows } = await postgres.pool.query<{ site: string; platform: string; count: number }>(
    `SELECT site, platform, count(*)::float8 AS count FROM cc.deliveries WHERE kind = 'send' GROUP BY site, platform`,
  );
  const counts = new Map(rows.map(({ site, platform, count }) => [`${site} ${platform}`, count]));
  const unsettled = new UnsettledConversions(await readScanProgress(postgres), () => 0, Number.POSITIVE_INFINITY);
  await readUnsettled(log, unsettled, await log.head(), () => true);
  for (const { site, platform } of unsettled.owed(0)) {
    const key = `${site} ${platform}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .map(([key, deliveries]) => {
      const [site, platform] = key.split(' ') as [string, string];
      return { site, platform, deliveries };
    })
    .sort((one, other) => one.site.localeCompare(other.site) || one.platform.localeCompare(other.platform));
}
