import type { ClientBase } from 'pg';

export const SERVICE_ROLE = 'cc_service';

/** Whether connections can work as the service's role: it exists, and the login is a member of it. */
export async function canTakeServiceRole(owner: ClientBase): Promise<boolean> {
  const { rows } = await owner.query<{ member: boolean }>(
    `SELECT pg_has_role(current_user, oid, 'MEMBER') AS member FROM pg_roles WHERE rolname = $1`,
    [SERVICE_ROLE],
  );
  return rows[0]?.member ?? false;
}

/**
 * The service works as a role that may add events and nothing else to them. It is made where the login may make roles;
 * where it may not, the trigger on the log refuses changes alone. Runs after migrations, for what they made.
 */
export async function grantServiceRole(owner: ClientBase): Promise<void> {
  await makeRole(owner);
  await owner.query('CREATE SCHEMA IF NOT EXISTS cc_shadow');
  if (!(await canTakeServiceRole(owner))) return;
  await owner.query(`
    GRANT USAGE ON SCHEMA cc, cc_shadow TO ${SERVICE_ROLE};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA cc TO ${SERVICE_ROLE};
    GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA cc TO ${SERVICE_ROLE};
    ALTER DEFAULT PRIVILEGES IN SCHEMA cc_shadow GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${SERVICE_ROLE};
    DO $$ DECLARE part regclass; BEGIN
      FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = ANY ('{cc.events,cc.personal}'::regclass[]) LOOP
        EXECUTE format('REVOKE ALL ON %s FROM ${SERVICE_ROLE}', part);
      END LOOP;
    END $$;
    REVOKE UPDATE, DELETE, TRUNCATE ON cc.events FROM ${SERVICE_ROLE};
  `);
}

async function makeRole(owner: ClientBase): Promise<void> {
  await owner.query(`
    DO $$ BEGIN
      IF (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user)
         AND NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${SERVICE_ROLE}') THEN
        CREATE ROLE ${SERVICE_ROLE} NOLOGIN;
        EXECUTE format('GRANT ${SERVICE_ROLE} TO %I', current_user);
      END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL; -- Roles belong to the whole server: another database's instance was faster.
    END $$`);
}
