import type { ClientBase } from 'pg';
import { SCHEMA } from './migrations/index.js';

/** The last schema of version 0.1, whose application names carry no schema number. */
const SCHEMA_0_1 = 20;
/** Connects only to stop an embedded server that has no users left. */
export const LEAVING = 'cc-leaving';

/** Connections of instances with an older schema, from one address. */
interface EarlierInstances {
  readonly schema: number;
  readonly address: string;
  readonly pids: readonly number[];
}

/** Carries the schema number, so that a later version can tell which instances its upgrade would break. */
export function applicationName(purpose: string): string {
  return `cc${SCHEMA}-${purpose}`;
}

/** Connected instances whose schema is older than `schema`: services, commands, and starts that wait for a lock. */
export async function findEarlierInstances(client: ClientBase, schema: number): Promise<EarlierInstances[]> {
  // PostgreSQL hides the address from logins without rights on the other session; the port of a unix socket is -1.
  const { rows } = await client.query<EarlierInstances>(
    `WITH instances AS (
       SELECT coalesce(substring(application_name FROM '^cc(\\d+)-')::integer, ${SCHEMA_0_1}) AS schema, pid,
              CASE WHEN client_addr IS NOT NULL THEN host(client_addr)
                   WHEN client_port = -1 THEN 'a local socket' ELSE 'an unknown address' END AS address
         FROM pg_stat_activity
        WHERE datname = current_database() AND application_name ~ '^cc\\d*-' AND application_name <> $2
     )
     SELECT schema, address, array_agg(pid ORDER BY pid) AS pids FROM instances WHERE schema < $1
      GROUP BY schema, address ORDER BY schema, address`,
    [schema, LEAVING],
  );
  return rows;
}

/** One line for an error message. */
export function describeInstances({ schema, address, pids }: EarlierInstances): string {
  const version = schema <= SCHEMA_0_1 ? 'version 0.1' : `schema ${schema}`;
  const connections =
    pids.length === 1 ? '1 connection, PostgreSQL pid' : `${pids.length} connections, PostgreSQL pids`;
  return `${version} from ${address} (${connections} ${pids.join(', ')})`;
}
