// Processes of a cluster, which are ended by their pid.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const STOP_WITHIN_MS = 20_000;

export class Program {
  #child;

  constructor({ command, args, env = {}, user = {}, logFile }) {
    Object.assign(this, { command, args, env, user, logFile });
  }

  get pid() {
    return this.#child?.pid;
  }

  get isRunning() {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start() {
    const log = openSync(this.logFile, 'a', 0o644);
    this.#child = spawn(this.command, this.args, {
      cwd: '/',
      env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', TZ: 'UTC', ...this.env },
      // A process group of its own: Ctrl-C must not reach it before what depends on it has stopped.
      detached: true,
      stdio: ['ignore', log, log],
      ...this.user,
    });
    this.#child.on('error', () => {});
    closeSync(log);
  }

  async stop(name = 'SIGTERM') {
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
  const server = createServer();
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

export async function until(what, condition, withinMs = 120_000) {
  const deadlineMs = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`Not within ${withinMs / 1_000} s: ${what}.`);
    await sleep(100);
  }
}

function parentOf(pid) {
  try {
    // The command, in parentheses, may contain blanks; the state and the parent's id follow it.
    return Number(/^.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}
