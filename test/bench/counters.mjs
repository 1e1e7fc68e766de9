// CPU and memory of other processes, from Linux's /proc. Elsewhere there is no such thing and the table says so.
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100; // USER_HZ: 100 on every Linux that Node runs on

export const hasCounters = process.platform === 'linux';

/** CPU seconds of one process so far, all its threads. */
export function cpuSeconds(pid) {
  const { own } = readStat(pid);
  return own / TICKS_PER_SECOND;
}

/**
 * CPU seconds of a process and everything below it so far. A parent's counters include the children it has waited for,
 * and the postmaster waits for all of its own, so a backend that has ended meanwhile is not lost.
 */
export function treeCpuSeconds(root) {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      parents.set(Number(name), readStat(name));
    } catch {
      // It ended while we looked; its parent has its counters now.
    }
  }
  const belongs = (pid) => pid === root || (parents.has(pid) && belongs(parents.get(pid).parent));
  let ticks = 0;
  for (const [pid, { own, waitedFor }] of parents) if (belongs(pid)) ticks += own + waitedFor;
  return ticks / TICKS_PER_SECOND;
}

export function rssMegabytes(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number(kilobytes) * 1024) / 1e6;
}

function readStat(pid) {
  // The second field is the name in brackets and may hold anything: what counts begins after the last bracket.
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number);
  return { parent: Number(fields[1]), own: utime + stime, waitedFor: cutime + cstime };
}
