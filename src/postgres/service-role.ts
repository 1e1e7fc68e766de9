import type { ClientBase } from 'pg';

export const SERVICE_ROLE = 'cc_service';

/** Whether connections can work as the service's role: it exists, may use the schema, and the login may become it. */
export async function canTakeServiceRole(owner: ClientBase): Promise<boolean> {
  const { rows } = await owner.query<{ usable: boolean }>(
    // From version 16 on being a member and being allowed to become the role are two things.
    `SELECT has_schema_privilege(oid, 'cc', 'USAGE') AND pg_has_role(current_user, oid,
              CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END) AS usable
       FROM pg_roles WHERE rolname = $1`,
    [SERVICE_ROLE],
  );
  return rows[0]?.usable ?? false;
}

/**
 * The service works as a role that may add events and nothing else to them. It is made where the login may make roles;
 * where it may not, the trigger on the log refuses changes alone. Runs after migrations, for what they made.
 */
export async function grantServiceRole(owner: ClientBase): Promise<void> {
  await makeRole(owner);
  await owner.query('CREATE SCHEMA IF NOT EXISTS cc_shadow');
  const { rowCount } = await owner.query('SELECT FROM pg_roles WHERE rolname = $1', [SERVICE_ROLE]);
  if (!rowCount) return;
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
