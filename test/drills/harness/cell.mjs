// A cell of a drill: a PostgreSQL server and an instance of the service, which the drill kills, and its command line.
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../../deploy/cluster/processes.mjs';
import { Database } from './database.mjs';
import { breakModules, Instance } from './instance.mjs';
import { TcpProxy } from './proxy.mjs';
import { ROOT } from './root.mjs';

const run = promisify(execFile);
const CLI = join(ROOT, 'dist/cli.js');
const PASSWORD = 'correct horse battery staple';

export class Cell {
  static async open(name, { directory, preload, env }) {
    const own = join(directory, name);
    mkdirSync(own);
    // When started by root, PostgreSQL runs as another user, which needs access to its data.
    chmodSync(own, 0o755);
    const cell = new Cell(name);
    cell.database = await Database.open(own);
    cell.proxies = [await TcpProxy.start(cell.database.socket), await TcpProxy.start(cell.database.socket)];
    const [port, adminPort] = [await freePort(), await freePort()];
    cell.adminUrl = `http://127.0.0.1:${adminPort}`;
    cell.preload = preload;
    cell.env = {
      ...env,
      CELL: name,
      CELL_ADDRESS: `http://127.0.0.1:${port}`,
      SECRET_KEY: randomBytes(32).toString('hex'),
      DATA_DIR: join(own, 'unused'),
      KAFKA_TOPIC_PREFIX: `${name}.`,
    };
    const [operator, served] = cell.proxies.map(urlThrough);
    cell.operatorUrl = operator;
    const instanceEnv = { ...cell.env, PORT: String(port), ADMIN_PORT: String(adminPort), DATABASE_URL: served };
    cell.instance = new Instance({ name: `instance-${name}`, port, env: instanceEnv, directory: own });
    await cell.start();
    if (!cell.instance.isRunning) throw new Error(`Cell ${name} did not start:\n${cell.instance.logTail()}`);
    return cell;
  }

  constructor(name) {
    this.name = name;
  }

  /** Resolves when the management API answers, too. */
  async start() {
    await this.instance.start({ preload: this.preload });
    while (this.instance.isRunning && !(await fetch(this.adminUrl).catch(() => undefined))) await sleep(50);
  }

  /** Tokens for another cell, as an administrator creates them on the dashboard. */
  async createTokens() {
    const added = await this.cli('users', 'add', `ada@${this.name}.example`, '--role', 'admin', '--json');
    const link = JSON.parse(added).link.split('#')[1];
    const call = (path, body, headers = {}) =>
      fetch(`${this.adminUrl}/api/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    const session = await call('/session/password', { link, password: PASSWORD });
    const headers = { cookie: session.headers.get('set-cookie').split(';')[0], 'x-cc-csrf': '1' };
    const create = async (scope) =>
      (await (await call('/tokens', { name: scope, scopes: [scope] }, headers)).json()).token;
    this.tokens = { read: await create('read'), move: await create('move') };
  }

  /** Restarts the service with the other cell in its settings. */
  async learn({ name, adminUrl, tokens }) {
    const known = {
      CELLS: `${name}=${adminUrl}`,
      CELL_TOKENS: `${name}=${tokens.read}`,
      CELL_MOVE_TOKENS: `${name}=${tokens.move}`,
    };
    Object.assign(this.env, known);
    Object.assign(this.instance.env, known);
    await this.instance.stop();
    await this.start();
  }

  /** Runs the command line of the build. Rejects if it fails. */
  async cli(...args) {
    const { stdout } = await run(process.execPath, [CLI, ...args], { env: this.#cliEnv(), maxBuffer: 2 ** 28 });
    return stdout;
  }

  /** As a process that the drill can kill, with the planted bug if there is one. */
  spawnCli(...args) {
    const NODE_OPTIONS = breakModules()
      .map((module) => `--import=${fileURLToPath(module)}`)
      .join(' ');
    return spawn(process.execPath, [CLI, ...args], {
      env: { ...this.#cliEnv(), DRILL_ROOT: ROOT, NODE_OPTIONS },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  }

  #cliEnv() {
    return { PATH: process.env.PATH, ...this.env, DATABASE_URL: this.operatorUrl, PORT: '0' };
  }

  /** Resolves when the instance says that it can do its work. */
  async ready() {
    for (;;) {
      const answer = await this.instance.get('/readyz').catch(() => undefined);
      if (answer?.status === 200) return;
      await sleep(100);
    }
  }

  async stop() {
    if (this.instance && this.instance.state !== 'stopped') await this.instance.kill();
    for (const proxy of this.proxies ?? []) await proxy.stop();
    await this.database?.stop();
  }
}

function urlThrough({ port }) {
  return `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`;
}
