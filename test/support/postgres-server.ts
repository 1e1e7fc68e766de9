import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareCluster } from '../../src/postgres/cluster.js';
import { holdServer } from '../../src/postgres/embedded-server.js';
import { binariesIn, findBinaries } from '../../src/postgres/postgres-binaries.js';
import { findPostmaster, SERVER_ENV, stopPostmaster } from '../../src/postgres/postmaster.js';

export interface TestServerOptions {
  /** Folder of PostgreSQL's programs; by default those of the npm package. */
  binDir?: string;
  /** Uses Debian's PostgreSQL of this version. Check `hasDebianPostgres` first. */
  major?: number;
  /** Added to the settings of the embedded server, or overriding them, such as `{ fsync: 'off' }`. */
  settings?: Record<string, string>;
  /** Added to the environment of the servers that this test file starts from now on. */
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
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

const STOP_TIMEOUT_MS = 10_000;

export function hasDebianPostgres(major: number): boolean {
  return existsSync(debianBinDir(major));
}

/** Starts a PostgreSQL server with its own data folder. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { binDir, major, settings } = options;
  Object.assign(SERVER_ENV, options.environment);
  const dataDir = mkdtempSync(join(tmpdir(), 'cc-test-'));
  // If the test runs as root, another user runs the server and must be able to enter the folder.
  chmodSync(dataDir, 0o755);
  const dir = binDir ?? (major === undefined ? undefined : debianBinDir(major));
  const prepared = await prepareCluster({
    dataDir,
    onMessage: () => {},
    find: (user, onMessage) => (dir === undefined ? findBinaries(user, onMessage) : binariesIn(dir, user)),
  });
  const cluster = { ...prepared, settings: { ...prepared.settings, ...settings } };

  const start = async () => {
    const holder = await holdServer(cluster, () => {});
    await holder.end();
  };
  const stop = async () => {
    const pid = findPostmaster(cluster.folder);
    if (pid !== undefined) await stopPostmaster(cluster.folder, pid, STOP_TIMEOUT_MS);
  };
  await start();
  return {
    host: cluster.socketDir,
    get pid() {
      return findPostmaster(cluster.folder) ?? 0;
    },
    url: (database = 'postgres') => `postgres://postgres@/${database}?host=${encodeURIComponent(cluster.socketDir)}`,
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

function debianBinDir(major: number): string {
  return `/usr/lib/postgresql/${major}/bin`;
}
