// One stretch of load against one thing, with the CPU that its server and its PostgreSQL took meanwhile.
import { startChild } from './children.mjs';
import { cpuSeconds, hasCounters, treeCpuSeconds } from './counters.mjs';

/**
 * Runs a load generator (HTTP or append) to its end. CPU is read when it says that its warm-up is over, and at its end.
 * @param watch pids: `server` (one process), `postgres` (a postmaster and all below it) and `sandbox` (one process)
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
    if (!child.complaints.includes('measuring\n')) return;
    before = read();
    child.stderr.off('data', onStderr);
  };
  child.stderr.on('data', onStderr);
  const { code, error } = await child.gone;
  const after = read();
  const said = child.complaints.replace('measuring\n', '').trim();
  if (code !== 0) throw new Error(`${name}: ${error?.message ?? (said || `exit code ${code}`)}`);
  return sample(JSON.parse(child.output), before, after, said);
}

/** @returns rates per second, CPU in microseconds a request, latencies in milliseconds */
export function sample(result, before, after, said = '') {
  const microseconds = (seconds) => (seconds === undefined ? undefined : (seconds / result.requests) * 1e6);
  const spent = (part) => (before[part] === undefined ? undefined : after[part] - before[part]);
  return {
    ...result,
    errors: result.failures + (result.non200 ?? 0) + (result.wrong ?? 0),
    said,
    // A store that is driven in its own process measures that process itself.
    cpuServer: microseconds(result.cpuSeconds ?? spent('server')),
    cpuPostgres: microseconds(spent('postgres')),
    cpuSandbox: microseconds(spent('sandbox')),
    clientShare: result.clientCpuSeconds === undefined ? undefined : result.clientCpuSeconds / result.seconds,
  };
}
