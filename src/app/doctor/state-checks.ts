import { dedupWindowOf } from '../../conversions/dedup-key.js';
import { formatDuration } from '../../kernel/durations.js';
import type { CountedByKey } from '../../kernel/sealing.js';
import { requireMatchingKey } from '../../sites/keys/key-check.js';
import { type DoctorDependencies, type Finding, failed, judged, passed } from './check.js';

/** The service prunes once a minute. A longer lag means that it does not run or fails. */
const PRUNING_LAG_MAX_MS = 10 * 60_000;

/** Informational: expired dedup claims only cost space. */
export async function dedupClaims({ postgres, sites, settings }: DoctorDependencies): Promise<Finding> {
  const windows = (await sites.all()).map((site) => dedupWindowOf(site.settings, settings.dedupWindowMs));
  const windowMs = Math.max(0, ...windows);
  const { rows } = await postgres.pool.query<{ claims: string; bytes: string; stale: boolean }>(
    `SELECT greatest(reltuples, 0)::bigint AS claims, pg_total_relation_size(oid) AS bytes,
            EXISTS (SELECT FROM cc.dedup WHERE at < now() - make_interval(secs => $1)) AS stale
       FROM pg_class WHERE oid = 'cc.dedup'::regclass`,
    [(windowMs + PRUNING_LAG_MAX_MS) / 1_000],
  );
  const { claims, bytes, stale } = rows[0] as (typeof rows)[0];
  const age = stale
    ? `some older than the longest dedup window (${formatDuration(windowMs)}); a running service prunes them`
    : 'none expired';
  return passed(`about ${claims}, ${(Number(bytes) / 1024 ** 2).toFixed(1)} MB, ${age}`);
}

export async function projections({ projections }: DoctorDependencies): Promise<Finding> {
  const list = await projections.status();
  const parked = list.filter(({ state }) => state === 'parked');
  const behind = list.filter(({ lag }) => lag > 0).map(({ name, lag }) => `${name} by ${lag}`);
  if (parked.length > 0) {
    return {
      ok: false,
      detail: parked.map(({ name, reason }) => `${name} is parked: ${reason}`).join('; '),
      fix: `Update to a version that supports this event, then run ${parked.map(({ name }) => `"projections rebuild ${name}"`).join(', ')}.`,
    };
  }
  return {
    ok: true,
    detail: behind.length === 0 ? `${list.length}, all at the head of the log` : `behind the log: ${behind.join(', ')}`,
  };
}

/** Everything that is sealed: the secrets in the database and the list of erasures. */
export async function secrets({
  secrets,
  erasureList,
  settings,
  sealer,
  postgres,
}: DoctorDependencies): Promise<Finding> {
  await requireMatchingKey(postgres.pool, sealer);
  const counts = [await secrets.countByKey(), await erasureList.countByKey()];
  const [current, previous] = [sum(counts, 'current'), sum(counts, 'previous')];
  const unreadable = counts.flatMap((count) => count.unreadable);
  const detail = `${current} sealed with SECRET_KEY, ${previous} with SECRET_KEY_PREVIOUS`;
  if (unreadable.length > 0) {
    return failed(
      `${detail}, ${unreadable.length} with neither: ${unreadable.join(', ')}`,
      'Set SECRET_KEY_PREVIOUS to the key that sealed them, or set new ones with "platforms connect" and "webhook set".',
    );
  }
  const fix =
    previous > 0
      ? 'Restart the service: it seals them with SECRET_KEY. Keep SECRET_KEY_PREVIOUS until then.'
      : `Remove SECRET_KEY_PREVIOUS: neither the database nor ${settings.erasureList} needs it.`;
  return { ok: true, detail, fix };
}

/** An erasure that cannot be listed is refused, because a restored backup would undo it. */
export async function erasures({ settings, erasureList }: DoctorDependencies): Promise<Finding> {
  const ok = await erasureList.isWritable();
  return judged(
    ok,
    `${ok ? 'listed' : 'cannot be listed'} in ${settings.erasureList}`,
    'Set ERASURE_LIST, or DATA_DIR, to a place that this user can write to and that is backed up.',
  );
}

function sum(counts: readonly CountedByKey[], key: 'current' | 'previous'): number {
  return counts.reduce((total, count) => total + count[key], 0);
}
