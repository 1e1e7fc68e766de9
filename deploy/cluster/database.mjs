// The database of one cell: etcd, two or more PostgreSQL servers under Patroni, and HAProxy in front of them. All on loopback.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DatabaseNode } from './node.mjs';
import { freePort, isOk, Program, until } from './processes.mjs';
import { databaseUser, openForDatabaseUser, PROGRAMS, postgresBin } from './programs.mjs';
import { render } from './templates.mjs';

const run = promisify(execFile);
const SCOPE = 'cell';
/** Minutes, because a slow machine starts two cells and three brokers at the same time. */
const HEALTHY_WITHIN_MS = 600_000;

export class ClusterDatabase {
  nodes = [];
  #etcd;
  #haproxy;

  /**
   * @param synchronous a commit waits for a standby; Patroni promotes no other one
   * @param reachAt the port at which the other servers reach the one at a port
   * @param password of existing data
   * @param restartAfterMs a server that was killed is started again after this time
   * @param abort an AbortSignal that ends the start
   */
  static async start(directory, { synchronous = true, nodes = 2, password, ...options } = {}) {
    mkdirSync(directory, { recursive: true });
    openForDatabaseUser(directory);
    const database = new ClusterDatabase(directory, synchronous, nodes, password);
    try {
      await database.#start(nodes, options);
      return database;
    } catch (error) {
      await database.stop();
      throw error;
    }
  }

  constructor(directory, synchronous, size, password = randomBytes(16).toString('hex')) {
    Object.assign(this, { directory, synchronous, size, password });
    this.restPassword = randomBytes(16).toString('hex');
  }

  async #start(count, { reachAt = (port) => port, restartAfterMs, abort }) {
    const user = databaseUser();
    this.etcdPort = await this.#startEtcd({ restartAfterMs, abort });
    for (let at = 1; at <= count; at += 1) {
      const [port, restPort] = [await freePort(), await freePort()];
      const name = `node${at}`;
      const config = this.#patroniConfig({ name, port, restPort, reachedAt: await reachAt(port) });
      const { directory } = this;
      this.nodes.push(new DatabaseNode({ name, directory, port, restPort, user, config, restartAfterMs }));
    }
    await this.#startHaproxy({ restartAfterMs });
    // The first one creates the database, the others copy it.
    for (const node of this.nodes) node.start();
    const ended = () => this.nodes.find((node) => !node.isRunning);
    await until(this.#healthyText, async () => ended() || this.#isHealthy(), { withinMs: HEALTHY_WITHIN_MS, abort });
    if (ended()) throw new Error(`Patroni exited during the start. See ${ended().logFile}.`);
  }

  /** Finds the primary by itself. */
  get url() {
    const hosts = this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `postgres://postgres:${this.password}@${hosts}/postgres?target_session_attrs=read-write&sslmode=disable`;
  }

  /** Through HAProxy, which leads to the primary. */
  get proxyUrl() {
    return `postgres://postgres:${this.password}@127.0.0.1:${this.proxyPort}/postgres?sslmode=disable`;
  }

  /** Through HAProxy, which leads to a standby. */
  get standbyUrl() {
    return `postgres://postgres:${this.password}@127.0.0.1:${this.standbyPort}/postgres?sslmode=disable`;
  }

  /** The node whose server is the primary; undefined while there is none. `except`: not this one. */
  async primary(except) {
    for (const node of this.nodes) {
      if (node === except) continue;
      const status = await node.status();
      if (status?.role === 'master' || status?.role === 'primary') if (status.state === 'running') return node;
    }
    return undefined;
  }

  /** The same, but waits for one: on a busy machine Patroni may answer too late, or the primary may change. */
  async untilPrimary({ abort } = {}) {
    let primary;
    const isFound = async () => {
      primary = await this.primary();
      return primary !== undefined;
    };
    const text = `the database has a primary. See the logs in ${this.directory}`;
    await until(text, isFound, { withinMs: HEALTHY_WITHIN_MS, abort });
    return primary;
  }

  /** Resolves when there is a primary and every other server replicates from it; one of them synchronously, if any must. */
  async healthy() {
    await until(this.#healthyText, () => this.#isHealthy(), { withinMs: HEALTHY_WITHIN_MS });
  }

  get #healthyText() {
    return `the database is healthy. See the logs in ${this.directory}`;
  }

  /** By what etcd holds: Patroni promotes a standby only if it stands there as the synchronous one. */
  async #isHealthy() {
    const members = (await (await this.primary())?.members()) ?? [];
    const standbys = members.filter(({ role, state }) => role !== 'leader' && /^(running|streaming)$/.test(state));
    const isConfirmed = !this.synchronous || standbys.some(({ role }) => role === 'sync_standby');
    const leaders = members.filter(({ role, state }) => role === 'leader' && state === 'running');
    const timelines = new Set(members.map(({ timeline }) => timeline));
    return leaders.length === 1 && standbys.length === this.size - 1 && isConfirmed && timelines.size === 1;
  }

  /** A planned change of the primary. */
  async switchover() {
    const primary = await this.untilPrimary();
    const args = ['-c', primary.configFile, 'switchover', '--force', '--master', primary.name, SCOPE];
    const { stdout } = await run(PROGRAMS.patronictl.file, args, {
      env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' },
    });
    return stdout;
  }

  async #startEtcd({ restartAfterMs, abort }) {
    const [port, peerPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    const peer = `http://127.0.0.1:${peerPort}`;
    this.#etcd = new Program({
      command: PROGRAMS.etcd.file,
      args: [
        ...['--name', 'etcd', '--data-dir', join(this.directory, 'etcd'), '--logger', 'zap', '--log-level', 'warn'],
        ...['--enable-v2', '--listen-client-urls', url, '--advertise-client-urls', url],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `etcd=${peer}`],
      ],
      logFile: join(this.directory, 'etcd.log'),
      restartAfterMs,
    });
    await this.#etcd.started('etcd answered', () => isOk(`${url}/health`), { abort });
    return port;
  }

  #patroniConfig(node) {
    const { etcdPort, synchronous, password, restPassword } = this;
    const home = join(this.directory, node.name);
    const values = { ...node, home, etcdPort, synchronous, password, restPassword, postgresBin };
    return render('patroni.yml', values);
  }

  async #startHaproxy({ restartAfterMs }) {
    this.proxyPort = await freePort();
    this.standbyPort = await freePort();
    const servers = this.nodes.map(
      ({ name, port, restPort }) => `  server ${name} 127.0.0.1:${port} check port ${restPort}`,
    );
    const file = join(this.directory, 'haproxy-database.cfg');
    const values = { primaryPort: this.proxyPort, standbyPort: this.standbyPort, servers: servers.join('\n') };
    writeFileSync(file, render('haproxy-database.cfg', values));
    this.#haproxy = new Program({
      command: PROGRAMS.haproxy.file,
      args: ['-db', '-f', file],
      logFile: join(this.directory, 'haproxy-database.log'),
      restartAfterMs,
    });
    this.#haproxy.start();
  }

  async stop() {
    await this.#haproxy?.stop();
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.#etcd?.stop();
  }
}
