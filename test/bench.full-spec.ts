import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

describe('npm run bench', () => {
  it('refuses a comparison together with another part before anything is started', () => {
    const script = fileURLToPath(new URL('./bench/run.mjs', import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [script, '--against', 'HEAD', '--grow'], {
      encoding: 'utf8',
    });
    const message = '--against is a part of its own: leave out the other parts.';
    expect({ status, stderr: stderr.trim() }).toEqual({ status: 2, stderr: message });
  });
});
