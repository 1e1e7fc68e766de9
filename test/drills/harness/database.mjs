// A PostgreSQL server for one drill, from the binaries and with the settings of the embedded one, which the drill can kill.
import { spawn } from 'node:child_process';
import { closeSync, fchownSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { QueriedDatabase } from './queried-database.mjs';
import { fromBuild } from './root.mjs';

/** Advisory lock of `cc.append`. */
export const APPEND_LOCK = 4845001;
/** Advisory lock of partition maintenance. */
export const PARTITION_LOCK = 4845005;
const READY_WITHIN_MS = 120_000;

export class Database extends QueriedDatabase {
  #child;
  #clients = new Set();

  static async open(directory, { clock, settings = {} } = {}) {
    const { prepareCluster } = await fromBuild('postgres/cluster.js');
    const cluster = await prepareCluster({ dataDir: join(directory, 'data'), onMessage: () => {} });
    const database = new Database(cluster, clock, settings);
    await database.start();
    return database;
  }

  constructor(cluster, clock, settings) {
    super();
    this.cluster = cluster;
    this.clock = clock;
    this.settings = { ...cluster.settings, max_connections: '120', ...settings };
    this.socket = join(cluster.socketDir, '.s.PGSQL.5432');
    this.logFile = cluster.logFile;
  }

  async start() {
    const { folder, binDir, user, socketDir, logFile } = this.cluster;
    const settings = { ...this.settings, port: '5432', unix_socket_directories: `"${socketDir}"` };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const log = openSync(logFile, 'a', 0o600);
    if (user.uid !== undefined) fchownSync(log, user.uid, user.gid);
    const deadlineMs = performance.now() + READY_WITHIN_MS;
    for (;;) {
      const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', ...this.clock?.env };
      const child = spawn(join(binDir, 'postgres'), ['-D', folder, ...flags], {
        cwd: '/',
        env,
        detached: true,
        stdio: ['ignore', log, log],
        ...user,
      });
      let ended = false;
      child.once('exit', () => {
        ended = true;
      });
      this.#child = child;
      while (!ended && !(await this.#answers()) && performance.now() < deadlineMs) await sleep(50);
      if (!ended) break;
      // Processes of a killed server may outlive it for a moment: it then refuses to start.
      if (performance.now() > deadlineMs) throw new Error(`PostgreSQL did not start. See ${logFile}.`);
      await sleep(200);
    }
    closeSync(log);
  }

  async #answers() {
    try {
      await this.query('SELECT 1');
      return true;
    } catch {
      return false;
    }
  }

  /** All processes of the server. */
  pids() {
    const { pid } = this.#child;
    const children = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
      .map(Number);
    return [pid, ...children];
  }

  /** Freezes all its processes, so that none notices the end of another, and kills them. */
  async kill() {
    const child = this.#child;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    process.kill(child.pid, 'SIGSTOP');
    const pids = this.pids();
    for (const name of ['SIGSTOP', 'SIGKILL']) for (const pid of pids) signal(pid, name);
    await exited;
    while (pids.some(isAlive)) await sleep(5);
  }

  freeze() {
    for (const pid of this.pids()) signal(pid, 'SIGSTOP');
  }

  thaw() {
    for (const pid of this.pids()) signal(pid, 'SIGCONT');
  }

  async connect() {
    const client = new pg.Client({ host: this.cluster.socketDir, port: 5432, user: 'postgres', database: 'postgres' });
    // A killed server ends the connection; the next query reports it.
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  /** Keeps every append waiting until the returned function is called. */
  async holdLock(lock = APPEND_LOCK) {
    const client = await this.connect();
    this.#clients.add(client);
    await client.query('SELECT pg_advisory_lock($1)', [lock]);
    return async () => {
      this.#clients.delete(client);
      await client.end().catch(() => {});
    };
  }

  async stop() {
    this.thaw();
    for (const client of this.#clients) await client.end().catch(() => {});
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGINT');
    await Promise.race([exited, sleep(20_000, undefined, { ref: false })]);
    if (child.exitCode === null && child.signalCode === null) await this.kill();
  }
}

function parentOf(pid) {
  try {
    // The command, in parentheses, may contain blanks; the state and the parent's id follow it.
    return Number(
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[1],
    );
  } catch {
    return undefined;
  }
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It has exited.
  }
}

function isAlive(pid) {
  try {
    // A zombie has ended: only its parent has not noticed.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
