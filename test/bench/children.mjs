// Every process the benchmark starts, so that none outlives it: they are ended by their own pid, also on Ctrl-C.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const running = new Set();
let closing = false;
const STOP_WITHIN_MS = 15_000;
const STDERR_KEPT = 4_000;
const STDOUT_KEPT = 100_000;

export function startChild(name, command, args, { env = {}, cwd, detached = false } = {}) {
  if (closing) throw new Error(`${name} was not started: the benchmark is being stopped`);
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    cwd,
    detached,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.name = name;
  child.detached = detached;
  child.complaints = '';
  child.output = '';
  child.stdout.on('data', (chunk) => {
    child.output = (child.output + chunk).slice(-STDOUT_KEPT);
  });
  child.stderr.on('data', (chunk) => {
    child.complaints = (child.complaints + chunk).slice(-STDERR_KEPT);
  });
  child.gone = new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    child.once('error', (error) => resolve({ code: null, signal: null, error }));
  }).then((outcome) => {
    running.delete(child);
    return outcome;
  });
  running.add(child);
  return child;
}

/** A short-lived command: resolves with what it printed, rejects with what it complained about. */
export async function runChild(name, command, args, options) {
  const child = startChild(name, command, args, options);
  const { code, error } = await child.gone;
  if (code === 0) return child.output;
  throw new Error(`${name} failed: ${error?.message ?? gist(child.complaints) ?? `exit code ${code}`}`);
}

/** Resolves with the milliseconds until `url` answered 200. */
export async function answers(child, url, { withinMs = 60_000 } = {}) {
  const started = performance.now();
  let gone;
  child.gone.then((outcome) => {
    gone = outcome;
  });
  while (performance.now() - started < withinMs) {
    if (gone) throw new Error(`${child.name} ended before it was ready: ${gist(child.complaints)}`);
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      await response.arrayBuffer();
      if (response.status === 200) return performance.now() - started;
    } catch {
      // Not listening yet.
    }
    await sleep(20);
  }
  throw new Error(`${child.name} was not ready within ${withinMs / 1000} s: ${gist(child.complaints)}`);
}

/** Resolves with the milliseconds the process took to end, and its exit code. `group`: as Ctrl-C in a terminal would. */
export async function stopChild(child, { group = false } = {}) {
  const started = performance.now();
  signal(child, 'SIGTERM', group);
  const outcome = await Promise.race([child.gone, sleep(STOP_WITHIN_MS, undefined, { ref: false })]);
  if (outcome) return { ms: performance.now() - started, code: outcome.code };
  signal(child, 'SIGKILL', group);
  await child.gone;
  throw new Error(`${child.name} did not stop within ${STOP_WITHIN_MS / 1000} s`);
}

export async function stopAllChildren() {
  closing = true;
  await Promise.allSettled([...running].reverse().map((child) => stopChild(child, { group: child.detached })));
}

/**
 * PostgreSQL servers that somebody else started on our behalf. Whoever did stops them as well, unless it was killed: then
 * they are told to here, and nobody removes their files before they have gone.
 */
const watched = new Set();
export const watchServer = (pid) => watched.add(pid);
export const letGoOfServer = (pid) => watched.delete(pid);

export async function stopWatchedServers() {
  for (const pid of watched) signal({ pid }, 'SIGINT', false);
  const started = performance.now();
  while ([...watched].some(isAlive) && performance.now() - started < STOP_WITHIN_MS) await sleep(20);
  watched.clear();
}

/** The last resort, in an exit handler, where nothing can be awaited. */
export function killEverything() {
  for (const child of running) signal(child, 'SIGKILL', child.detached);
  for (const pid of watched) signal({ pid }, 'SIGQUIT', false);
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
    const outcome = await Promise.race([once(child.stdout, 'data'), child.gone]);
    if ('code' in outcome) throw new Error(`${child.name} ended before it was ready: ${gist(child.complaints)}`);
  }
}

function signal(child, name, group) {
  try {
    process.kill(group ? -child.pid : child.pid, name);
  } catch {
    // It has ended already.
  }
}

/** What a process said when it failed: the error itself where one can be told from its stack, else the last lines. */
function gist(text) {
  const lines = text.trim().split('\n');
  const error = lines.find((line) => /^(\w*Error|npm (error|ERR!) code)\b/.test(line));
  return error ?? (lines.slice(-5).join(' | ') || undefined);
}
