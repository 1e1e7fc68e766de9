// CPU and memory of other processes, from Linux's /proc. On other systems the report notes that they are missing.
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100; // USER_HZ: 100 on every Linux that Node runs on

export const hasCounters = process.platform === 'linux';

/** CPU seconds of one process so far, over all threads. */
export function cpuSeconds(pid) {
  const { own } = readStat(pid);
  return own / TICKS_PER_SECOND;
}

/**
 * CPU seconds of a process and its descendants so far. A parent's counters include the children it has waited for, and
 * the postmaster waits for all of its children, so a backend that has exited is counted.
 */
export function treeCpuSeconds(root) {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      parents.set(Number(name), readStat(name));
    } catch {
      // It exited meanwhile. Its parent's counters include it.
    }
  }
  const isDescendant = (pid) => pid === root || (parents.has(pid) && isDescendant(parents.get(pid).parent));
  let ticks = 0;
  for (const [pid, { own, waitedFor }] of parents) if (isDescendant(pid)) ticks += own + waitedFor;
  return ticks / TICKS_PER_SECOND;
}

export function rssMegabytes(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number(kilobytes) * 1024) / 1e6;
}

function readStat(pid) {
  // The second field is the process name in parentheses and may contain spaces: parse after the last parenthesis.
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number);
  return { parent: Number(fields[1]), own: utime + stime, waitedFor: cutime + cstime };
}
