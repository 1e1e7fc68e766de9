import { CLOCK_STREAM, LOG } from '../../events/log.events.js';
import { readPartitions } from '../../log/retention/partitions.js';
import { describeDifference, describeStep } from '../../postgres/database-clock.js';
import { MIGRATIONS } from '../../postgres/migrations/index.js';
import { readMigrations } from '../../postgres/schema.js';
import { SERVICE_ROLE } from '../../postgres/service-role.js';
import { type DoctorDependencies, type Finding, failed, judged, passed } from './check.js';

const WAL_SIZE_MIN_MB = 1024;
const CLOCK_DIFFERENCE_MAX_MS = 1_000;

export async function database({ postgres }: DoctorDependencies): Promise<Finding> {
  const { rows } = await postgres.pool.query<{ version: string }>(
    `SELECT current_setting('server_version') AS version`,
  );
  return passed(`PostgreSQL ${rows[0]?.version}`);
}

export async function durability(dependencies: DoctorDependencies): Promise<Finding> {
  const values = await readServerSettings(dependencies, ['fsync', 'synchronous_commit', 'full_page_writes']);
  const off = [...values].filter(([, value]) => value === 'off').map(([name]) => name);
  return judged(
    off.length === 0,
    [...values].map(([name, value]) => `${name} = ${value}`).join(', '),
    `Set ${off.join(' and ')} to on. Otherwise a power failure loses acknowledged conversions.`,
  );
}

export async function schema({ postgres }: DoctorDependencies): Promise<Finding> {
  const expected = MIGRATIONS.map((Migration) => new Migration().name);
  const applied = await readMigrations(postgres.pool);
  const missing = expected.filter((name) => !applied.includes(name));
  if (missing.length > 0) {
    return failed(`not applied: ${missing.join(', ')}`, 'Restart the service: it applies the migrations.');
  }
  const newer = applied.filter((name) => !expected.includes(name));
  if (newer.length > 0) {
    return failed(
      `from a newer version: ${newer.join(', ')}`,
      'Update this installation to the version that last used the database.',
    );
  }
  return passed(`up to date, ${applied.length} migrations`);
}

export async function appendOnly({ postgres }: DoctorDependencies): Promise<Finding> {
  const { rows } = await postgres.pool.query<{
    role: string;
    login: string;
    owns: boolean;
    may_change: boolean;
    unguarded: string[] | null;
  }>(
    `SELECT current_user AS role, session_user AS login,
            (SELECT pg_has_role(session_user, relowner, 'MEMBER') FROM pg_class WHERE oid = 'cc.events'::regclass) AS owns,
            has_table_privilege('cc.events', 'UPDATE, DELETE, TRUNCATE') AS may_change,
            (SELECT array_agg(relname::text) FROM pg_partition_tree('cc.events') JOIN pg_class ON oid = relid WHERE NOT EXISTS (
               SELECT FROM pg_trigger WHERE tgrelid = relid AND tgname = 'append_only' AND tgenabled IN ('O', 'A'))) AS unguarded`,
  );
  const { role, login, owns, may_change, unguarded } = rows[0] as (typeof rows)[0];
  if (unguarded) {
    const statements = unguarded.map((name) => `ALTER TABLE cc.${name} ENABLE TRIGGER append_only;`).join(' ');
    return failed(
      `no trigger prevents changes of cc.${unguarded.join(', cc.')}`,
      `As the owner of the schema: ${statements}`,
    );
  }
  if (role !== SERVICE_ROLE) {
    return {
      ok: true,
      detail: `by triggers only: the service runs as ${role}, because it may not use the role ${SERVICE_ROLE}`,
      fix: `As a superuser: CREATE ROLE ${SERVICE_ROLE} NOLOGIN; GRANT ${SERVICE_ROLE} TO "${role}"; then restart the service.`,
    };
  }
  if (!may_change && owns) {
    return {
      ok: true,
      detail: `by triggers and by the role ${SERVICE_ROLE}, which a session of the service could leave: it logs in as ${login}, the owner`,
      fix: `As a superuser: ALTER ROLE "${login}" CREATEROLE; then restart the service: it creates a login of its own.`,
    };
  }
  if (may_change)
    return failed(
      `the role ${SERVICE_ROLE} may change events`,
      `REVOKE UPDATE, DELETE, TRUNCATE ON cc.events FROM ${SERVICE_ROLE};`,
    );
  return passed(`by triggers and by the role ${SERVICE_ROLE}`);
}

export async function partitions({ postgres }: DoctorDependencies): Promise<Finding> {
  const { partitions, ahead } = await readPartitions(postgres.pool);
  return judged(
    ahead >= 1,
    `${partitions}, of which ${ahead} are empty, for future events`,
    'Start the service: it creates partitions and checks them every minute.',
  );
}

export async function checkpoints(dependencies: DoctorDependencies): Promise<Finding> {
  const values = await readServerSettings(dependencies, ['max_wal_size', 'checkpoint_timeout']);
  const walMb = Number(values.get('max_wal_size'));
  return judged(
    walMb >= WAL_SIZE_MIN_MB,
    `max_wal_size = ${walMb} MB, checkpoint_timeout = ${values.get('checkpoint_timeout')} s`,
    `Set max_wal_size = '4GB' and checkpoint_timeout = '30min': frequent checkpoints slow down every append.`,
  );
}

export async function clock({ postgres, log }: DoctorDependencies): Promise<Finding> {
  await postgres.sampleClock();
  const differenceMs = postgres.clock.differenceMs();
  const ok = Math.abs(differenceMs) <= CLOCK_DIFFERENCE_MAX_MS;
  const steps = (await log.readStream(LOG, CLOCK_STREAM)).filter((event) => event.type === 'log.clock_stepped.v1');
  const last = steps.at(-1);
  const stepped =
    last && `; its clock jumped ${describeStep(last.data.stepMs)} on ${last.time} (${steps.length} recorded)`;
  const difference = ok ? 'this machine and the database agree' : describeDifference(differenceMs);
  return judged(ok, `${difference}${stepped ?? ''}`, 'Synchronise both clocks with NTP.');
}

async function readServerSettings(
  { postgres }: DoctorDependencies,
  names: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await postgres.pool.query<{ name: string; setting: string }>(
    'SELECT name, setting FROM pg_settings WHERE name = ANY ($1) ORDER BY name',
    [names],
  );
  return new Map(rows.map(({ name, setting }) => [name, setting]));
}
