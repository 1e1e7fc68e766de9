// Ends the reign of the primary again and again, each time in another way, under load.
import { setTimeout as sleep } from 'node:timers/promises';

export const KINDS = ['kill', 'switchover', 'freeze'];
const CALM_MS = [1_500, 3_000];
const FAILED_OVER_WITHIN_MS = 120_000;

/**
 * @param latencyMs of replication, each way, before and during a fault: as between two data centres
 * @param before called some time before each fault, and `after` when conversions are acknowledged again and before the old primary returns
 */
export async function failOver(testbed, load, { rounds, random, log, latencyMs, before, after }) {
  const { database, faults } = testbed;
  const { cluster } = database;
  const seconds = new Map(KINDS.map((kind) => [kind, []]));
  for (let round = 0; round < rounds; round += 1) {
    const kind = KINDS[round % KINDS.length];
    await cluster.healthy();
    database.replicationLatencyMs = latencyMs;
    const primary = await cluster.primary();
    await before?.(primary);
    await sleep(CALM_MS[0] + random() * (CALM_MS[1] - CALM_MS[0]));
    const startedMs = performance.now();
    await inject(kind, primary, testbed);
    if (kind === 'kill') faults.kills += 1;
    if (kind === 'freeze') faults.freezes += 1;
    await untilMoved(cluster, primary);
    const { acknowledged } = load.counts;
    while (load.counts.acknowledged === acknowledged) await sleep(20);
    seconds.get(kind).push((performance.now() - startedMs) / 1_000);
    database.replicationLatencyMs = 0;
    await after?.(await cluster.primary(primary));
    if (kind === 'kill') primary.start();
    if (kind === 'freeze') primary.thaw();
    log(`round ${round + 1}, ${kind}: ${load.counts.acknowledged} acknowledged`);
  }
  await cluster.healthy();
  return [...seconds]
    .filter(([, values]) => values.length > 0)
    .map(([kind, values]) => ({
      what: `${kind}: seconds until a conversion is acknowledged again`,
      result: `${values.length} times, ${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)}`,
      ok: true,
    }));
}

async function inject(kind, primary, { database: { cluster } }) {
  if (kind === 'kill') await primary.kill();
  else if (kind === 'freeze') primary.freeze();
  else await cluster.switchover();
}

async function untilMoved(cluster, from) {
  const deadlineMs = performance.now() + FAILED_OVER_WITHIN_MS;
  while (!(await cluster.primary(from))) {
    if (performance.now() > deadlineMs) throw new Error('No standby was promoted.');
    await sleep(50);
  }
}
