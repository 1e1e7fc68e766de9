import { setTimeout as sleep } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { messageOf, UserError } from '../kernel/errors.js';
import { type Cluster, prepareCluster } from './cluster.js';
import {
  findPostmaster,
  notedSocketDir,
  PORT,
  quoteLog,
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
  /** Says that this process needs the server no more; the last one to say so stops it. End your own pools first. */
  release(): Promise<void>;
}

/** pg has these two methods, its types do not. */
type Holder = Client & { ref(): void; unref(): void };

const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 20;
const SAY_AFTER_MS = 3_000;
const RESTART_PAUSE_MS = 250;
const REVIVE_PAUSE_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;
const STOP_TIMEOUT_MS = 10_000;

/**
 * Every process that uses the server holds this lock, shared, on a connection of its own; who wants to stop the server
 * must get it alone. So nobody's server is stopped while it is being adopted, and a killed process lets go by itself.
 */
export const IN_USE_LOCK = [0x6363, 0x7067];

/** Starts the server of `dataDir`, or shares the one that runs already. */
export async function acquireEmbeddedServer(options: {
  dataDir: string;
  say: (line: string) => void;
}): Promise<EmbeddedServer> {
  if (process.platform === 'win32') {
    throw new UserError(
      'There is no embedded PostgreSQL for Windows. Set DATABASE_URL to a PostgreSQL server of your own.',
    );
  }
  const cluster = await prepareCluster(options);
  if (wasStartedDifferently(cluster)) await stopIfUnused(cluster, options.say);
  let left: Promise<void> | undefined;
  let holder: Holder;
  const hold = async () => {
    holder = await holdServer(cluster, options.say);
    // A process that fails before it can release the server shall still come to its end.
    holder.unref();
    // Nobody stops a server that we hold, so when it goes it has crashed: whoever notices starts it again.
    holder.once('end', () => left ?? void revive());
  };
  const revive = async (): Promise<void> => {
    options.say('PostgreSQL has ended unexpectedly; starting it again.');
    while (!left) {
      try {
        return await hold();
      } catch (error) {
        options.say(messageOf(error));
        await sleep(REVIVE_PAUSE_MS, undefined, { ref: false });
      }
    }
  };
  const leave = async () => {
    holder.ref();
    await holder.end();
    await stopIfUnused(cluster, options.say);
  };
  await hold();
  return {
    host: cluster.socketDir,
    port: PORT,
    user: 'postgres',
    database: 'postgres',
    release: () => {
      left ??= leave();
      return left;
    },
  };
}

/** Connects to the cluster's server and marks it as in use; starts it where none runs. */
export async function holdServer(cluster: Cluster, say: (line: string) => void): Promise<Holder> {
  const beganMs = performance.now();
  let attempt: ReturnType<typeof startPostmaster> | undefined;
  let hasSaid = false;
  for (;;) {
    const { holder, isAnswering, reason } = await tryToHold(cluster.folder);
    if (holder) return holder;

    if (!isAnswering && findPostmaster(cluster.folder) === undefined) {
      if (attempt?.ended) await pauseOrGiveUp(cluster, attempt.logOffsetBytes);
      if (!attempt || attempt.ended) attempt = startPostmaster(cluster);
    }

    const waitedMs = performance.now() - beganMs;
    if (waitedMs > READY_TIMEOUT_MS) {
      throw new UserError(
        `PostgreSQL was not ready within ${READY_TIMEOUT_MS / 1000} s: ${reason}. It goes on by itself, so try again ` +
          `in a while. ${quoteLog(cluster)}`,
      );
    }
    if (waitedMs > SAY_AFTER_MS && !hasSaid) {
      say(`Still waiting for PostgreSQL: ${reason}. What it does is in ${cluster.logFile}`);
      hasSaid = true;
    }
    await sleep(READY_POLL_MS);
  }
}

interface HoldResult {
  holder?: Holder;
  isAnswering: boolean;
  reason: string;
}

async function tryToHold(folder: string): Promise<HoldResult> {
  const socketDir = notedSocketDir(folder);
  if (!socketDir) return { isAnswering: false, reason: 'it is starting' };
  try {
    const holder = (await connect(socketDir, 'cc-holding')) as Holder;
    const { rows } = await holder.query('SELECT pg_try_advisory_lock_shared($1, $2) AS held', IN_USE_LOCK);
    if (rows[0].held) return { holder, isAnswering: true, reason: 'ready' };
    await holder.end();
    return { isAnswering: true, reason: 'another process is stopping it' };
  } catch (error) {
    // An error in PostgreSQL's own words means that it lives, even where its process number is not ours to see.
    return { isAnswering: error instanceof DatabaseError, reason: messageOf(error) };
  }
}

/** Sessions of a killed server may outlive it for a moment, and another process may be starting one: both pass. */
async function pauseOrGiveUp(cluster: Cluster, logOffsetBytes: number): Promise<void> {
  const quoted = quoteLog(cluster, logOffsetBytes);
  if (!/is still in use|already exists/.test(quoted)) throw new UserError(`PostgreSQL did not start. ${quoted}`);
  await sleep(RESTART_PAUSE_MS);
}

/** Last one out turns off the light. */
async function stopIfUnused(cluster: Cluster, say: (line: string) => void): Promise<void> {
  const pid = findPostmaster(cluster.folder);
  const socketDir = notedSocketDir(cluster.folder);
  if (pid === undefined || !socketDir) return;
  // A server that takes no connections is stopping already, or starting for somebody else.
  const leaving = await connect(socketDir, 'cc-leaving').catch(() => undefined);
  if (!leaving) return;

  // A session that breaks here was ended by another process that stops the server: nothing is left to do.
  const isUnused = await lockUnused(leaving).catch(() => false);
  if (isUnused && !(await stopPostmaster(cluster.folder, pid, STOP_TIMEOUT_MS))) {
    say('PostgreSQL is still writing to disk; it stops by itself when it is done.');
  }
  await leaving.end();
}

/** Besides processes of ours, somebody may be looking at the data with a tool of their own. */
async function lockUnused(leaving: Client): Promise<boolean> {
  const { rows } = await leaving.query(
    `SELECT pg_try_advisory_lock($1, $2) AND NOT EXISTS (
       SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'cc-leaving'
     ) AS "isUnused"`,
    IN_USE_LOCK,
  );
  return rows[0].isUnused;
}

async function connect(socketDir: string, applicationName: string): Promise<Client> {
  const client = new Client({
    host: socketDir,
    port: PORT,
    user: 'postgres',
    database: 'postgres',
    ssl: false,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // When the server stops it ends our sessions, which is no reason to end this process.
  client.on('error', () => {});
  await client.connect();
  return client;
}
