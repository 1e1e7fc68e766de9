import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/waiting.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SPEC = 'test/postgres/transaction.int-spec.ts';

/** Command lines of all processes, by id. */
function commandLines(): Map<number, string[]> {
  const read = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    } catch {
      // It has ended.
      return [];
    }
  };
  return new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => [Number(name), read(name)] as const),
  );
}

/** Folders of the runs of this checkout. */
function runFolders(): string[] {
  return [...commandLines().values()].flatMap((line) => {
    const at = line.findIndex((part) => part.endsWith('test/runner/keeper.mjs'));
    return at < 0 ? [] : (line.slice(at + 1, at + 2) as [string]);
  });
}

const naming = (folder: string) =>
  [...commandLines().values()].filter((line) => line.some((part) => part.includes(folder)));

it.each(['SIGKILL', 'SIGINT'] as const)(
  'a run that %s ends leaves no server and no folder behind',
  async (signal) => {
    const others = runFolders();
    const args = ['node_modules/jest/bin/jest.js', '-c', 'test/jest.config.mjs', '--testPathPatterns', SPEC];
    const run = spawn(process.execPath, args, { cwd: ROOT, env: { PATH: process.env['PATH'] ?? '' }, stdio: 'ignore' });
    const [folder] = (await eventually(
      async () => runFolders().filter((found) => !others.includes(found)),
      (found) => found.length === 1 && naming(found[0] as string).some((line) => line.includes('-D')),
      { withinMs: 60_000 },
    )) as [string];
    run.kill(signal);
    await eventually(
      async () => [naming(folder).length, existsSync(folder)],
      ([processes, exists]) => processes === 0 && !exists,
      { withinMs: 60_000 },
    );
  },
  180_000,
);
