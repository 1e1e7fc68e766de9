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
import { EMBEDDED_SETTINGS, PORT, SERVER_ENV } from './postmaster.js';
import { canReach, type ServerUser, serverUserFor } from './server-user.js';
import { systemFolder } from './system-folder.js';

/** One database folder and all that is needed to run a server on it. */
export interface Cluster {
  /** Real path of PostgreSQL's own data folder. */
  folder: string;
  binDir: string;
  user: ServerUser;
  socketDir: string;
  logFile: string;
  settings: Readonly<Record<string, string>>;
}

interface PrepareOptions {
  dataDir: string;
  say: (line: string) => void;
  /** How to find PostgreSQL's programs, once it is known who will run them. */
  find?: (user: ServerUser, say: (line: string) => void) => PostgresBinaries;
}

/** macOS takes socket paths of up to 103 bytes, Linux of 107. */
const SOCKET_PATH_BYTES_MAX = 103;

/** Finds the database of `dataDir`, or creates it where there is none. */
export async function prepareCluster({ dataDir, say, find = findBinaries }: PrepareOptions): Promise<Cluster> {
  const home = makeHome(dataDir);
  const link = join(home, 'postgres');
  const user = serverUserFor(link);
  const binaries = find(user, say);
  if (!isCluster(link)) await createCluster(link, user, binaries, say);
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
  say: (line: string) => void,
): Promise<void> {
  makeWay(link);
  if (canReach(user, dirname(link))) return initialise(link, user, binaries, say);

  // The temporary folder would do for the server, but not for data that must last.
  const place = join(systemFolder(), hashOf(dirname(link)));
  say(`The user that runs PostgreSQL may not enter ${dirname(link)}, so the database lies in ${place}`);
  if (!isCluster(place)) await initialise(place, user, binaries, say);
  try {
    symlinkSync(place, link);
  } catch (error) {
    if (!isCluster(link)) throw error;
  }
}

/** An empty folder may give way. A link to a disk that is not mounted, or somebody's files, may not. */
function makeWay(link: string): void {
  if (!lstatSync(link, { throwIfNoEntry: false })) return;
  try {
    rmdirSync(link);
  } catch (error) {
    // Another process was faster, with its database or with making way.
    if (isCluster(link) || !lstatSync(link, { throwIfNoEntry: false })) return;
    throw new UserError(
      `${link} holds no PostgreSQL database and cannot be replaced (${messageOf(error)}). ` +
        'Bring its contents back, move it away to begin anew, or choose another folder with DATA_DIR.',
    );
  }
}

/** The folder gets its name when it is complete: a killed or doubled first start leaves no half database behind. */
async function initialise(
  place: string,
  user: ServerUser,
  { binDir, major }: PostgresBinaries,
  say: (line: string) => void,
): Promise<void> {
  say(`Creating the database in ${place}`);
  const unfinished = mkdtempSync(`${place}.new-`);
  if (user.uid !== undefined && user.gid !== undefined) chownSync(unfinished, user.uid, user.gid);
  // Together these keep the host's locales out of it, and lower('Ä') is still 'ä' from version 17 on.
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
    // Another process was faster. Its database is ours too.
    if (isCluster(place)) return;
    throw new UserError(`The database could not be created in ${place}: ${messageOf(error).trim()}`);
  }
}

function refuseOtherMajor(folder: string, major: number): void {
  const dataMajor = Number(readFileSync(join(folder, 'PG_VERSION'), 'utf8'));
  if (dataMajor === major) return;
  throw new UserError(
    `The database in ${folder} was made by PostgreSQL ${dataMajor}, but the one found here is ${major}. ` +
      `Run PostgreSQL ${dataMajor} on it and set DATABASE_URL, or move the folder away to begin anew.`,
  );
}

/**
 * Inside the data folder, which only the server's user may enter. Where that path is too long for a socket: a short
 * private folder whose name every process derives alike.
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

/** Everyone may write to the temporary folder, so the name may have been taken by somebody who wants to listen in. */
function makePrivate(dir: string, user: ServerUser): string {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const { uid = process.getuid?.(), gid } = user;
  const found = lstatSync(dir);
  const isOurs = found.uid === uid || found.uid === process.getuid?.();
  if (!found.isDirectory() || !isOurs || (found.mode & 0o077) !== 0) {
    throw new UserError(
      `${dir}, where PostgreSQL's socket belongs, was made by somebody else. Remove it and try again.`,
    );
  }
  if (uid !== undefined && gid !== undefined) chownSync(dir, uid, gid);
  return dir;
}

function hashOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16);
}
