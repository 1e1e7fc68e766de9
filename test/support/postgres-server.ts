import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type Cluster, prepareCluster, SERVER_ENV } from '../../src/postgres/cluster.js';
import { holdServer } from '../../src/postgres/embedded-server.js';
import { binariesIn, findBinaries } from '../../src/postgres/postgres-binaries.js';
import { findPostmaster, stopPostmaster } from '../../src/postgres/postmaster.js';
import { temporaryFolder } from './folders.js';

export interface TestServerOptions {
  /** Folder of PostgreSQL's programs; by default those of the npm package. */
  binDir?: string;
  /** Uses Debian's PostgreSQL of this version; by default the one that the run is on. Check `hasDebianPostgres` first. */
  major?: number;
  /** Uses the embedded PostgreSQL, whatever the run is on. */
  embedded?: true;
  /** Added to the settings of the embedded server, or overriding them, such as `{ fsync: 'off' }`. */
  settings?: Record<string, string>;
  /** Added to the environment of the server. */
  environment?: Record<string, string>;
}

export interface TestServer {
  /** Folder of the unix socket. */
  readonly host: string;
  readonly pid: number;
  /** For pg's `connectionString` and TypeORM's `url`; TypeORM requires the scheme `postgres`. */
  url(database?: string): string;
  /** Simulates a crash: committed data stays. `restart` starts it again. */
  kill9(): Promise<void>;
  restart(): Promise<void>;
  /** Keeps the data as it is now. What is returned restores it: the server then continues on a new timeline, as after a failover. */
  backUp(): Promise<() => Promise<void>>;
  /** A hot standby that replicates from this server, asynchronously. Stop it before this server. */
  addStandby(): Promise<TestStandby>;
  /** Freezes all processes of the server: connections stay open, and the kernel even accepts new ones. */
  freeze(): void;
  thaw(): void;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

export interface TestStandby {
  /** Folder of the unix socket. */
  readonly host: string;
  url(database?: string): string;
  /** Makes it a primary, on a timeline of its own. */
  promote(): Promise<void>;
  /** Stops the replay: the standby receives what the primary stores, and does not show it. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
  /** After `stop`. */
  restart(): Promise<void>;
}

const STOP_TIMEOUT_MS = 10_000;

/** Version of Debian's PostgreSQL that the run is on; undefined if it is on the embedded one (test/run.mjs). */
export const MAJOR_UNDER_TEST = process.env['CC_TEST_POSTGRES_MAJOR']
  ? Number(process.env['CC_TEST_POSTGRES_MAJOR'])
  : undefined;

export function hasDebianPostgres(major: number): boolean {
  return existsSync(debianBinDir(major));
}

/** Starts a PostgreSQL server with its own data folder. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { binDir, embedded, major = embedded ? undefined : MAJOR_UNDER_TEST, settings } = options;
  const dataDir = temporaryFolder('cc-test-');
  const dir = binDir ?? (major === undefined ? undefined : debianBinDir(major));
  const prepared = await withEnvironment(options.environment, () =>
    prepareCluster({
      dataDir,
      onMessage: () => {},
      find: (user, onMessage) => (dir === undefined ? findBinaries(user, onMessage) : binariesIn(dir, user)),
    }),
  );
  const cluster = { ...prepared, settings: { ...prepared.settings, ...settings } };

  const start = () => withEnvironment(options.environment, () => startHeld(cluster));
  const stop = () => stopCluster(cluster);
  await start();
  return {
    host: cluster.socketDir,
    get pid() {
      return findPostmaster(cluster.folder) ?? 0;
    },
    url: (database) => urlOf(cluster, database),
    addStandby: async () => {
      await stop();
      const standby = copyAsStandby(cluster, dataDir);
      await start();
      await startHeld(standby);
      const run = async (statement: string) => {
        const client = new Client({ connectionString: urlOf(standby) });
        await client.connect();
        const { rows } = await client.query(statement);
        await client.end();
        return rows;
      };
      return {
        host: standby.socketDir,
        url: (database) => urlOf(standby, database),
        promote: async () => {
          // Without waiting in the statement: its snapshot can conflict with what is still to be replayed.
          await run('SELECT pg_promote(wait => false)');
          while ((await run('SELECT pg_is_in_recovery() AS replays'))[0].replays) await sleep(20);
        },
        pause: async () => {
          await run('SELECT pg_wal_replay_pause()');
          // It is requested first, and then waits for the next record.
          await run(
            `DO $$ BEGIN WHILE pg_get_wal_replay_pause_state() <> 'paused' LOOP PERFORM pg_sleep(0.01); END LOOP; END $$`,
          );
        },
        resume: async () => {
          await run('SELECT pg_wal_replay_resume()');
        },
        freeze: () => signalAll(findPostmaster(standby.folder), 'SIGSTOP'),
        thaw: () => signalAll(findPostmaster(standby.folder), 'SIGCONT'),
        stop: () => stopCluster(standby),
        restart: () => startHeld(standby),
      };
    },
    freeze: () => signalAll(findPostmaster(cluster.folder), 'SIGSTOP'),
    thaw: () => signalAll(findPostmaster(cluster.folder), 'SIGCONT'),
    kill9: async () => {
      const pid = findPostmaster(cluster.folder);
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
      while (findPostmaster(cluster.folder) !== undefined) await sleep(5);
    },
    restart: async () => {
      await stop();
      await start();
    },
    backUp: async () => {
      const backup = join(dataDir, 'backup');
      await stop();
      execFileSync('cp', ['-a', cluster.folder, backup]);
      await start();
      return async () => {
        await stop();
        rmSync(cluster.folder, { recursive: true, force: true });
        renameSync(backup, cluster.folder);
        // Recovery that finds no more WAL ends with a promotion.
        appendFileSync(join(cluster.folder, 'postgresql.auto.conf'), `restore_command = 'false'\n`);
        execFileSync('cp', ['-a', join(cluster.folder, 'PG_VERSION'), join(cluster.folder, 'recovery.signal')]);
        await start();
      };
    },
    stop: async () => {
      await stop();
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function withEnvironment<Result>(
  environment: Record<string, string> = {},
  work: () => Promise<Result>,
): Promise<Result> {
  const before = { ...SERVER_ENV };
  Object.assign(SERVER_ENV, environment);
  try {
    return await work();
  } finally {
    for (const name of Object.keys(environment)) delete (SERVER_ENV as Record<string, string>)[name];
    Object.assign(SERVER_ENV, before);
  }
}

export async function startHeld(cluster: Cluster): Promise<void> {
  const holder = await holdServer(cluster, () => {});
  await holder.end();
}

export async function stopCluster({ folder }: Cluster): Promise<void> {
  const pid = findPostmaster(folder);
  if (pid !== undefined) await stopPostmaster(folder, pid, STOP_TIMEOUT_MS);
}

export function urlOf({ socketDir }: Pick<Cluster, 'socketDir'>, database = 'postgres'): string {
  return `postgres://postgres@/${database}?host=${encodeURIComponent(socketDir)}`;
}

function copyAsStandby(primary: Cluster, dataDir: string): Cluster {
  const [folder, socketDir] = [join(dataDir, 'standby'), join(dataDir, 's')];
  execFileSync('cp', ['-a', primary.folder, folder]);
  // As the owner of the other one.
  execFileSync('cp', ['-a', primary.socketDir, socketDir]);
  appendFileSync(
    join(folder, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=${primary.socketDir} user=postgres dbname=postgres'\n`,
  );
  execFileSync('cp', ['-a', join(folder, 'PG_VERSION'), join(folder, 'standby.signal')]);
  return { ...primary, folder, socketDir, logFile: join(dataDir, 'standby.log') };
}

/** The postmaster and its children. */
function signalAll(postmaster: number | undefined, signal: NodeJS.Signals): void {
  if (postmaster === undefined) return;
  // The command, in parentheses, may contain blanks; the state and the parent's id follow it.
  const parentOf = (pid: string) => Number(/^.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  process.kill(postmaster, signal);
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (parentOf(pid) === postmaster) process.kill(Number(pid), signal);
    } catch {
      // It has exited.
    }
  }
}

function debianBinDir(major: number): string {
  return `/usr/lib/postgresql/${major}/bin`;
}
