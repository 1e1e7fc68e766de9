// Separate cores for a service and for everything else, so that they do not preempt each other. Linux with `taskset` only.
import { execFileSync } from 'node:child_process';
import os from 'node:os';

const SERVICE_CORE = 0;

/** Leaves the first core to the services. Processes started from now on inherit it. @returns whether it was possible */
export function leaveServiceCore() {
  if (os.availableParallelism() < 2) return false;
  return pin(process.pid, `${SERVICE_CORE + 1}-${os.availableParallelism() - 1}`);
}

/** Pins a service that has started its PostgreSQL, which stays where it is. */
export function pinService({ pid }) {
  pin(pid, String(SERVICE_CORE));
}

function pin(pid, cores) {
  try {
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
