import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const READY_WITHIN_MS = 60_000;

/** The Node that runs this test is the first in PATH, so that npm and the service use it as well. */
const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);

describe('npm start', () => {
  let dataDir: string;
  let child: ChildProcess | undefined;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'cc-start-'));
  });
  afterEach(() => {
    if (child?.pid && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  it(`prints a working curl command and no warning on Node ${process.versions.node}`, async () => {
    const env = { PATH, HOME: dataDir, DATA_DIR: dataDir, PORT: '0' };
    expect(execFileSync('node', ['--version'], { env, encoding: 'utf8' }).trim()).toBe(process.version);
    // In its own process group, so that it can be interrupted like Ctrl-C in a terminal does.
    const npm = spawn('npm', ['start'], { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    child = npm;
    let output = '';
    const banner = new Promise<string>((resolve, reject) => {
      const deadline = setTimeout(() => reject(new Error(`No banner in time: ${output}`)), READY_WITHIN_MS);
      for (const stream of [npm.stdout, npm.stderr]) {
        stream.setEncoding('utf8').on('data', (text) => {
          output += text;
          if (output.includes('Stop: Ctrl-C')) resolve(output);
        });
      }
      npm.once('exit', (code) => reject(new Error(`Exited with ${code}: ${output}`)));
      npm.once('exit', () => clearTimeout(deadline));
    });
    const curl = /^curl .*$/m.exec(await banner)?.[0] as string;
    const receipt = JSON.parse(execFileSync('bash', ['-c', curl], { env: { PATH }, encoding: 'utf8', stdio: 'pipe' }));
    expect(receipt).toMatchObject({
      ok: true,
      event: 'purchase',
      results: { meta: { ok: true, status: 'delivered' } },
    });
    const exited = once(npm, 'exit');
    process.kill(-(npm.pid as number), 'SIGINT');
    await exited;
    expect(output).not.toMatch(/warning|error/i);
  }, 120_000);
});
