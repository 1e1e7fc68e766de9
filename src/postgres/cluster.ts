import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { messageOf, UserError } from '../kernel/errors.js';
import { findBinaries, type PostgresBinaries } from './postgres-binaries.js';
import { canReach, type ServerUser, serverUserFor, systemFolder } from './server-user.js';

/** Settings of the embedded server. Everything that protects the data (such as fsync) keeps PostgreSQL's default. */
const EMBEDDED_SETTINGS: Readonly<Record<string, string>> = {
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
  // Statements and error details contain values: personal data must not reach the log.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

/** Only part of the socket file's name: the server does not listen on the network. */
export const PORT = 5432;

/** The server inherits no environment: it must not hold secrets, and PGPORT or LANG would change its behaviour. */
export const SERVER_ENV = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC' };

/** A database folder and everything needed to run a server on it. */
export interface Cluster {
  /** Real path of PostgreSQL's data folder. */
  folder: string;
  binDir: string;
  user: ServerUser;
  socketDir: string;
  logFile: string;
  settings: Readonly<Record<string, string>>;
}

interface PrepareOptions {
  dataDir: string;
  onMessage: (line: string) => void;
  /** Finds PostgreSQL's programs for the account that will run them. */
  find?: (user: ServerUser, onMessage: (line: string) => void) => PostgresBinaries;
}

/** macOS allows socket paths of up to 103 bytes, Linux of up to 107. */
const SOCKET_PATH_BYTES_MAX = 103;

/** Finds the database of `dataDir`, or creates it if there is none. */
export async function prepareCluster({ dataDir, onMessage, find = findBinaries }: PrepareOptions): Promise<Cluster> {
  const home = makeHome(dataDir);
  const link = join(home, 'postgres');
  const user = serverUserFor(link);
  const binaries = find(user, onMessage);
  if (!isCluster(link)) await createCluster(link, user, binaries, onMessage);
  refuseOtherMajor(link, binaries.major);

  const folder = realpathSync(link);
  const owner = serverUserFor(folder);
  return {
    folder,
    binDir: binaries.binDir,
    user: owner,
    socketDir: socketDirFor(folder, owner),
    logFile: join(home, 'postgres.log'),
    settings: EMBEDDED_SETTINGS,
  };
}

function makeHome(dataDir: string): string {
  try {
    mkdirSync(dataDir, { recursive: true });
    return realpathSync(resolve(dataDir));
  } catch (error) {
    throw new UserError(`Cannot create the data folder: ${messageOf(error)}. Choose another one with DATA_DIR.`);
  }
}

function isCluster(folder: string): boolean {
  return existsSync(join(folder, 'PG_VERSION'));
}

async function createCluster(
  link: string,
  user: ServerUser,
  binaries: PostgresBinaries,
  onMessage: (line: string) => void,
): Promise<void> {
  removeIfEmpty(link);
  if (canReach(user, dirname(link))) return initialise(link, user, binaries, onMessage);

  // Not the temporary folder: the data must survive a restart of the machine.
  const place = join(systemFolder(), hashOf(dirname(link)));
  onMessage(`The user that runs PostgreSQL may not enter ${dirname(link)}, so the database is stored in ${place}`);
  if (!isCluster(place)) await initialise(place, user, binaries, onMessage);
  try {
    symlinkSync(place, link);
  } catch (error) {
    if (!isCluster(link)) throw error;
  }
}

/** Removes an empty folder. Keeps a link to a disk that is not mounted, and a folder with files in it. */
function removeIfEmpty(link: string): void {
  if (!lstatSync(link, { throwIfNoEntry: false })) return;
  try {
    rmdirSync(link);
  } catch (error) {
    // Another process has created the database or removed the folder in the meantime.
    if (isCluster(link) || !lstatSync(link, { throwIfNoEntry: false })) return;
    throw new UserError(
      `${link} holds no PostgreSQL database and cannot be replaced (${messageOf(error)}). ` +
        'Restore its contents, move it away to start with an empty database, or choose another folder with DATA_DIR.',
    );
  }
}

/** Renames the folder into place when it is complete: a killed or concurrent first start leaves no partial database. */
async function initialise(
  place: string,
  user: ServerUser,
  { binDir, major }: PostgresBinaries,
  onMessage: (line: string) => void,
): Promise<void> {
  onMessage(`Creating the database in ${place}`);
  const unfinished = mkdtempSync(`${place}.new-`);
  if (user.uid !== undefined && user.gid !== undefined) chownSync(unfinished, user.uid, user.gid);
  // Independent of the host's locales; from version 17 on lower('Ä') is 'ä' all the same.
  const locale = major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : [];
  const flags = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', ...locale, '--no-instructions'];
  try {
    await promisify(execFile)(join(binDir, 'initdb'), ['-D', unfinished, ...flags], {
      cwd: '/',
      env: SERVER_ENV,
      ...user,
    });
    renameSync(unfinished, place);
    for (const name of readdirSync(dirname(place))) {
      if (name.startsWith(`${basename(place)}.new-`))
        rmSync(join(dirname(place), name), { recursive: true, force: true });
    }
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another process has created the same database in the meantime.
    if (isCluster(place)) return;
    throw new UserError(`The database could not be created in ${place}: ${messageOf(error).trim()}`);
  }
}

function refuseOtherMajor(folder: string, major: number): void {
  const dataMajor = Number(readFileSync(join(folder, 'PG_VERSION'), 'utf8'));
  if (dataMajor === major) return;
  throw new UserError(
    `The database in ${folder} was made by PostgreSQL ${dataMajor}, but the one found here is ${major}. ` +
      `Run PostgreSQL ${dataMajor} on it and set DATABASE_URL, or move the folder away to start with an empty database.`,
  );
}

/**
 * The data folder itself, which only the server's user may enter. If that path is too long for a socket: a short private
 * folder whose name every process derives from the path.
 */
function socketDirFor(folder: string, user: ServerUser): string {
  if (fitsSocket(folder)) return folder;
  const name = `cc-${hashOf(folder)}`;
  const dir = [join(tmpdir(), name), join('/tmp', name)].find(fitsSocket);
  if (!dir) throw new UserError(`The path ${folder} is too long for a socket. Choose a shorter DATA_DIR.`);
  return makePrivate(dir, user);
}

function fitsSocket(dir: string): boolean {
  return Buffer.byteLength(join(dir, `.s.PGSQL.${PORT}`)) <= SOCKET_PATH_BYTES_MAX;
}

/** Every user may write to the temporary folder: an attacker may have created the name to intercept connections. */
function makePrivate(dir: string, user: ServerUser): string {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const { uid = process.getuid?.(), gid } = user;
  const found = lstatSync(dir);
  const isOurs = found.uid === uid || found.uid === process.getuid?.();
  if (!found.isDirectory() || !isOurs || (found.mode & 0o077) !== 0) {
    throw new UserError(
      `${dir}, the folder for PostgreSQL's socket, belongs to another user. Remove it and start again.`,
    );
  }
  if (uid !== undefined && gid !== undefined) chownSync(dir, uid, gid);
  return dir;
}

function hashOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16);
}
