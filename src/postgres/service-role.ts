import { randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';

export const SERVICE_ROLE = 'cc_service';

/** Whether connections can use the service's role: it exists, may use the schema, and the login may SET ROLE to it. */
export async function canUseServiceRole(owner: ClientBase): Promise<boolean> {
  const { rows } = await owner.query<{ usable: boolean }>(
    // From version 16 on, membership alone does not allow SET ROLE.
    `SELECT has_schema_privilege(oid, 'cc', 'USAGE') AND pg_has_role(current_user, oid,
              CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END) AS usable
       FROM pg_roles WHERE rolname = $1`,
    [SERVICE_ROLE],
  );
  return rows[0]?.usable ?? false;
}

/**
 * The service works as a role that can insert events and seals but not change them. The role is created if the login may create roles;
 * otherwise only the trigger on the log refuses changes. Runs after migrations, to cover the tables that they created.
 */
export async function grantServiceRole(owner: ClientBase): Promise<void> {
  await createRole(owner);
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
    GRANT EXECUTE ON FUNCTION cc.follow_lineage(bigint) TO ${SERVICE_ROLE};
    -- Retention, migrations and this function, which runs as the owner, write them.
    REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON cc.removed_events, cc.lineage, cc.log_partitions, cc.schema_migrations,
      cc.schema_compatibility FROM ${SERVICE_ROLE};
    REVOKE ALL ON cc.service_login FROM ${SERVICE_ROLE};
    REVOKE UPDATE, DELETE, TRUNCATE ON cc.events, cc.seals, cc.erased_parts, cc.clock_steps FROM ${SERVICE_ROLE};
  `);
}

async function createRole(owner: ClientBase): Promise<void> {
  await owner.query(`
    DO $$ BEGIN
      IF (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user)
         AND NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${SERVICE_ROLE}') THEN
        CREATE ROLE ${SERVICE_ROLE} NOLOGIN;
        EXECUTE format('GRANT ${SERVICE_ROLE} TO %I', current_user);
      END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL; -- Roles belong to the whole server: an instance of another database has created it.
    END $$`);
}

/** A login of its own for the service. Its session can become no other role than cc_service, also not by SET ROLE NONE. */
export interface ServiceLogin {
  readonly role: string;
  readonly password: string;
}

/**
 * The login of this database's service: created at the first start, and again where its role is missing, as after the restore
 * of a backup on another server. Undefined if this login may not create roles. Its name is random, because roles belong to the
 * whole server.
 */
export async function ensureServiceLogin(owner: ClientBase): Promise<ServiceLogin | undefined> {
  const { rows: may } = await owner.query<{ create: boolean }>(
    'SELECT rolsuper OR rolcreaterole AS create FROM pg_roles WHERE rolname = current_user',
  );
  if (!may[0]?.create) return undefined;
  const stored = await readLogin(owner);
  if (stored?.exists) return stored;
  await owner.query('INSERT INTO cc.service_login (role, password) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    `${SERVICE_ROLE}_${randomBytes(4).toString('hex')}`,
    randomBytes(24).toString('hex'),
  ]);
  const login = (await readLogin(owner)) as ServiceLogin;
  await setLogin(owner, 'CREATE', login);
  return login;
}

/** Gives the login the stored password again, for one that has another: the role is from another database's backup. */
export async function resetServiceLogin(owner: ClientBase, login: ServiceLogin): Promise<void> {
  await setLogin(owner, 'ALTER', login);
}

async function readLogin(owner: ClientBase): Promise<(ServiceLogin & { exists: boolean }) | undefined> {
  const { rows } = await owner.query<ServiceLogin & { exists: boolean }>(
    `SELECT role, password, EXISTS (SELECT FROM pg_roles WHERE rolname = role) AS exists FROM cc.service_login`,
  );
  return rows[0];
}

/** Its settings are given literally: these statements take no parameters. Both consist of letters, digits and underscores. */
async function setLogin(owner: ClientBase, verb: 'CREATE' | 'ALTER', { role, password }: ServiceLogin): Promise<void> {
  const [name, secret] = [owner.escapeIdentifier(role), owner.escapeLiteral(password)];
  await owner.query(
    `${verb} ROLE ${name} LOGIN PASSWORD ${secret} NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION; GRANT ${SERVICE_ROLE} TO ${name}`,
  );
}
