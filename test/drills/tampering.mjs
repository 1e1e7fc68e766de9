// Changes of the log by a superuser: the integration spec makes each of them and looks for it with `history verify`.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './harness/root.mjs';

const SPEC = 'test/tampering.int-spec.ts';
const JEST = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];

export async function drill() {
  if (!existsSync(join(ROOT, SPEC))) return [{ what: SPEC, result: 'does not exist', ok: false }];
  const options = ['-c', 'test/jest.config.mjs', '--selectProjects', 'integration', '--testPathPatterns', SPEC];
  const { status } = spawnSync(process.execPath, [...JEST, ...options], { cwd: ROOT, stdio: 'inherit' });
  return [{ what: 'every kind of change is found, with its position', result: 'see above', ok: status === 0 }];
}
