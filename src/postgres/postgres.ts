import { Client, type ClientBase, type ClientConfig, Pool } from 'pg';
import type { DataSource, DataSourceOptions, EntityTarget, ObjectLiteral } from 'typeorm';
import { messageOf, UserError } from '../kernel/errors.js';
import { acquireEmbeddedServer, type EmbeddedServer } from './embedded-server.js';
import { MIGRATIONS } from './migrations/index.js';
import { refuseUnsafeServer } from './server-checks.js';
import { canTakeServiceRole, grantServiceRole, SERVICE_ROLE } from './service-role.js';

/** Advisory keys are per database: migrations have one of their own, apart from the append's. */
const MIGRATION_LOCK = 4845002;
const POOL_SIZE = 8;

export interface PostgresOptions {
  /** Without it an embedded server runs under `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly say: (line: string) => void;
}

/** The database: where it is, how to connect to it as the service or as the owner of the schema. */
export class Postgres {
  private readModels: Promise<DataSource> | undefined;

  private constructor(
    /** Ready-made connections for queries of any kind, as the service's role. */
    readonly pool: Pool,
    private readonly target: ClientConfig,
    private readonly hasServiceRole: boolean,
    private readonly embedded: EmbeddedServer | undefined,
  ) {}

  static async open(options: PostgresOptions): Promise<Postgres> {
    const embedded = options.databaseUrl
      ? undefined
      : await acquireEmbeddedServer({ dataDir: options.dataDir, say: options.say });
    const target: ClientConfig = embedded
      ? // All of it said, so that no PGPORT or PGSSLMODE of the environment leads elsewhere.
        { host: embedded.host, port: embedded.port, user: embedded.user, database: embedded.database, ssl: false }
      : { connectionString: options.databaseUrl as string };
    try {
      const hasServiceRole = await prepareDatabase(target);
      const pool = new Pool({
        ...withOptions(target, 'cc-service', serviceOptions(hasServiceRole)),
        max: POOL_SIZE,
        min: 1, // One stays connected, so that an embedded server knows that it is in use.
        connectionTimeoutMillis: 5_000,
        // A connection can die without a word (a fail-over, a firewall): then nothing may wait on it for ever.
        query_timeout: 30_000,
        keepAlive: true,
      });
      // An idle connection that the server closed is replaced at the next query; there is nothing to do about it here.
      pool.on('error', () => {});
      // One that breaks while it is in use tells its user; without a listener the event would end the process as well.
      pool.on('connect', (client) => client.on('error', () => {}));
      return new Postgres(pool, target, hasServiceRole, embedded);
    } catch (error) {
      await embedded?.release();
      throw error;
    }
  }

  /** A connection of one's own, as the service's role. `settings` are fixed for its whole life. */
  async connect(name: string, settings: Record<string, string> = {}): Promise<Client> {
    const options = { ...serviceOptions(this.hasServiceRole), ...settings };
    return connected(withOptions(this.target, name, options));
  }

  /** For work on the schema itself (partitions, rebuilds): the login's own rights. */
  async connectAsOwner(name: string): Promise<Client> {
    return connected(withOptions(this.target, name, { search_path: 'cc' }));
  }

  /** Read models that people look at go through TypeORM; the hot path does not. */
  async repository<Row extends ObjectLiteral>(entity: EntityTarget<Row>) {
    this.readModels ??= this.openReadModels();
    return (await this.readModels).getRepository(entity);
  }

  /** Over every entity that has been imported by now: whoever asks for the next one finds it too. */
  private async openReadModels(): Promise<DataSource> {
    const { DataSource, getMetadataArgsStorage } = await loadTypeorm();
    return new DataSource({
      ...typeormTarget(this.target, 'cc-read-models', serviceOptions(this.hasServiceRole)),
      entities: getMetadataArgsStorage().tables.map(({ target }) => target),
      poolSize: 2,
    }).initialize();
  }

  async close(): Promise<void> {
    await this.readModels?.then((source) => source.destroy()).catch(() => {});
    await this.pool.end();
    await this.embedded?.release();
  }
}

/** Refuses an unsafe server, brings the schema up to date, and says whether the service's role can be used. */
async function prepareDatabase(target: ClientConfig): Promise<boolean> {
  const owner = await connected(withOptions(target, 'cc-migrations', {}));
  try {
    await refuseUnsafeServer(owner);
    // Whichever of several instances comes first does the work; the others wait here and find it done.
    await owner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await owner.query('CREATE SCHEMA IF NOT EXISTS cc');
    const done = await readMigrations(owner);
    const isUpToDate = MIGRATIONS.every((Migration) => done.includes(new Migration().name));
    if (!isUpToDate) await migrate(target);
    // Also where an operator has made the role since: it still has to be told what it may do.
    if (!isUpToDate || !(await canTakeServiceRole(owner))) await grantServiceRole(owner);
    return await canTakeServiceRole(owner);
  } finally {
    await owner.end();
  }
}

async function migrate(target: ClientConfig): Promise<void> {
  const { DataSource } = await loadTypeorm();
  const source = await new DataSource({
    ...typeormTarget(target, 'cc-migrations', {}),
    schema: 'cc',
    migrations: MIGRATIONS,
    migrationsTransactionMode: 'each',
    poolSize: 1,
  }).initialize();
  try {
    await source.runMigrations();
  } finally {
    await source.destroy();
  }
}

/** The names of the migrations that this database has seen. */
export async function readMigrations(client: ClientBase | Pool): Promise<string[]> {
  const made = await client.query<{ made: boolean }>(`SELECT to_regclass('cc.migrations') IS NOT NULL AS made`);
  if (!made.rows[0]?.made) return [];
  const { rows } = await client.query<{ name: string }>('SELECT name FROM cc.migrations ORDER BY id');
  return rows.map(({ name }) => name);
}

/** When it is needed and not before: loading it takes longer than most verbs of the command line take to run. */
function loadTypeorm() {
  return import('typeorm');
}

async function connected(config: ClientConfig): Promise<Client> {
  const client = new Client({ ...config, connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
  } catch (error) {
    throw new UserError(
      `PostgreSQL cannot be reached: ${messageOf(error)}. Check DATABASE_URL and that the server runs.`,
    );
  }
  // Without a listener a connection that breaks while idle would end the process; whoever uses it sees the failure.
  client.on('error', () => {});
  return client;
}

function serviceOptions(hasServiceRole: boolean): Record<string, string> {
  return {
    ...(hasServiceRole ? { role: SERVICE_ROLE } : {}),
    search_path: 'cc',
    default_transaction_isolation: 'read committed',
    // Nobody waits for ever behind a frozen client, and no frozen client keeps others waiting.
    lock_timeout: '5s',
    idle_in_transaction_session_timeout: '10s',
  };
}

/** Start options, not SET: a RESET, or a pooler's clean-up, cannot undo them. */
function startOptions(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
    .join(' ');
}

function withOptions(target: ClientConfig, applicationName: string, settings: Record<string, string>): ClientConfig {
  return { ...target, application_name: applicationName, options: startOptions(settings) };
}

function typeormTarget(
  target: ClientConfig,
  applicationName: string,
  settings: Record<string, string>,
): Extract<DataSourceOptions, { type: 'postgres' }> {
  const { application_name, options } = withOptions(target, applicationName, settings);
  return {
    type: 'postgres',
    ...(target.connectionString
      ? { url: target.connectionString }
      : {
          host: target.host as string,
          port: target.port as number,
          username: target.user as string,
          database: target.database as string,
          ssl: false,
        }),
    synchronize: false,
    logging: false,
    extra: { application_name, options },
  };
}
