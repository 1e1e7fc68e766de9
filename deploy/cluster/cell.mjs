// One cell: a database with a standby, two instances of the service, and HAProxy in front of them. A site with an API key is
// connected to the sandbox, so that a conversion can be sent.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ClusterDatabase } from './database.mjs';
import { Instance } from './instance.mjs';
import { freePort, isOk, Program } from './processes.mjs';
import { DIST, PROGRAMS } from './programs.mjs';
import { render } from './templates.mjs';

const run = promisify(execFile);
const INSTANCES = ['instance1', 'instance2'];
/** Longer than Patroni's ttl: a primary that was killed returns when its standby has taken over, as a machine that boots. */
const RESTART_AFTER_MS = 15_000;
const PLATFORM = ['meta', '--set', 'pixel_id=1234567890', '--set', 'access_token=demo-access-token'];

export class Cell {
  #instances = [];
  #haproxy;

  /**
   * @param brokers a promise: databases and brokers start at the same time
   * @param sandbox address of the simulated platforms
   * @param abort an AbortSignal that ends the start
   */
  static async start(directory, { name, brokers, sandbox, abort }) {
    mkdirSync(directory, { recursive: true, mode: 0o755 });
    const cell = new Cell(directory, name);
    try {
      await cell.#start({ brokers, sandbox, abort });
      return cell;
    } catch (error) {
      await cell.stop();
      throw error;
    }
  }

  constructor(directory, name) {
    Object.assign(this, { directory, name });
    this.secrets = secretsIn(join(directory, 'secrets.json'));
  }

  async #start({ brokers, sandbox, abort }) {
    const { password } = this.secrets;
    const options = { password, restartAfterMs: RESTART_AFTER_MS, abort };
    this.database = await ClusterDatabase.start(join(this.directory, 'database'), options);
    await this.#createInstances(await brokers);
    await this.#createSite(sandbox, abort);
    await Promise.all(this.#instances.map((instance) => instance.start({ abort })));
    await this.#startHaproxy(abort);
  }

  get host() {
    return `${this.name}.example`;
  }

  get inbound() {
    return `http://127.0.0.1:${this.inboundPort}`;
  }

  /** A name of its own, because browsers send cookies to all ports of a name. Every name below localhost is this machine. */
  get dashboard() {
    return `http://${this.name}.localhost:${this.dashboardPort}`;
  }

  /** Addresses and secrets, for scripts. */
  get description() {
    const { name, host, inbound, dashboard, database, secrets } = this;
    return {
      name,
      host,
      inbound,
      dashboard,
      adminPassword: secrets.adminPassword,
      apiKey: secrets.apiKey,
      topicPrefix: `${name}.`,
      databaseUrl: database.url,
      primaryUrl: database.proxyUrl,
      standbyUrl: database.standbyUrl,
      instances: this.#instances.map((instance) => ({ name: instance.name, port: instance.port })),
      servers: database.nodes.map((node) => ({
        name: node.name,
        port: node.port,
        patroni: `http://127.0.0.1:${node.restPort}`,
        patroniPid: node.pid,
        postgresPidFile: node.pidFile,
        config: node.configFile,
      })),
    };
  }

  async #createInstances(brokers) {
    this.inboundPort = await freePort();
    this.dashboardPort = await freePort();
    for (const name of INSTANCES) {
      const settings = {
        ...this.secrets,
        cell: this.name,
        port: await freePort(),
        adminPort: await freePort(),
        dashboard: this.dashboard,
        databaseUrl: this.database.url,
        databaseReadUrl: this.database.standbyUrl,
        dataDir: join(this.directory, 'service'),
        brokers,
      };
      this.#instances.push(new Instance(name, this.directory, settings, { restartAfterMs: RESTART_AFTER_MS }));
    }
  }

  async #createSite(sandbox, abort) {
    const { host } = this;
    if (this.secrets.apiKey === undefined) {
      // The address is a host of the site, too, so that senders need no name that leads to this machine.
      await this.#cli(abort, 'sites', 'add', host, '--alias', '127.0.0.1');
      await this.#cli(abort, 'inbound', 'enable', host);
      const created = await this.#cli(abort, 'keys', 'create', '--site', host, '--name', 'Cluster', '--json');
      this.secrets.apiKey = JSON.parse(created).key;
      writeFileSync(join(this.directory, 'secrets.json'), JSON.stringify(this.secrets, null, 2));
    }
    // The sandbox has another port at each start.
    await this.#cli(abort, 'platforms', 'connect', ...PLATFORM, '--site', host, '--endpoint', `${sandbox}/meta`);
  }

  async #cli(abort, ...args) {
    const env = { PATH: process.env.PATH, ...this.#instances[0].env };
    const { stdout } = await run(process.execPath, [join(DIST, 'cli.js'), ...args], { env, signal: abort });
    return stdout;
  }

  async #startHaproxy(abort) {
    const servers = (portOf) =>
      this.#instances.map((instance) => `  server ${instance.name} 127.0.0.1:${portOf(instance)} check`).join('\n');
    const { host: dashboardHost } = new URL(this.dashboard);
    const file = join(this.directory, 'haproxy-http.cfg');
    const values = {
      inboundPort: this.inboundPort,
      dashboardPort: this.dashboardPort,
      dashboardHost,
      instances: servers(({ port }) => port),
      dashboards: servers(({ adminPort }) => adminPort),
    };
    writeFileSync(file, render('haproxy-http.cfg', values));
    this.#haproxy = new Program({
      command: PROGRAMS.haproxy.file,
      args: ['-db', '-f', file],
      logFile: join(this.directory, 'haproxy-http.log'),
      restartAfterMs: RESTART_AFTER_MS,
    });
    const answers = () => isOk(`${this.inbound}/readyz`);
    await this.#haproxy.started(`HAProxy of ${this.name} had an instance`, answers, { abort });
  }

  /** Dependents before dependencies. */
  async stop() {
    await this.#haproxy?.stop();
    await Promise.all(this.#instances.map((instance) => instance.stop()));
    await this.database?.stop();
  }
}

/** Created once per data folder. */
function secretsIn(file) {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  const secrets = {
    password: randomBytes(16).toString('hex'),
    secretKey: randomBytes(32).toString('hex'),
    adminPassword: randomBytes(12).toString('hex'),
  };
  writeFileSync(file, JSON.stringify(secrets, null, 2), { mode: 0o600 });
  return secrets;
}
