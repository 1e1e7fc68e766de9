import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/waiting.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KEEPER = fileURLToPath(new URL('./keeper.mjs', import.meta.url));
/** Needs a server and a browser. */
const SPEC = 'test/browser/journey';

/** Parts of the command lines of the server, the browser and a worker. */
const PARTS = [' -D ', '--type=gpu-process', '--enable-source-maps'];

interface Running {
  readonly pid: number;
  readonly parent: number;
  /** Arguments, separated by blanks: a process may have joined them itself. */
  readonly command: string;
}

function processes(): Running[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [, parent = ''] = /\) \w (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return [{ pid: Number(pid), parent: Number(parent), command }];
      } catch {
        // It has ended.
        return [];
      }
    });
}

/** Without the ones that have ended and wait for their parent, whose command line is empty. */
function startedBy(root: number, all: readonly Running[]): Running[] {
  const children = all.filter(({ parent, command }) => parent === root && command.trim() !== '');
  return children.flatMap((child) => [child, ...startedBy(child.pid, all)]);
}

/** The folder of a run, from the command line of its keeper. */
function folderOf(all: readonly Running[]): string {
  const { command = '' } = all.find((one) => one.command.includes(KEEPER)) ?? {};
  return command.split(`${KEEPER} `)[1]?.trim() ?? 'no folder yet';
}

it.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
  'a run that %s ends leaves no process and no folder',
  async (signal) => {
    const args = ['node_modules/jest/bin/jest.js', '-c', 'test/jest.config.mjs', '--testPathPatterns', SPEC];
    const run = spawn(process.execPath, args, { cwd: ROOT, env: { PATH: process.env['PATH'] ?? '' }, stdio: 'ignore' });
    const ofRun = () => {
      const all = processes();
      const started = startedBy(run.pid as number, all);
      const folder = folderOf(started);
      return [...started, ...all.filter(({ command }) => command.includes(folder))];
    };
    const found = await eventually(
      async () => ofRun(),
      (all) => PARTS.every((part) => all.some(({ command }) => command.includes(part))),
    );
    const folder = folderOf(found);
    run.kill(signal);
    const isLeft = ({ pid, command }: Running) =>
      command.includes(folder) || found.some((one) => one.pid === pid && one.command === command);
    await eventually(
      async () => ({ left: processes().filter(isLeft), exists: existsSync(folder) }),
      ({ left, exists }) => left.length === 0 && !exists,
    );
  },
);
