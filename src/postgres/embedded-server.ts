import { setTimeout as sleep } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { messageOf, UserError } from '../kernel/errors.js';
import { type Cluster, PORT, prepareCluster } from './cluster.js';
import { applicationName, LEAVING } from './instances.js';
import {
  findPostmaster,
  quoteLog,
  recordedSocketDir,
  startPostmaster,
  stopPostmaster,
  wasStartedDifferently,
} from './postmaster.js';

export interface EmbeddedServer {
  /** Folder of the unix socket. */
  host: string;
  port: number;
  user: 'postgres';
  database: 'postgres';
  /** Ends this process's use of the server; the last process to release it stops it. End your own pools first. */
  release(): Promise<void>;
}

/** pg has these two methods; its types lack them. */
type Holder = Client & { ref(): void; unref(): void };

const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 20;
const REPORT_AFTER_MS = 3_000;
const RESTART_PAUSE_MS = 250;
const RESTART_RETRY_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;
const STOP_TIMEOUT_MS = 10_000;

/**
 * Every process that uses the server holds this advisory lock in shared mode on a dedicated connection; stopping the server
 * needs it in exclusive mode. So a server is never stopped while a process connects to it, and a killed process releases it.
 */
export const IN_USE_LOCK = [0x6363, 0x7067];

/** Held in exclusive mode, on the same connection, by the one service of a data folder. The command line does not hold it. */
const OWNER_LOCK = [0x6363, 0x6f77];
/** PostgreSQL takes a moment to notice that a killed service is gone. */
const OWNER_TIMEOUT_MS = 5_000;
const LOCK_NOT_AVAILABLE = '55P03';

/** Starts the server of `dataDir`, or shares the one that is already running. */
export async function acquireEmbeddedServer(options: {
  dataDir: string;
  onMessage: (line: string) => void;
  /** Refuses a folder that another service owns. */
  ownsDataDir?: boolean;
}): Promise<EmbeddedServer> {
  if (process.platform === 'win32') {
    throw new UserError(
      'There is no embedded PostgreSQL for Windows. Set DATABASE_URL to a PostgreSQL server of your own.',
    );
  }
  const cluster = await prepareCluster(options);
  if (wasStartedDifferently(cluster)) await stopIfUnused(cluster, options.onMessage);
  let released: Promise<void> | undefined;
  let holder: Holder;
  const hold = async () => {
    holder = await holdServer(cluster, options.onMessage);
    if (options.ownsDataDir) await takeOwnership(holder, options.dataDir);
    // The connection must not keep a process alive that fails before it releases the server.
    holder.unref();
    // No process stops a server that is held, so a lost connection means a crash: start the server again.
    holder.once('end', () => released ?? void restart());
  };
  const restart = async (): Promise<void> => {
    options.onMessage('PostgreSQL ended unexpectedly; restarting it.');
    while (!released) {
      try {
        return await hold();
      } catch (error) {
        options.onMessage(messageOf(error));
        await sleep(RESTART_RETRY_MS, undefined, { ref: false });
      }
    }
  };
  const release = async () => {
    holder.ref();
    await holder.end();
    await stopIfUnused(cluster, options.onMessage);
  };
  await hold();
  return {
    host: cluster.socketDir,
    port: PORT,
    user: 'postgres',
    database: 'postgres',
    release: () => {
      released ??= release();
      return released;
    },
  };
}

async function takeOwnership(holder: Holder, dataDir: string): Promise<void> {
  try {
    await holder.query(`SET lock_timeout = ${OWNER_TIMEOUT_MS}`);
    await holder.query('SELECT pg_advisory_lock($1, $2)', OWNER_LOCK);
  } catch (error) {
    await holder.end();
    if ((error as DatabaseError).code !== LOCK_NOT_AVAILABLE) throw error;
    throw new UserError(
      `Another service runs on the data folder ${dataDir}. Stop it, or choose another folder with DATA_DIR. ` +
        'For several instances set DATABASE_URL to a PostgreSQL server. Nothing was changed.',
    );
  }
}

/** Connects to the cluster's server and holds the in-use lock; starts the server if none is running. */
export async function holdServer(cluster: Cluster, onMessage: (line: string) => void): Promise<Holder> {
  const startedMs = performance.now();
  let attempt: ReturnType<typeof startPostmaster> | undefined;
  let hasReported = false;
  for (;;) {
    const { holder, isAnswering, reason } = await attemptHold(cluster.folder);
    if (holder) return holder;

    if (!isAnswering && findPostmaster(cluster.folder) === undefined) {
      if (attempt?.ended) await pauseOrGiveUp(cluster, attempt.logOffsetBytes);
      if (!attempt || attempt.ended) attempt = startPostmaster(cluster);
    }

    const waitedMs = performance.now() - startedMs;
    if (waitedMs > READY_TIMEOUT_MS) {
      throw new UserError(
        `PostgreSQL was not ready within ${READY_TIMEOUT_MS / 1000} s: ${reason}. It continues in the background: start ` +
          `again in a minute. ${quoteLog(cluster)}`,
      );
    }
    if (waitedMs > REPORT_AFTER_MS && !hasReported) {
      onMessage(`Still waiting for PostgreSQL: ${reason}. Its log is ${cluster.logFile}`);
      hasReported = true;
    }
    await sleep(READY_POLL_MS);
  }
}

interface HoldResult {
  holder?: Holder;
  isAnswering: boolean;
  reason: string;
}

async function attemptHold(folder: string): Promise<HoldResult> {
  const socketDir = recordedSocketDir(folder);
  if (!socketDir) return { isAnswering: false, reason: 'it is starting' };
  try {
    const holder = (await connect(socketDir, applicationName('holding'))) as Holder;
    const { rows } = await holder.query('SELECT pg_try_advisory_lock_shared($1, $2) AS held', IN_USE_LOCK);
    if (rows[0].held) return { holder, isAnswering: true, reason: 'ready' };
    await holder.end();
    return { isAnswering: true, reason: 'another process is stopping it' };
  } catch (error) {
    // An error reported by PostgreSQL means that it is running, even if its process id is not visible here.
    return { isAnswering: error instanceof DatabaseError, reason: messageOf(error) };
  }
}

/** Sessions of a killed server may briefly outlive it, and another process may be starting one: both are transient. */
async function pauseOrGiveUp(cluster: Cluster, logOffsetBytes: number): Promise<void> {
  const quoted = quoteLog(cluster, logOffsetBytes);
  if (!/is still in use|already exists/.test(quoted)) throw new UserError(`PostgreSQL did not start. ${quoted}`);
  await sleep(RESTART_PAUSE_MS);
}

async function stopIfUnused(cluster: Cluster, onMessage: (line: string) => void): Promise<void> {
  const pid = findPostmaster(cluster.folder);
  const socketDir = recordedSocketDir(cluster.folder);
  if (pid === undefined || !socketDir) return;
  // A server that refuses connections is already stopping, or starting for another process.
  const leaving = await connect(socketDir, LEAVING).catch(() => undefined);
  if (!leaving) return;

  // A session that breaks here was ended by another process that stops the server.
  const isUnused = await lockUnused(leaving).catch(() => false);
  if (isUnused && !(await stopPostmaster(cluster.folder, pid, STOP_TIMEOUT_MS))) {
    onMessage('PostgreSQL is still writing to disk and stops when it is done.');
  }
  await leaving.end();
}

/** Other programs, such as psql, may be connected besides the processes that hold the lock. */
async function lockUnused(leaving: Client): Promise<boolean> {
  const { rows } = await leaving.query(
    `SELECT pg_try_advisory_lock($1, $2) AND NOT EXISTS (
       SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> $3
     ) AS "isUnused"`,
    [...IN_USE_LOCK, LEAVING],
  );
  return rows[0].isUnused;
}

async function connect(socketDir: string, name: string): Promise<Client> {
  const client = new Client({
    host: socketDir,
    port: PORT,
    user: 'postgres',
    database: 'postgres',
    ssl: false,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A stopping server ends its sessions; without a listener that would end this process.
  client.on('error', () => {});
  await client.connect();
  return client;
}
