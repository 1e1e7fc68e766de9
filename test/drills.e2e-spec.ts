import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const RUN = fileURLToPath(new URL('./drills/run.mjs', import.meta.url));

/** Runs a drill as `npm run drills` does; the long and the random ones run there only. */
async function runDrill(name: string): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [RUN, '--short', '--seed', '1', name], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await exited;
  return { code, output: output + errors };
}

describe('fault drills', () => {
  it('lose nothing when instances are stopped during a stall, stopped while frozen, and killed after a freeze', async () => {
    const { code, output } = await runDrill('stop-and-freeze');
    process.stdout.write(output);
    expect({ code, failed: output.split('\n').filter((line) => line.startsWith('  FAIL')) }).toEqual({
      code: 0,
      failed: [],
    });
  }, 600_000);
});
