import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const DRILLS = new URL('./drills/', import.meta.url);
const RUN = fileURLToPath(new URL('run.mjs', DRILLS));
const NOTHING = fileURLToPath(new URL('breaks/service.mjs', DRILLS));
const MODULES = ['short-windows.mjs', ...readdirSync(new URL('breaks/', DRILLS)).map((name) => `breaks/${name}`)];

/** Runs a drill as `npm run drills` does; the long and the random ones run there only. */
async function runDrill(name: string): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [RUN, '--short', '--seed', '1', name], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await exited;
  return { code, output: output + errors };
}

async function expectHeld(name: string): Promise<string> {
  const { code, output } = await runDrill(name);
  process.stdout.write(output);
  const failed = output.split('\n').filter((line) => line.startsWith('  FAIL'));
  expect({ code, failed }).toEqual({ code: 0, failed: [] });
  return output;
}

describe('fault drills', () => {
  it.each(MODULES)('load %s into a service that has what it changes', async (module) => {
    const child = spawn(process.execPath, ['--import', new URL(module, DRILLS).href, NOTHING], {
      env: { ...process.env, DRILL_ROOT: fileURLToPath(new URL('../', import.meta.url)) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exited = once(child, 'exit');
    const errors = await text(child.stderr);
    expect([await exited, errors]).toEqual([[0, null], '']);
  });

  it('lose nothing when instances are stopped during a stall, stopped while frozen, and killed after a freeze', async () => {
    await expectHeld('stop-and-freeze');
  }, 600_000);

  it('lose no reporting window and change no total under kills and freezes, and in other time zones', async () => {
    expect(await expectHeld('outbound-kills')).toMatch(/windows acknowledged: \d\d/);
    await expectHeld('outbound-ticks');
  }, 600_000);
});
