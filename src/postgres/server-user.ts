import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../kernel/errors.js';

/** Accounts that can run the server for root, in order of preference. */
const ACCOUNTS = ['postgres', 'nobody'];

/** The account that runs PostgreSQL's programs, as options for `spawn`; empty if it is the account of this process. */
export interface ServerUser {
  uid?: number;
  gid?: number;
}

/** PostgreSQL refuses to run as root and to use data that another account owns. */
export function serverUserFor(folder: string): ServerUser {
  const owner = statSync(folder, { throwIfNoEntry: false });
  if (process.getuid?.() !== 0) {
    if (owner && owner.uid !== process.getuid?.()) {
      throw new UserError(
        `The database in ${folder} belongs to another user (uid ${owner.uid}). ` +
          'Run as that user or as root, or choose another folder with DATA_DIR.',
      );
    }
    return {};
  }

  // The owner of a folder without data, such as a new volume, does not determine the account.
  if (!owner || !existsSync(join(folder, 'PG_VERSION'))) return firstAccount();
  if (owner.uid === 0) {
    throw new UserError(
      `The database in ${folder} belongs to root, but PostgreSQL does not run as root. ` +
        `Give it to another user, for example: chown -R ${ACCOUNTS.at(-1)} ${folder}`,
    );
  }
  return { uid: owner.uid, gid: owner.gid };
}

/** Tested as that user, because modes, groups, ACLs and every parent folder matter. */
export function canReach(user: ServerUser, path: string): boolean {
  if (user.uid === undefined) return true;
  return spawnSync('/bin/sh', ['-c', 'test -x "$0"', path], { cwd: '/', ...user }).status === 0;
}

/** For root only: a persistent folder that every account may enter, whatever root's umask is. */
export function systemFolder(): string {
  const folder = '/var/lib/clean-conversions';
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  return folder;
}

function account(name: string): ServerUser | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => {
    const { status, stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' });
    return status === 0 ? Number(stdout) : undefined;
  });
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

function firstAccount(): ServerUser {
  for (const name of ACCOUNTS) {
    const user = account(name);
    if (user) return user;
  }
  throw new UserError(
    `PostgreSQL does not run as root, and this machine has no user "${ACCOUNTS.join('" or "')}". ` +
      'Start as a normal user, or set DATABASE_URL to a PostgreSQL server of your own.',
  );
}
