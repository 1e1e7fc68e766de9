// Tracks every process that the benchmark starts and stops each by its pid, also on Ctrl-C, so that none outlives the run.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const running = new Set();
let closing = false;
const STOP_WITHIN_MS = 15_000;
const STDERR_CHARS_MAX = 4_000;
const STDOUT_CHARS_MAX = 100_000;

export function startChild(name, command, args, { env = {}, cwd, detached = false } = {}) {
  if (closing) throw new Error(`${name} was not started: the benchmark is stopping`);
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    cwd,
    detached,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.name = name;
  child.detached = detached;
  child.stderrTail = '';
  child.output = '';
  child.stdout.on('data', (chunk) => {
    child.output = (child.output + chunk).slice(-STDOUT_CHARS_MAX);
  });
  child.stderr.on('data', (chunk) => {
    child.stderrTail = (child.stderrTail + chunk).slice(-STDERR_CHARS_MAX);
  });
  child.exited = new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    child.once('error', (error) => resolve({ code: null, signal: null, error }));
  }).then((outcome) => {
    running.delete(child);
    return outcome;
  });
  running.add(child);
  return child;
}

/** Runs a command to its end. Resolves with its standard output; rejects with its error output. */
export async function runChild(name, command, args, options) {
  const child = startChild(name, command, args, options);
  const { code, error } = await child.exited;
  if (code === 0) return child.output;
  throw new Error(`${name} failed: ${error?.message ?? summarize(child.stderrTail) ?? `exit code ${code}`}`);
}

/** Resolves with the milliseconds until `url` answered 200. */
export async function untilReady(child, url, { withinMs = 60_000 } = {}) {
  const started = performance.now();
  let exit;
  child.exited.then((outcome) => {
    exit = outcome;
  });
  while (performance.now() - started < withinMs) {
    if (exit) throw new Error(`${child.name} exited before it was ready: ${summarize(child.stderrTail)}`);
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      await response.arrayBuffer();
      if (response.status === 200) return performance.now() - started;
    } catch {
      // Not listening yet.
    }
    await sleep(20);
  }
  throw new Error(`${child.name} was not ready within ${withinMs / 1000} s: ${summarize(child.stderrTail)}`);
}

/** Resolves with the exit code and the milliseconds until the exit. `group` signals the process group, as Ctrl-C does. */
export async function stopChild(child, { group = false } = {}) {
  const started = performance.now();
  sendSignal(child, 'SIGTERM', group);
  const outcome = await Promise.race([child.exited, sleep(STOP_WITHIN_MS, undefined, { ref: false })]);
  if (outcome) return { ms: performance.now() - started, code: outcome.code };
  sendSignal(child, 'SIGKILL', group);
  await child.exited;
  throw new Error(`${child.name} did not stop within ${STOP_WITHIN_MS / 1000} s`);
}

export async function stopAllChildren() {
  closing = true;
  await Promise.allSettled([...running].reverse().map((child) => stopChild(child, { group: child.detached })));
}

/**
 * PostgreSQL servers started by a service under test. The service stops its server unless it was killed. In that case the
 * server is stopped here, before its data directory is removed.
 */
const watched = new Set();
export const watchServer = (pid) => watched.add(pid);
export const unwatchServer = (pid) => watched.delete(pid);

export async function stopWatchedServers() {
  for (const pid of watched) sendSignal({ pid }, 'SIGINT', false);
  const started = performance.now();
  while ([...watched].some(isAlive) && performance.now() - started < STOP_WITHIN_MS) await sleep(20);
  watched.clear();
}

/** Runs in the exit handler, where nothing can be awaited. */
export function killAllProcesses() {
  for (const child of running) sendSignal(child, 'SIGKILL', child.detached);
  for (const pid of watched) sendSignal({ pid }, 'SIGQUIT', false);
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export async function untilOutput(child, text) {
  while (!child.output.includes(text)) {
    const outcome = await Promise.race([once(child.stdout, 'data'), child.exited]);
    if ('code' in outcome) throw new Error(`${child.name} exited before it was ready: ${summarize(child.stderrTail)}`);
  }
}

function sendSignal(child, name, group) {
  try {
    process.kill(group ? -child.pid : child.pid, name);
  } catch {
    // The process has already exited.
  }
}

/** The error line of a failed process's standard error, or its last lines when there is none. */
function summarize(text) {
  const lines = text.trim().split('\n');
  const error = lines.find((line) => /^(\w*Error|npm (error|ERR!) code)\b/.test(line));
  return error ?? (lines.slice(-5).join(' | ') || undefined);
}
