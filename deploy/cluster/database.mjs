// The database of one cell: etcd, two or more PostgreSQL servers under Patroni, and HAProxy in front of them. All on loopback.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DatabaseNode } from './node.mjs';
import { freePort, Program, until } from './processes.mjs';
import { databaseUser, PROGRAMS, postgresBin } from './programs.mjs';

const run = promisify(execFile);
const SCOPE = 'cell';
const HEALTHY_WITHIN_MS = 180_000;
/** Patroni's defaults are 30, 10 and 10: with these a failover takes seconds instead of half a minute. */
const TIMING = { ttl: 10, loop_wait: 1, retry_timeout: 3 };

export class ClusterDatabase {
  nodes = [];
  #etcd;
  #haproxy;

  /**
   * @param synchronous a commit waits for a standby; Patroni promotes no other one
   * @param reachAt the port at which the other servers reach the one at a port
   */
  static async start(directory, { synchronous = true, nodes = 2, settings = {}, reachAt = (port) => port } = {}) {
    mkdirSync(directory, { recursive: true });
    chmodSync(directory, 0o755);
    const database = new ClusterDatabase(directory, synchronous, nodes);
    try {
      await database.#start(nodes, settings, reachAt);
      return database;
    } catch (error) {
      await database.stop();
      throw error;
    }
  }

  constructor(directory, synchronous, size) {
    Object.assign(this, { directory, synchronous, size });
    this.password = randomBytes(16).toString('hex');
  }

  async #start(count, settings, reachAt) {
    const user = databaseUser();
    this.etcdPort = await this.#startEtcd();
    for (let at = 1; at <= count; at += 1) {
      const [port, restPort] = [await freePort(), await freePort()];
      const name = `node${at}`;
      const config = this.#patroniConfig({ name, port, restPort, reachedAt: await reachAt(port), settings });
      this.nodes.push(new DatabaseNode({ name, directory: this.directory, port, restPort, user, config }));
    }
    await this.#startHaproxy();
    // The first one creates the database, the others copy it.
    for (const node of this.nodes) node.start();
    await this.healthy();
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

  /** Resolves when there is a primary and every other server replicates from it; one of them synchronously, if any must. */
  async healthy() {
    await until('the cluster is healthy', () => this.#isHealthy(), HEALTHY_WITHIN_MS);
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
    const primary = await this.primary();
    const args = ['-c', primary.configFile, 'switchover', '--force', '--master', primary.name, SCOPE];
    const { stdout } = await run(PROGRAMS.patronictl.file, args, {
      env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' },
    });
    return stdout;
  }

  async #startEtcd() {
    const [port, peerPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    const peer = `http://127.0.0.1:${peerPort}`;
    this.#etcd = new Program({
      command: PROGRAMS.etcd.file,
      args: [
        ...['--name', 'etcd', '--data-dir', join(this.directory, 'etcd'), '--logger', 'zap', '--log-level', 'warn'],
        ...['--listen-client-urls', url, '--advertise-client-urls', url],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `etcd=${peer}`],
      ],
      logFile: join(this.directory, 'etcd.log'),
    });
    this.#etcd.start();
    const answers = () =>
      fetch(`${url}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until('etcd answers', answers);
    return port;
  }

  #patroniConfig({ name, port, restPort, reachedAt, settings }) {
    const home = join(this.directory, name);
    const { password } = this;
    return {
      scope: SCOPE,
      name,
      restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
      etcd3: { host: `127.0.0.1:${this.etcdPort}` },
      bootstrap: {
        dcs: {
          ...TIMING,
          // A standby that is further behind is not promoted.
          maximum_lag_on_failover: 1_048_576,
          synchronous_mode: this.synchronous,
          postgresql: {
            use_pg_rewind: true,
            parameters: { max_connections: 120, max_wal_size: '4GB', shared_buffers: '128MB', ...settings },
          },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
      },
      postgresql: {
        listen: `127.0.0.1:${port}`,
        connect_address: `127.0.0.1:${reachedAt}`,
        data_dir: join(home, 'data'),
        bin_dir: postgresBin,
        pgpass: join(home, 'pgpass'),
        authentication: {
          superuser: { username: 'postgres', password },
          replication: { username: 'replicator', password },
        },
        parameters: { unix_socket_directories: home },
        pg_hba: [
          'local all all trust',
          'host all all 127.0.0.1/32 scram-sha-256',
          'host replication all 127.0.0.1/32 scram-sha-256',
        ],
        remove_data_directory_on_rewind_failure: true,
        remove_data_directory_on_diverged_timelines: true,
      },
    };
  }

  /** Asks Patroni which server is the primary. Connections to a server that is no longer the primary are closed. */
  async #startHaproxy() {
    this.proxyPort = await freePort();
    this.standbyPort = await freePort();
    const servers = this.nodes.map(
      ({ name, port, restPort }) => `  server ${name} 127.0.0.1:${port} check port ${restPort}`,
    );
    const section = (name, port, path) => [
      `listen ${name}`,
      `  bind 127.0.0.1:${port}`,
      `  option httpchk GET ${path}`,
      '  http-check expect status 200',
      '  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions',
      ...servers,
    ];
    const file = join(this.directory, 'haproxy.cfg');
    const lines = [
      'global',
      '  maxconn 1000',
      'defaults',
      '  mode tcp',
      '  timeout connect 2s',
      '  timeout client 24h',
      '  timeout server 24h',
      '  timeout check 2s',
      ...section('primary', this.proxyPort, '/primary'),
      ...section('standby', this.standbyPort, '/replica'),
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    this.#haproxy = new Program({
      command: PROGRAMS.haproxy.file,
      args: ['-db', '-f', file],
      logFile: join(this.directory, 'haproxy.log'),
    });
    this.#haproxy.start();
  }

  async stop() {
    await this.#haproxy?.stop();
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.#etcd?.stop();
  }
}
