// Runs the drills of the relay and the broker, which are Jest suites and print their own tables.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const JEST = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];

export async function drill({ short }) {
  if (short) return [{ what: 'short variants', result: 'part of npm test', ok: true }];
  const { status } = spawnSync(process.execPath, [...JEST, '-c', 'test/drills/jest.config.mjs', '--runInBand'], {
    cwd: root,
    stdio: 'inherit',
  });
  return [
    {
      what: 'kills, freezes and outages',
      result: status === 0 ? 'see the tables above' : 'see above',
      ok: status === 0,
    },
  ];
}
