// Instances of the service as processes that a drill kills, freezes and stops by their pid.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ROOT } from './root.mjs';

const READY_WITHIN_MS = 120_000;
const EXIT_WITHIN_MS = 60_000;
const FAILED_STARTS_MAX = 10;

export class Instance {
  #child;
  #ordered = false;
  #hasFailedToStart = false;
  failedStarts = 0;
  state = 'stopped';
  /** Exits that the drill did not order. */
  unordered = [];

  constructor({ name, port, env, directory, proxy }) {
    Object.assign(this, { name, port, env, proxy });
    this.logFile = join(directory, `${name}.log`);
  }

  /** Whether it can be sent conversions. */
  get isRunning() {
    return this.state === 'running';
  }

  /** What it wrote last. The folder of a drill is removed at its end. */
  logTail() {
    return readFileSync(this.logFile, 'utf8').slice(-2_000);
  }

  get pid() {
    return this.#child.pid;
  }

  /**
   * Resolves when it answers or has exited. A start that fails is repeated, as a supervisor does: the database may be away.
   * `preload`: modules to load before the service; `env` adds to its environment;
   * `mayExit`: the drill expects it to exit by itself, as at a named crash point.
   */
  async start(options = {}) {
    const failedBefore = this.failedStarts;
    do {
      await this.#startOnce(options);
    } while (this.#hasFailedToStart && this.failedStarts - failedBefore < FAILED_STARTS_MAX);
    if (this.#hasFailedToStart) this.unordered.push(`${this.name} did not start. See ${this.logFile}.`);
  }

  async #startOnce({ preload = [], env = {}, mayExit = false }) {
    const modules = [...preload, ...breakModules()];
    const log = openSync(this.logFile, 'a');
    const child = spawn(process.execPath, ['--max-semi-space-size=32', join(ROOT, 'dist/main.js')], {
      env: {
        PATH: process.env.PATH,
        ADMIN_PORT: 'off',
        ...this.env,
        ...env,
        DRILL_ROOT: ROOT,
        NODE_OPTIONS: modules.map((module) => `--import=${fileURLToPath(module)}`).join(' '),
      },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    this.#ordered = mayExit;
    this.#hasFailedToStart = false;
    this.state = 'starting';
    child.once('exit', (code, signal) => {
      if (this.#child !== child) return;
      if (this.state === 'starting' && !this.#ordered) this.#hasFailedToStart = true;
      else if (!this.#ordered) this.unordered.push(`${this.name} exited with ${code ?? signal}`);
      if (this.#hasFailedToStart) this.failedStarts += 1;
      this.state = 'stopped';
    });
    const deadlineMs = performance.now() + READY_WITHIN_MS;
    while (this.state === 'starting') {
      if ((await this.get('/healthz').catch(() => undefined))?.status === 200) break;
      if (performance.now() > deadlineMs) throw new Error(`${this.name} did not answer in time. See ${this.logFile}.`);
      await sleep(50);
    }
    if (this.state === 'starting') this.state = 'running';
  }

  async get(path) {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { signal: AbortSignal.timeout(5_000) });
    return { status: response.status, body: await response.text() };
  }

  freeze() {
    this.state = 'frozen';
    this.#child.kill('SIGSTOP');
  }

  thaw() {
    if (this.state === 'frozen') this.state = this.#ordered ? 'stopping' : 'running';
    this.#child.kill('SIGCONT');
  }

  async kill() {
    await this.#end('SIGKILL');
  }

  /** Sends SIGTERM. Resolves with the exit code and the time it took. */
  async stop() {
    const startedMs = performance.now();
    const code = await this.#end('SIGTERM');
    return { code, ms: performance.now() - startedMs };
  }

  /** Resolves when the process has exited, for any reason. */
  async exited() {
    const child = this.#child;
    while (child.exitCode === null && child.signalCode === null) await sleep(10);
  }

  async #end(signal) {
    const child = this.#child;
    this.#ordered = true;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? child.signalCode;
    // A frozen process gets the signal too, and acts on SIGTERM once it is thawed.
    if (this.state !== 'frozen') this.state = 'stopping';
    const exited = new Promise((resolve) => child.once('exit', (code, by) => resolve(code ?? by)));
    child.kill(signal);
    const timeout = sleep(EXIT_WITHIN_MS, undefined, { ref: false });
    const code = await Promise.race([exited, timeout]);
    if (code === undefined) {
      child.kill('SIGKILL');
      await exited;
      return 'no exit';
    }
    return code;
  }
}

/** The modules that plant the bug of DRILL_BREAK. */
export function breakModules() {
  const name = process.env.DRILL_BREAK;
  return name === undefined ? [] : [new URL(`../breaks/${name}.mjs`, import.meta.url)];
}
