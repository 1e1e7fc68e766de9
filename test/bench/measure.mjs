// One measurement: load on one variant, and the CPU that its server and PostgreSQL used meanwhile.
import { startChild } from './children.mjs';
import { cpuSeconds, hasCounters, treeCpuSeconds } from './counters.mjs';

/**
 * Runs a load generator (HTTP or append) to its end. CPU is read when it reports the end of its warm-up, and at its end.
 * @param watch pids: `server` (one process), `postgres` (a postmaster and its children) and `sandbox` (one process)
 */
export async function measure(name, command, args, { env, watch = {} } = {}) {
  const child = startChild(name, command, args, { env });
  const read = () => ({
    server: watch.server && hasCounters ? cpuSeconds(watch.server) : undefined,
    postgres: watch.postgres && hasCounters ? treeCpuSeconds(watch.postgres) : undefined,
    sandbox: watch.sandbox && hasCounters ? cpuSeconds(watch.sandbox) : undefined,
  });
  let before = read();
  const onStderr = () => {
    if (!child.stderrTail.includes('measuring\n')) return;
    before = read();
    child.stderr.off('data', onStderr);
  };
  child.stderr.on('data', onStderr);
  const { code, error } = await child.exited;
  const after = read();
  const stderr = child.stderrTail.replace('measuring\n', '').trim();
  if (code !== 0) throw new Error(`${name}: ${error?.message ?? (stderr || `exit code ${code}`)}`);
  return sample(JSON.parse(child.output), before, after, stderr);
}

/** @returns rates per second, CPU in microseconds per request, latencies in milliseconds */
export function sample(result, before, after, stderr = '') {
  const microseconds = (seconds) => (seconds === undefined ? undefined : (seconds / result.requests) * 1e6);
  const spent = (part) => (before[part] === undefined ? undefined : after[part] - before[part]);
  return {
    ...result,
    errors: result.failures + (result.non200 ?? 0) + (result.wrong ?? 0),
    stderr,
    // A store that is driven within the generator's process reports its own CPU time.
    cpuServer: microseconds(result.cpuSeconds ?? spent('server')),
    cpuPostgres: microseconds(spent('postgres')),
    cpuSandbox: microseconds(spent('sandbox')),
    clientShare: result.clientCpuSeconds === undefined ? undefined : result.clientCpuSeconds / result.seconds,
  };
}
