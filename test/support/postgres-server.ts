import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareCluster } from '../../src/postgres/cluster.js';
import { holdServer } from '../../src/postgres/embedded-server.js';
import { binariesIn, findBinaries } from '../../src/postgres/postgres-binaries.js';
import { findPostmaster, stopPostmaster } from '../../src/postgres/postmaster.js';

export interface TestServerOptions {
  /** Where PostgreSQL's programs are; by default those that come with the product. */
  binDir?: string;
  /** Debian's PostgreSQL of this version. Ask `hasDebianPostgres` first. */
  major?: number;
  /** Beside the settings of the embedded server, or instead of them, such as `{ fsync: 'off' }`. */
  settings?: Record<string, string>;
}

export interface TestServer {
  /** Folder of the unix socket. */
  readonly host: string;
  readonly pid: number;
  /** For pg's `connectionString` and for TypeORM's `url` alike; TypeORM insists on the scheme being `postgres`. */
  url(database?: string): string;
  /** As in a crash, what was committed stays. `restart` brings it back. */
  kill9(): Promise<void>;
  restart(): Promise<void>;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

const STOP_TIMEOUT_MS = 10_000;

export function hasDebianPostgres(major: number): boolean {
  return existsSync(debianBinDir(major));
}

/** A server of its own in a folder of its own, for tests that need more than a database. */
export async function startTestServer({ binDir, major, settings }: TestServerOptions = {}): Promise<TestServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'cc-test-'));
  // As root, we let another user run the server, and it must get to its data.
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
    stop: async () => {
      await stop();
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function debianBinDir(major: number): string {
  return `/usr/lib/postgresql/${major}/bin`;
}
