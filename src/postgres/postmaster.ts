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
import type { Cluster } from './cluster.js';

/** What the embedded server is started with. Whatever guards the data (fsync and its kin) stays at PostgreSQL's default. */
export const EMBEDDED_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '60',
  shared_buffers: '128MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '30min',
  wal_compression: 'off',
  jit: 'off',
  log_destination: 'stderr',
  logging_collector: 'off',
  log_min_messages: 'warning',
  // Statements and the details of errors carry values, and the log is no place for personal data.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

/** The port only names the socket file: the server does not listen on the network. */
export const PORT = 5432;

/** Nothing of ours is inherited: secrets have no business there, and PGPORT or LANG would change what the server does. */
export const SERVER_ENV = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC' };

const PID_FILE = 'postmaster.pid';
const LOG_BYTES_MAX = 10 * 1024 * 1024;
const LOG_LINES_QUOTED_MAX = 8;
const LOG_BYTES_QUOTED_MAX = 4096;

/** A postmaster we spawned. It `ended` when another process's server was faster, or when it could not start. */
export interface StartAttempt {
  ended: boolean;
  logOffsetBytes: number;
}

export function startPostmaster(cluster: Cluster): StartAttempt {
  removeMisleadingLocks(cluster);
  const log = openLog(cluster);
  const attempt: StartAttempt = { ended: false, logOffsetBytes: fstatSync(log).size };
  const [program, ...args] = commandLine(cluster);
  // Detached, so that Ctrl-C reaches us and not the server: the service still has events to store before it leaves.
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

/** Whether the server of this folder was started with other programs or settings than we would use. */
export function wasStartedDifferently(cluster: Cluster): boolean {
  const [program, ...args] = commandLine(cluster);
  const ours = [program, ...args.map((arg) => `"${arg}"`)].join(' ');
  return readIfThere(join(cluster.folder, 'postmaster.opts'))?.trim() !== ours;
}

/** Where the folder's server said that it listens; it may have died since. */
export function notedSocketDir(folder: string): string | undefined {
  return readLock(join(folder, PID_FILE)).socketDir;
}

/** The process number of this folder's server. A zombie, or a stranger that got the number, does not count. */
export function findPostmaster(folder: string): number | undefined {
  const { pid } = readLock(join(folder, PID_FILE));
  return isPostmaster(pid, folder) ? pid : undefined;
}

/** Ends the server's sessions, lets it write its last checkpoint, and tells whether it was gone in time. */
export async function stopPostmaster(folder: string, pid: number, timeoutMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + timeoutMs;
  process.kill(pid, 'SIGINT');
  while (isPostmaster(pid, folder)) {
    if (performance.now() > deadlineMs) return false;
    await sleep(10);
  }
  return true;
}

/** The last lines of the log, of those after `offsetBytes`. */
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
  // PostgreSQL reads a list of folders here; in quotes, a comma in our path is just a comma.
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
 * PostgreSQL takes a killed server for a running one while any process bears its number: a zombie nobody has collected,
 * or, likely in a restarted container, a stranger. Should sessions of the killed one still live, then PostgreSQL
 * finds that out by their shared memory, and does not start.
 */
function removeMisleadingLocks({ folder, socketDir }: Cluster): void {
  for (const file of [join(folder, PID_FILE), join(socketDir, `.s.PGSQL.${PORT}.lock`)]) {
    const { pid } = readLock(file);
    if (processExists(pid) && !isPostmaster(pid, folder)) rmSync(file, { force: true });
  }
}

/** Both of PostgreSQL's lock files look like this. Where there is none, the process number is 0. */
function readLock(file: string): { pid: number; socketDir: string | undefined } {
  const [pid = '0', , , , socketDir] = readIfThere(file)?.split('\n') ?? [];
  // A postgres in single-user mode notes a negative number.
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
      // The server makes its data folder its working directory. A zombie has none.
      const isPostgres = readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('postgres');
      return isPostgres && readlinkSync(`/proc/${pid}/cwd`) === folder;
    }
    const command = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
    return command.includes(`postgres -D ${folder} `);
  } catch {
    return false;
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
