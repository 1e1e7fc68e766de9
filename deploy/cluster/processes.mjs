// Processes of a cluster, which are ended by their pid.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than what it stops may take: brokers get 15 s, and a busy machine needs some time more. */
const STOP_WITHIN_MS = 60_000;
/** Below the ports that Linux gives to outgoing connections: one of them could get the port before its server listens. */
const PORTS = { first: 10_000, count: 22_000 };
const PORT_ATTEMPTS = 100;
/** A port stays free until its server listens, so it must not be given to another one meanwhile. */
const givenPorts = new Set();

export class Program {
  #child;
  #restart;
  #isWanted = false;

  /** @param restartAfterMs an exit that was not ordered by `stop` is followed by a start, as a supervisor does */
  constructor({ command, args, env = {}, user = {}, logFile, restartAfterMs }) {
    Object.assign(this, { command, args, env, user, logFile, restartAfterMs });
  }

  get pid() {
    return this.#child?.pid;
  }

  get isRunning() {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start() {
    clearTimeout(this.#restart);
    this.#isWanted = true;
    const log = openSync(this.logFile, 'a', 0o644);
    // The kernel sends SIGTERM to it when this process ends, however that happens.
    const child = spawn('setpriv', ['--pdeathsig', 'TERM', this.command, ...this.args], {
      cwd: '/',
      env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', TZ: 'UTC', ...this.env },
      // A process group of its own: Ctrl-C must not reach it before what depends on it has stopped.
      detached: true,
      stdio: ['ignore', log, log],
      ...this.user,
    });
    this.#child = child;
    child.on('error', () => {});
    child.once('exit', () => {
      if (!this.#isWanted || this.restartAfterMs === undefined) return;
      this.#restart = setTimeout(() => this.start(), this.restartAfterMs);
    });
    closeSync(log);
  }

  /** Resolves when the condition holds. Rejects at once if the process exits before. */
  async started(what, isReady, options) {
    this.start();
    const isReadyOrGone = async () => (await isReady()) || !this.isRunning;
    await until(what, isReadyOrGone, options);
    if (!this.isRunning) throw new Error(`${this.command} exited before ${what}. See ${this.logFile}.`);
  }

  async stop(name = 'SIGTERM') {
    this.#isWanted = false;
    clearTimeout(this.#restart);
    if (!this.isRunning) return;
    const child = this.#child;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    signal(child.pid, 'SIGCONT');
    child.kill(name);
    await Promise.race([exited, sleep(STOP_WITHIN_MS, undefined, { ref: false })]);
    if (this.isRunning) {
      child.kill('SIGKILL');
      await exited;
    }
  }
}

/** The process and its children. */
export function withChildren(pid) {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
  return [pid, ...children.map(Number)];
}

export function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It has exited.
  }
}

/** A zombie has ended: only its parent has not noticed. */
export function isAlive(pid) {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export async function freePort() {
  for (let attempt = 1; attempt <= PORT_ATTEMPTS; attempt += 1) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    if (givenPorts.has(port)) continue;
    givenPorts.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`None of ${PORT_ATTEMPTS} ports above ${PORTS.first} was free.`);
}

/** @param abort an AbortSignal that ends the waiting with its reason */
export async function until(what, condition, { withinMs = 300_000, abort } = {}) {
  const deadlineMs = performance.now() + withinMs;
  while (!(await condition())) {
    abort?.throwIfAborted();
    if (performance.now() > deadlineMs) throw new Error(`Not within ${withinMs / 1_000} s: ${what}.`);
    await sleep(100);
  }
  abort?.throwIfAborted();
}

/** Whether it answers with 200. */
export async function isOk(url, headers = {}) {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

async function isFree(port) {
  const server = createServer();
  const listening = new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  if (!(await listening)) return false;
  await new Promise((closed) => server.close(closed));
  return true;
}

function parentOf(pid) {
  try {
    // The command, in parentheses, may contain blanks; the state and the parent's id follow it.
    return Number(/^.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}
