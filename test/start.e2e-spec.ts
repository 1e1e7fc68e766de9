import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findPostmaster } from '../src/postgres/postmaster.js';
import { temporaryFolder } from './support/folders.js';
import { eventually } from './support/waiting.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const READY_WITHIN_MS = 60_000;

/** The Node that runs this test is the first in PATH, so that npm and the service use it as well. */
const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);

const NPM_START = { command: 'npm', args: ['start'] };
const NPX_START = { command: 'npx', args: ['clean-conversions', 'start'] };

describe('the service, started by npm', () => {
  let dataDir: string;
  let child: ChildProcess | undefined;

  /** Resolves when the service is ready. In its own process group, so that a signal can reach npm alone or all of it, as Ctrl-C. */
  async function start(
    { command, args }: typeof NPM_START,
    env: Record<string, string>,
  ): Promise<{ npm: ChildProcess; output(): string }> {
    const npm = spawn(command, args, { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    child = npm;
    let output = '';
    await new Promise<void>((resolve, reject) => {
      const deadline = setTimeout(() => reject(new Error(`No banner in time: ${output}`)), READY_WITHIN_MS);
      for (const stream of [npm.stdout, npm.stderr]) {
        stream.setEncoding('utf8').on('data', (text) => {
          output += text;
          if (!output.includes('Stop: Ctrl-C')) return;
          clearTimeout(deadline);
          resolve();
        });
      }
      npm.once('exit', (code) => reject(new Error(`Exited with ${code}: ${output}`)));
    });
    return { npm, output: () => output };
  }

  beforeEach(() => {
    dataDir = temporaryFolder('cc-start-');
  });
  afterEach(() => {
    if (child?.pid && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  it(`prints a working curl command and no warning on Node ${process.versions.node}`, async () => {
    const env = { PATH, HOME: dataDir, DATA_DIR: dataDir, PORT: '0' };
    expect(execFileSync('node', ['--version'], { env, encoding: 'utf8' }).trim()).toBe(process.version);
    const { npm, output } = await start(NPM_START, env);
    const curl = /^curl .*$/m.exec(output())?.[0] as string;
    const receipt = JSON.parse(execFileSync('bash', ['-c', curl], { env: { PATH }, encoding: 'utf8', stdio: 'pipe' }));
    expect(receipt).toMatchObject({
      ok: true,
      event: 'purchase',
      results: { meta: { ok: true, status: 'delivered' } },
    });
    const exited = once(npm, 'exit');
    process.kill(-(npm.pid as number), 'SIGINT');
    await exited;
    expect(output()).not.toMatch(/warning|error/i);
  });

  it.each([NPM_START, NPX_START])(
    'stops with its database and the management API when $command is terminated',
    async (program) => {
      const { npm } = await start(program, { PATH, HOME: dataDir, DATA_DIR: dataDir, PORT: '0', ADMIN_PORT: '0' });
      const group = -(npm.pid as number);
      const database = findPostmaster(join(dataDir, 'postgres')) as number;
      process.kill(npm.pid as number, 'SIGTERM');
      await eventually(
        async () => [isRunning(group), isRunning(database)],
        ([all, one]) => !all && !one,
      );
      child = undefined;
    },
  );
});

/** Whether a process exists, or, if the number is negative, one of its group. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
