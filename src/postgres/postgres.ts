import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, type ClientBase, Pool } from 'pg';
import type { DataSource, DataSourceOptions, EntityTarget, ObjectLiteral } from 'typeorm';
import { AlignedInterval } from '../kernel/aligned-interval.js';
import { formatDuration } from '../kernel/durations.js';
import { messageOf, UserError } from '../kernel/errors.js';
import { type ClockSample, DatabaseClock, DISTRUST_MS, describeDifference } from './database-clock.js';
import { DatabaseHosts, splitHosts } from './database-hosts.js';
import { acquireEmbeddedServer, type EmbeddedServer } from './embedded-server.js';
import { applicationName } from './instances.js';
import { PrimaryClient, type PrimaryClientConfig } from './primary-client.js';
import { migrateSchema } from './schema.js';
import { refuseUnsafeServer } from './server-checks.js';
import {
  canUseServiceRole,
  ensureServiceLogin,
  grantServiceRole,
  resetServiceLogin,
  SERVICE_ROLE,
  type ServiceLogin,
} from './service-role.js';
import { Standby } from './standby.js';
import { withConnection } from './transaction.js';

const POOL_SIZE = 8;
const RESERVED_POOL_SIZE = 3;
/** A connection can die unnoticed (a failover, a firewall): no query may then wait on it forever. */
const LIMITS = { query_timeout: 30_000, keepAlive: true };
const CONNECT_WITHIN_MS = 5_000;
const RECONNECT_EVERY_MS = 500;
const SAMPLE_CLOCK_EVERY_MS = 1_000;
/** A connection that died unnoticed costs one sample: the next one uses another connection. */
const SAMPLE_CLOCK_TIMEOUT_MS = 3_000;

interface PostgresOptions {
  /** Without it an embedded server runs under `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  /** A standby for reads that may lag. */
  readonly standby?: { readonly url: string; readonly maxLagMs: number } | undefined;
  readonly onMessage: (line: string) => void;
  /** How long to wait for a server that is restarting. */
  readonly waitMs?: number;
  /** A service owns the folder of its embedded server: a second service is refused. */
  readonly ownsDataDir?: boolean;
  /** How long a query waits for a connection of the pools: for one that is in use, and for a new one. */
  readonly connectWithinMs?: number;
}

/** The database: its address, and connections to it as the service's role or as the owner of the schema. */
export class Postgres {
  private readModels: Promise<DataSource> | undefined;
  private reservedPool: Pool | undefined;
  private sampling: Promise<void> | undefined;
  private readonly sampler: AlignedInterval;

  private constructor(
    /** For queries of any kind, as the service's role. */
    readonly pool: Pool,
    /** The database's time: the one by which everything is judged. */
    readonly clock: DatabaseClock,
    private readonly target: PrimaryClientConfig,
    private readonly service: ServiceAccess,
    private readonly embedded: EmbeddedServer | undefined,
    /** Servers of DATABASE_READ_URL. */
    readonly standby: Standby | undefined,
  ) {
    this.sampler = new AlignedInterval(() => this.sampleQuietly(), SAMPLE_CLOCK_EVERY_MS).unref();
  }

  static async open(options: PostgresOptions): Promise<Postgres> {
    const embedded = options.databaseUrl ? undefined : await acquireEmbeddedServer(options);
    const target = embedded ? embeddedTarget(embedded) : urlTarget(options.databaseUrl as string, options.onMessage);
    try {
      const { pool, clock, service } = await openPool(target, options);
      await endingOnError(pool, untilTrusted(clock, pool, options.onMessage));
      return new Postgres(pool, clock, target, service, embedded, openStandby(pool, clock, service, options));
    } catch (error) {
      await embedded?.release();
      throw error;
    }
  }

  /** Why no connection can be opened that accepts writes: no server is a primary. */
  get noPrimary(): string | undefined {
    return this.target.hosts.refusal;
  }

  /** For short queries that must not wait for slow ones: who a request is from, and leases. Opened by its first use. */
  get reserved(): Pool {
    this.reservedPool ??= createPool(this.service, 'reserved', { max: RESERVED_POOL_SIZE });
    return this.reservedPool;
  }

  /** A dedicated connection, as the service's role. `settings` are fixed as long as it is open. */
  async connect(purpose: string, settings: Record<string, string> = {}): Promise<Client> {
    const options = { ...serviceOptions(this.service), ...settings };
    return connected(withOptions(this.service.target, purpose, options));
  }

  /** Reads on the primary, with one connection. */
  read<Result>(read: (client: ClientBase, currentMs: number) => Promise<Result>): Promise<Result> {
    return withConnection(this.pool, (client) => read(client, this.clock.nowMs()));
  }

  /**
   * Reads on the standby, if there is one that may be used, and otherwise on the primary: for what need not be current. Everything
   * that was stored by `currentMs` is read. If the standby fails meanwhile, it is read once more, on the primary; so it is if the
   * standby does not have what the read needs.
   */
  async readLagging<Result>(
    read: (client: ClientBase, currentMs: number) => Promise<Result>,
    hasAll: (client: ClientBase) => Promise<boolean> = async () => true,
  ): Promise<Result> {
    const found = await this.standby?.read(read, hasAll);
    return found ? found.result : this.read(read);
  }

  /** For reading much: a dedicated connection, to a standby that has everything that is stored now, or to the primary. */
  async connectToRead(purpose: string): Promise<Client> {
    return (await this.standby?.connect()) ?? this.connect(purpose);
  }

  /** For work on the schema (partitions, rebuilds): a connection with the login's own privileges. */
  async connectAsOwner(purpose: string): Promise<Client> {
    return connected(withOptions(this.target, purpose, { search_path: 'cc' }));
  }

  /** TypeORM reads the projections that the command line and the API show. The hot path does not use it. */
  async repository<Row extends ObjectLiteral>(entity: EntityTarget<Row>) {
    this.readModels ??= this.openReadModels().catch((error: unknown) => {
      // The database may be restarting: the next call tries again.
      this.readModels = undefined;
      throw error;
    });
    return (await this.readModels).getRepository(entity);
  }

  /** Registers every entity that is imported by now, so that one data source serves all of them. */
  private async openReadModels(): Promise<DataSource> {
    const { DataSource, getMetadataArgsStorage } = await loadTypeorm();
    const target = typeormTarget(this.service.target, 'read-models', serviceOptions(this.service));
    return new DataSource({
      ...target,
      extra: { ...target.extra, ...poolLimits(this.service) },
      entities: getMetadataArgsStorage().tables.map(({ target }) => target),
      poolSize: 2,
    }).initialize();
  }

  /** Compares the clock with the database now, as when the database refused an append by its time. */
  async sampleClock(): Promise<void> {
    this.clock.observe(await readClock(this.pool));
  }

  private sampleQuietly(): void {
    this.sampling ??= this.sampleClock()
      // The database is unreachable: the clock runs on by this process's monotonic clock.
      .catch(() => {})
      .finally(() => {
        this.sampling = undefined;
      });
  }

  async close(): Promise<void> {
    this.sampler.stop();
    await this.readModels?.then((source) => source.destroy()).catch(() => {});
    await this.reservedPool?.end();
    await this.standby?.close();
    await this.pool.end();
    await this.embedded?.release();
  }
}

function embeddedTarget({ host, port, user, database }: EmbeddedServer): PrimaryClientConfig {
  // Everything is given, so that PGPORT or PGSSLMODE in the environment cannot lead to another server.
  return { host, port, user, database, ssl: false, hosts: new DatabaseHosts([{ host, port }]) };
}

function urlTarget(databaseUrl: string, onMessage: (line: string) => void): PrimaryClientConfig {
  const { url, hosts } = splitHosts(databaseUrl);
  return { connectionString: url, hosts: new DatabaseHosts(hosts, onMessage) };
}

/** How the service connects: as a login of its own where the server allows it, otherwise as the owner of the schema. */
interface ServiceAccess {
  readonly target: PrimaryClientConfig;
  readonly hasRole: boolean;
  readonly connectWithinMs: number;
}

interface OpenedPool {
  readonly pool: Pool;
  readonly clock: DatabaseClock;
  readonly service: ServiceAccess;
}

async function openPool(target: PrimaryClientConfig, options: PostgresOptions): Promise<OpenedPool> {
  const { onMessage, waitMs = 0, connectWithinMs = CONNECT_WITHIN_MS } = options;
  const owner = await connectedWithin(waitMs, withOptions(target, 'migrations', {}), onMessage);
  try {
    const hasRole = await prepareDatabase(owner, target);
    const service = {
      target: (hasRole && (await findServiceTarget(owner, target))) || target,
      hasRole,
      connectWithinMs,
    };
    // Always one connection: it shows that this instance runs, to an embedded server and to the upgrade of a later version.
    const pool = createPool(service, 'service', { max: POOL_SIZE, min: 1 });
    // Connected before `owner` releases the migration lock: otherwise a later version could upgrade in between, unaware.
    const clock = await endingOnError(pool, openClock(pool));
    return { pool, clock, service };
  } finally {
    await owner.end();
  }
}

/** With the login of its own URL: a standby has the same logins. */
function openStandby(
  primary: Pool,
  clock: DatabaseClock,
  service: ServiceAccess,
  { standby, onMessage }: PostgresOptions,
): Standby | undefined {
  if (!standby) return undefined;
  const settings = { ...serviceOptions(service), default_transaction_read_only: 'on' };
  const config = {
    connectionString: standby.url,
    application_name: applicationName('standby'),
    options: startOptions(settings),
  };
  return new Standby({ config, connections: POOL_SIZE, maxLagMs: standby.maxLagMs, primary, clock, onMessage });
}

function createPool(
  service: ServiceAccess,
  purpose: string,
  size: { readonly max: number; readonly min?: number },
): Pool {
  const options = withOptions(service.target, purpose, serviceOptions(service));
  const pool = new Pool({ ...options, ...size, ...poolLimits(service), Client: PrimaryClient as never });
  // The pool replaces an idle connection that the server closed at the next query.
  pool.on('error', () => {});
  return pool;
}

function poolLimits({ connectWithinMs }: ServiceAccess) {
  return { ...LIMITS, connectionTimeoutMillis: connectWithinMs };
}

async function openClock(pool: Pool): Promise<DatabaseClock> {
  // By its seal: an event that was copied from another log has the time that it had there.
  const { rows } = await pool.query<{ time: Date | null }>(
    `SELECT coalesce((SELECT time FROM seals ORDER BY last DESC LIMIT 1),
                     (SELECT time FROM events ORDER BY position DESC LIMIT 1)) AS time`,
  );
  return new DatabaseClock(await readClock(pool), rows[0]?.time?.getTime());
}

/** What starts while the database's clock is wrong for a moment must not judge anything by it. */
async function untilTrusted(clock: DatabaseClock, pool: Pool, onMessage: (line: string) => void): Promise<void> {
  if (!clock.refusal()) return;
  const difference = describeDifference(clock.differenceMs());
  onMessage(
    `Waiting: ${difference}. If it stays so for ${formatDuration(DISTRUST_MS)}, the database's clock is taken for the right one. Correct the clock that is wrong.`,
  );
  while (clock.refusal()) {
    await sleep(SAMPLE_CLOCK_EVERY_MS);
    clock.observe(await readClock(pool));
  }
}

function endingOnError<Result>(pool: Pool, step: Promise<Result>): Promise<Result> {
  return step.catch(async (error: unknown) => {
    await pool.end();
    throw error;
  });
}

function readClock(pool: Pool): Promise<ClockSample> {
  // Connected before the first time is taken: waiting for a connection would blur the sample.
  return withConnection(pool, async (client) => {
    const requestedMs = performance.now();
    const { rows } = await client.query<{ now: number }>({
      name: 'read-clock',
      text: 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now',
      query_timeout: SAMPLE_CLOCK_TIMEOUT_MS,
    });
    return { requestedMs, databaseMs: (rows[0] as { now: number }).now, answeredMs: performance.now() };
  });
}

/** Refuses an unsafe server, brings the schema up to date, and returns whether the service's role can be used. */
async function prepareDatabase(owner: Client, target: PrimaryClientConfig): Promise<boolean> {
  await refuseUnsafeServer(owner);
  const hasChanged = await migrateSchema(owner, {
    ...typeormTarget(target, 'migrations', {}),
    schema: 'cc',
    poolSize: 1,
  });
  // An operator may have created the role since the last start: it then still lacks its privileges.
  if (hasChanged || !(await canUseServiceRole(owner))) await grantServiceRole(owner);
  return canUseServiceRole(owner);
}

/** Undefined if the service cannot have a login of its own, or the server or a pooler does not accept it. */
async function findServiceTarget(owner: Client, target: PrimaryClientConfig): Promise<PrimaryClientConfig | undefined> {
  const login = await ensureServiceLogin(owner);
  if (!login) return undefined;
  const own = asLogin(target, login);
  const isUsable = async () => {
    const client = await connected(withOptions(own, 'login', { role: SERVICE_ROLE }));
    const { rows } = await client.query<{ login: string }>('SELECT session_user AS login');
    await client.end();
    return rows[0]?.login === login.role;
  };
  const isRefused = async () => !(await isUsable().catch(() => false));
  if (await isRefused()) {
    await resetServiceLogin(owner, login);
    if (await isRefused()) return undefined;
  }
  return own;
}

/** A URL may name a socket folder instead of a host, which `URL` cannot parse. */
function asLogin(target: PrimaryClientConfig, { role, password }: ServiceLogin): PrimaryClientConfig {
  if (!target.connectionString) return { ...target, user: role, password };
  const connectionString = target.connectionString.replace(
    /^(postgres(?:ql)?:\/\/)(?:[^@/?]*@)?/,
    `$1${role}:${password}@`,
  );
  return { ...target, connectionString };
}

/** Loaded on first use: loading it takes longer than most commands of the command line take to run. */
function loadTypeorm() {
  return import('typeorm');
}

/** A server that refuses connections may be restarting; a wrong password or host name fails at once. */
async function connectedWithin(
  waitMs: number,
  config: PrimaryClientConfig,
  onMessage: (line: string) => void,
): Promise<Client> {
  const endMs = performance.now() + waitMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await connected(config);
    } catch (error) {
      if (performance.now() >= endMs || !isRestarting((error as Error).cause)) throw error;
      if (tries === 1) onMessage(`${messageOf(error)} Trying again for ${formatDuration(waitMs)}.`);
      await sleep(RECONNECT_EVERY_MS);
    }
  }
}

/** 57P03: the server starts up or shuts down. Errors without a code: it closed the connection, or did not answer in time. */
function isRestarting(cause: unknown): boolean {
  const { code } = (cause ?? {}) as { code?: string };
  return code === undefined || /^(57P03|ECONNREFUSED|ECONNRESET|ENOENT)$/.test(code);
}

async function connected(config: PrimaryClientConfig): Promise<Client> {
  const client = new PrimaryClient({ ...config, connectionTimeoutMillis: CONNECT_WITHIN_MS });
  try {
    await client.connect();
  } catch (error) {
    throw new UserError(
      `PostgreSQL cannot be reached: ${messageOf(error)}. Check DATABASE_URL and that the server runs.`,
      { cause: error },
    );
  }
  return client;
}

function serviceOptions({ hasRole }: ServiceAccess): Record<string, string> {
  return {
    ...(hasRole ? { role: SERVICE_ROLE } : {}),
    search_path: 'cc',
    // To compile a query takes seconds, and plans that must not scan a whole table have costs at which PostgreSQL does so.
    jit: 'off',
    default_transaction_isolation: 'read committed',
    // Bound how long a session waits for a lock, and how long a frozen client can hold one.
    lock_timeout: '5s',
    idle_in_transaction_session_timeout: '10s',
  };
}

/** Start options instead of SET: a RESET, or a pooler's clean-up, cannot undo them. */
function startOptions(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
    .join(' ');
}

function withOptions(
  target: PrimaryClientConfig,
  purpose: string,
  settings: Record<string, string>,
): PrimaryClientConfig {
  return { ...target, application_name: applicationName(purpose), options: startOptions(settings) };
}

function typeormTarget(
  target: PrimaryClientConfig,
  purpose: string,
  settings: Record<string, string>,
): Extract<DataSourceOptions, { type: 'postgres' }> {
  const { application_name, options } = withOptions(target, purpose, settings);
  return {
    type: 'postgres',
    ...(target.connectionString
      ? { url: target.connectionString }
      : {
          host: target.host as string,
          port: target.port as number,
          username: target.user as string,
          ...(target.password ? { password: target.password as string } : {}),
          database: target.database as string,
          ssl: false,
        }),
    synchronize: false,
    logging: false,
    extra: { application_name, options, hosts: target.hosts, Client: PrimaryClient },
  };
}
