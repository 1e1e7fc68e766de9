import { splitHosts } from '../../postgres/database-hosts.js';
import { type DoctorDependencies, type Finding, failed, passed } from './check.js';

/** What the primary says about its standbys. */
export interface Replication {
  /** Servers that DATABASE_URL names. */
  readonly named: number;
  readonly standbys: number;
  /** Standbys whose state the login may not see. */
  readonly hidden: number;
  /** Standbys whose confirmation a commit waits for. */
  readonly confirming: number;
  /** Lag of the slowest standby. */
  readonly lagBytes: number;
  readonly synchronousStandbyNames: string;
  readonly synchronousCommit: string;
  readonly walLevel: string;
  readonly maxWalSenders: number;
}

/** Whether a standby could take over, and what would be lost. */
export async function standby({ postgres, settings }: DoctorDependencies): Promise<Finding> {
  // The service's own login sees neither the state of a standby nor its lag.
  const owner = await postgres.connectAsOwner('doctor');
  try {
    const { rows } = await owner.query<Omit<Replication, 'named'>>(
      `SELECT count(pid)::integer AS standbys, count(*) FILTER (WHERE state IS NULL)::integer AS hidden,
              count(*) FILTER (WHERE sync_state IN ('sync', 'quorum'))::integer AS confirming,
              coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 0)::float8 AS "lagBytes",
              current_setting('synchronous_standby_names') AS "synchronousStandbyNames",
              current_setting('synchronous_commit') AS "synchronousCommit",
              current_setting('wal_level') AS "walLevel",
              current_setting('max_wal_senders')::integer AS "maxWalSenders"
         FROM pg_stat_replication WHERE application_name NOT LIKE 'pg_basebackup%' AND pid NOT IN (
                SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL)`,
    );
    const named = settings.databaseUrl ? splitHosts(settings.databaseUrl).hosts.length : 1;
    return judgeReplication({ named, ...(rows[0] as Omit<Replication, 'named'>) });
  } finally {
    await owner.end();
  }
}

export function judgeReplication(state: Replication): Finding {
  const { named, standbys, hidden, confirming, synchronousStandbyNames, synchronousCommit, walLevel, maxWalSenders } =
    state;
  const isSynchronous = synchronousStandbyNames !== '';
  const wantsStandby = named > 1 || isSynchronous || standbys > 0;
  if (wantsStandby && (walLevel === 'minimal' || maxWalSenders === 0)) {
    return failed(
      `wal_level = ${walLevel}, max_wal_senders = ${maxWalSenders}: no standby can replicate`,
      'Set wal_level = replica and max_wal_senders = 10, and restart PostgreSQL.',
    );
  }
  if (isSynchronous && /^(off|local)$/.test(synchronousCommit)) {
    return failed(
      `synchronous_commit = ${synchronousCommit}: commits do not wait for the standby that synchronous_standby_names names`,
      'Set synchronous_commit = on (also check ALTER ROLE and ALTER DATABASE). Otherwise a failover loses acknowledged conversions.',
    );
  }
  if (hidden > 0) {
    return passed('not visible to the login of DATABASE_URL: grant it the role pg_read_all_stats to have it checked');
  }
  if (isSynchronous && confirming === 0) {
    return failed(
      `no standby of synchronous_standby_names = '${synchronousStandbyNames}' is connected: appends wait for one`,
      'Start the standby, or let Patroni remove the name (synchronous_mode without synchronous_mode_strict).',
    );
  }
  if (!isSynchronous && synchronousCommit.startsWith('remote_')) {
    return failed(
      `synchronous_commit = ${synchronousCommit} has no effect: synchronous_standby_names is empty`,
      'Name the standby in synchronous_standby_names (Patroni: synchronous_mode: true), or set synchronous_commit = on.',
    );
  }
  if (named > 1 && standbys === 0) {
    return failed(
      `DATABASE_URL names ${named} servers, and no standby replicates from the primary`,
      'Start the standby. Until it replicates, a failure of the primary is an outage.',
    );
  }
  return passed(describe(state, isSynchronous));
}

function describe({ standbys, confirming, lagBytes, synchronousCommit }: Replication, isSynchronous: boolean): string {
  if (standbys === 0) return 'none';
  const lag = `the slowest of ${standbys} is ${Math.round(lagBytes / 1024)} kB behind`;
  if (!isSynchronous) return `asynchronous: a failover loses what has not been replicated; ${lag}`;
  const weak = synchronousCommit === 'remote_write' ? ', which may not have it on disk yet' : '';
  return `synchronous: a commit waits for ${confirming}${weak}; ${lag}`;
}
