// Cleans up after a run, whether it ended, was interrupted or was killed: its standard input is a pipe that the run holds open.
// Everything that specs start works below the folder of the run, so a process that names it belongs to the run.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [folder] = process.argv.slice(2);
const QUIT_WITHIN_MS = 10_000;

process.stdin.resume();
process.stdin.on('end', async () => {
  const startedMs = performance.now();
  for (let found = processesOf(folder); found.length > 0; found = processesOf(folder)) {
    // To PostgreSQL this means to stop at once; killed, it would leave shared memory behind.
    const signal = performance.now() - startedMs < QUIT_WITHIN_MS ? 'SIGQUIT' : 'SIGKILL';
    for (const pid of found) {
      kill(pid, signal);
      // One that was stopped must run to quit.
      kill(pid, 'SIGCONT');
    }
    await sleep(50);
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

function processesOf(path) {
  const pids = existsSync('/proc/self') ? fromProc(path) : fromPs(path);
  return pids.filter((pid) => pid !== process.pid);
}

function fromProc(path) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => mentions(pid, path));
}

/** For macOS: the arguments and the environment of each process. */
function fromPs(path) {
  const { stdout = '' } = spawnSync('ps', ['-axEww', '-o', 'pid=,command='], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .filter((line) => line.includes(path))
    .map((line) => Number.parseInt(line, 10));
}

function mentions(pid, path) {
  const read = [
    () => readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
    () => readFileSync(`/proc/${pid}/environ`, 'utf8'),
    () => readlinkSync(`/proc/${pid}/cwd`),
  ];
  return read.some((text) => {
    try {
      return text().includes(path);
    } catch {
      // It has exited, or belongs to another user.
      return false;
    }
  });
}

function kill(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It has exited.
  }
}
