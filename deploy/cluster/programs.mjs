// The programs of a cluster, which Debian's packages bring.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The build of the service. */
export const DIST = join(import.meta.dirname, '../../dist');
const POSTGRES_BIN = '/usr/lib/postgresql/15/bin';

export const PROGRAMS = {
  patroni: { file: '/usr/bin/patroni', package: 'patroni' },
  patronictl: { file: '/usr/bin/patronictl', package: 'patroni' },
  etcd: { file: '/usr/bin/etcd', package: 'etcd-server' },
  haproxy: { file: '/usr/sbin/haproxy', package: 'haproxy' },
  setpriv: { file: '/usr/bin/setpriv', package: 'util-linux' },
  postgres: { file: `${POSTGRES_BIN}/postgres`, package: 'postgresql-15' },
};

export const postgresBin = POSTGRES_BIN;

/** Debian packages that are not installed. */
export function missingPackages() {
  const missing = Object.values(PROGRAMS).filter(({ file }) => !existsSync(file));
  return [...new Set(missing.map((program) => program.package))];
}

/** PostgreSQL does not run as root: its programs then run as the user of Debian's package. */
export function databaseUser() {
  if (process.getuid?.() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** When started by root, the user of the database needs access to its data. Otherwise the folder stays as it is. */
export function openForDatabaseUser(directory) {
  if (databaseUser().uid !== undefined) chmodSync(directory, 0o755);
}

/** The folder above this one, or itself, that the user of the database cannot enter; undefined if there is none. */
export function closedFolder(directory) {
  if (databaseUser().uid === undefined) return undefined;
  const isClosed = existsSync(directory) && (statSync(directory).mode & 0o001) === 0;
  if (isClosed) return directory;
  const above = dirname(directory);
  return above === directory ? undefined : closedFolder(above);
}
