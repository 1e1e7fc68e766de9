import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cluster, PORT, SERVER_ENV } from './cluster.js';

const PID_FILE = 'postmaster.pid';
const LOG_BYTES_MAX = 10 * 1024 * 1024;
const LOG_LINES_QUOTED_MAX = 8;
const LOG_BYTES_QUOTED_MAX = 4096;

/** A spawned postmaster. `ended` if another process started the server first, or if it could not start. */
interface StartAttempt {
  ended: boolean;
  logOffsetBytes: number;
}

export function startPostmaster(cluster: Cluster): StartAttempt {
  removeStaleLocks(cluster);
  const log = openLog(cluster);
  const attempt: StartAttempt = { ended: false, logOffsetBytes: fstatSync(log).size };
  const [program, ...args] = commandLine(cluster);
  // Detached, so that Ctrl-C does not reach the server: the service still stores events before it stops.
  const child = spawn(program, args, {
    cwd: '/',
    env: SERVER_ENV,
    detached: true,
    stdio: ['ignore', log, log],
    ...cluster.user,
  });
  closeSync(log);
  const end = () => {
    attempt.ended = true;
  };
  child.once('error', end).once('exit', end).unref();
  return attempt;
}

/** Whether the server of this folder was started with other programs or settings than the current ones. */
export function wasStartedDifferently(cluster: Cluster): boolean {
  const [program, ...args] = commandLine(cluster);
  const ours = [program, ...args.map((arg) => `"${arg}"`)].join(' ');
  return readIfExists(join(cluster.folder, 'postmaster.opts'))?.trim() !== ours;
}

/** The socket folder in the server's pid file; the server may no longer run. */
export function recordedSocketDir(folder: string): string | undefined {
  return readLock(join(folder, PID_FILE)).socketDir;
}

/** The process id of this folder's server. Ignores zombies and other programs that were given the same id. */
export function findPostmaster(folder: string): number | undefined {
  const { pid } = readLock(join(folder, PID_FILE));
  return isPostmaster(pid, folder) ? pid : undefined;
}

/** Fast shutdown: ends the sessions and writes a last checkpoint. Returns whether the server ended in time. */
export async function stopPostmaster(folder: string, pid: number, timeoutMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + timeoutMs;
  process.kill(pid, 'SIGINT');
  while (isPostmaster(pid, folder)) {
    if (performance.now() > deadlineMs) return false;
    await sleep(10);
  }
  return true;
}

/** The last lines of the log after `offsetBytes`. */
export function quoteLog(cluster: Cluster, offsetBytes = 0): string {
  const log = openSync(cluster.logFile, 'a+');
  const sizeBytes = fstatSync(log).size;
  const tail = Buffer.alloc(Math.min(Math.max(sizeBytes - offsetBytes, 0), LOG_BYTES_QUOTED_MAX));
  readSync(log, tail, 0, tail.length, sizeBytes - tail.length);
  closeSync(log);
  const lines = tail.toString('utf8').trimEnd().split('\n').slice(-LOG_LINES_QUOTED_MAX);
  return [`The last lines of ${cluster.logFile}:`, ...lines].join('\n  ');
}

function commandLine({ binDir, folder, socketDir, settings }: Cluster): [string, ...string[]] {
  // PostgreSQL reads a comma-separated list here; quotes protect a comma in the path.
  const socket = { port: String(PORT), unix_socket_directories: `"${socketDir.replaceAll('"', '""')}"` };
  const flags = Object.entries({ ...settings, ...socket }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return [join(binDir, 'postgres'), '-D', folder, ...flags];
}

function openLog({ logFile, user }: Cluster): number {
  const log = openSync(logFile, 'a', 0o600);
  if (fstatSync(log).size > LOG_BYTES_MAX) ftruncateSync(log);
  if (user.uid !== undefined && user.gid !== undefined) fchownSync(log, user.uid, user.gid);
  return log;
}

/**
 * PostgreSQL considers a killed server running while any process has its id: a zombie, or, likely in a restarted container,
 * another program. If sessions of the killed server are still alive, PostgreSQL detects them by their shared memory and
 * does not start.
 */
function removeStaleLocks({ folder, socketDir }: Cluster): void {
  for (const file of [join(folder, PID_FILE), join(socketDir, `.s.PGSQL.${PORT}.lock`)]) {
    const { pid } = readLock(file);
    if (processExists(pid) && !isPostmaster(pid, folder)) rmSync(file, { force: true });
  }
}

/** Reads either of PostgreSQL's lock files. The process id is 0 if there is none. */
function readLock(file: string): { pid: number; socketDir: string | undefined } {
  const [pid = '0', , , , socketDir] = readIfExists(file)?.split('\n') ?? [];
  // PostgreSQL in single-user mode writes a negative number.
  return { pid: Math.abs(Number.parseInt(pid, 10)) || 0, socketDir };
}

function processExists(pid: number): boolean {
  if (pid === 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function isPostmaster(pid: number, folder: string): boolean {
  try {
    if (process.platform === 'linux') {
      // The server's working directory is its data folder. A zombie has none.
      const isPostgres = readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('postgres');
      return isPostgres && readlinkSync(`/proc/${pid}/cwd`) === folder;
    }
    const command = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
    return command.includes(`postgres -D ${folder} `);
  } catch {
    return false;
  }
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
