import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { temporaryFolder } from './support/folders.js';

const checkout = join(import.meta.dirname, '..');
const project = temporaryFolder('cc-release-project-');
const VERSION = '1.2.3';
const TAG = `v${VERSION}`;

const git = (...args: string[]) => execFileSync('git', args, { cwd: project, encoding: 'utf8', stdio: 'pipe' }).trim();
const release = (...args: string[]) =>
  spawnSync(process.execPath, ['scripts/release.mjs', ...args], { cwd: project, encoding: 'utf8' });
const write = (file: string, content: object | string) => {
  mkdirSync(join(project, file, '..'), { recursive: true });
  writeFileSync(join(project, file), typeof content === 'string' ? content : JSON.stringify(content));
};
const commit = (message: string) => {
  git('add', '--all');
  git('commit', '--quiet', '--message', message);
};

beforeAll(() => {
  cpSync(join(checkout, 'scripts'), join(project, 'scripts'), { recursive: true });
  for (const file of ['Dockerfile', 'LICENSE']) cpSync(join(checkout, file), join(project, file));
  const repository = { url: 'git+https://example.com/project.git' };
  const manifest = { name: 'project', version: VERSION, repository, scripts: { test: 'true' }, devDependencies: {} };
  write('package.json', { ...manifest, type: 'module', files: ['index.js'], dependencies: {} });
  const dependency = { version: '1.0.0', license: 'Apache-2.0', integrity: 'sha512-AAAA' };
  write('package-lock.json', { packages: { '': {}, 'node_modules/@scarf/scarf': dependency } });
  write('node_modules/@scarf/scarf/package.json', { name: '@scarf/scarf', version: '1.0.0' });
  write('index.js', '');
  write('.gitignore', 'node_modules/\nrelease/\n');
  write('deploy/helm/Chart.yaml', `name: project\nversion: ${VERSION}\nappVersion: ${VERSION}\n`);
  write(
    'CHANGELOG.md',
    `# Changelog\n\n## [Unreleased]\n\n- A [page](docs/security.md).\n\n## [1.2.2]\n\n- Earlier.\n`,
  );
  git('init', '--quiet', '--initial-branch', 'main');
  git('config', 'user.name', 'Test');
  git('config', 'user.email', 'test@example.com');
  commit('Add a project');
});

describe('npm run release', () => {
  it('refuses a version without a section in the changelog, unless it is a dry run', () => {
    expect(release()).toMatchObject({ status: 1, stderr: `error: CHANGELOG.md has no section [${VERSION}].\n` });
    expect(release('--dry-run')).toMatchObject({ status: 0 });
    expect(readFileSync(join(project, 'release/RELEASE_NOTES.md'), 'utf8')).toBe(
      `- A [page](https://example.com/project/blob/${TAG}/docs/security.md).\n`,
    );
    expect(git('tag')).toBe('');
  });

  it('refuses a chart of another version', () => {
    const chart = readFileSync(join(project, 'deploy/helm/Chart.yaml'), 'utf8');
    write('deploy/helm/Chart.yaml', chart.replace(`appVersion: ${VERSION}`, 'appVersion: 1.2.30'));
    expect(release('--dry-run')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`appVersion is not ${VERSION}`),
    });
    write('deploy/helm/Chart.yaml', chart);
  });

  it('refuses changes that are not committed', () => {
    const changelog = readFileSync(join(project, 'CHANGELOG.md'), 'utf8');
    write('CHANGELOG.md', changelog.replace('[Unreleased]', `[${VERSION}]`));
    expect(release()).toMatchObject({ status: 1, stderr: 'error: There are changes that are not committed.\n' });
    commit('Release the version');
  });

  it('refuses a tag of another version, and one that does not exist', () => {
    expect(release('--tag', 'v9.9.9')).toMatchObject({
      status: 1,
      stderr: `error: The tag is v9.9.9, the version is ${VERSION}.\n`,
    });
    expect(release('--tag', TAG)).toMatchObject({ status: 1, stderr: `error: ${TAG} does not exist.\n` });
  });

  it('creates the tag with the notes, and writes the same again for the tag', () => {
    expect(release()).toMatchObject({ status: 0, stdout: expect.stringContaining(`git push origin ${TAG}`) });
    expect(git('rev-parse', `${TAG}^{commit}`)).toBe(git('rev-parse', 'HEAD'));
    const notes = readFileSync(join(project, 'release/RELEASE_NOTES.md'), 'utf8');
    expect(git('tag', '--list', '--format=%(contents)', TAG)).toBe(notes.trim());
    const archive = join(project, `release/project-${VERSION}.tgz`);
    const first = readFileSync(archive);
    expect(release('--tag', TAG)).toMatchObject({ status: 0 });
    expect(readFileSync(archive).equals(first)).toBe(true);
  });

  it('leaves out of the manifest what only a checkout uses', () => {
    const args = ['-xOzf', join(project, `release/project-${VERSION}.tgz`), 'package/package.json'];
    const manifest = JSON.parse(execFileSync('tar', args, { encoding: 'utf8' }));
    expect(manifest).toMatchObject({ name: 'project', version: VERSION, bundleDependencies: [] });
    for (const name of ['scripts', 'devDependencies']) expect(manifest).not.toHaveProperty(name);
  });

  it('refuses a tag that is another commit', () => {
    appendFileSync(join(project, 'CHANGELOG.md'), '\n');
    commit('Change something');
    expect(release('--tag', TAG)).toMatchObject({
      status: 1,
      stderr: `error: ${TAG} exists, and is another commit.\n`,
    });
  });
});

describe('the workflow of a release', () => {
  interface Step {
    readonly uses?: string;
    readonly run?: string;
  }
  const workflow = load(readFileSync(join(checkout, '.github/workflows/release.yml'), 'utf8')) as {
    readonly on: { readonly push: { readonly tags: string[] } };
    readonly jobs: Record<string, { permissions?: Record<string, string>; needs?: string; steps?: Step[] }>;
  };
  const { permissions, needs, steps = [] } = workflow.jobs['publish'] ?? {};

  it('tests the tag, then publishes what npm run release writes for it, with provenance', () => {
    expect(workflow.on.push.tags).toEqual(['v*']);
    expect(needs).toBe('test');
    expect(permissions).toMatchObject({ 'id-token': 'write', attestations: 'write', contents: 'write' });
    const commands = steps.map(({ run = '' }) => run).join('\n');
    expect(commands).toContain('npm run release -- --tag "$GITHUB_REF_NAME"');
    expect(commands).toMatch(/npm publish \.\/release\/clean-conversions-\$\{VERSION\}\.tgz/);
    expect(commands).toContain('gh release create');
    expect(steps.filter(({ uses }) => uses?.startsWith('actions/attest-build-provenance@'))).toHaveLength(2);
  });

  it('names only files that a release has', () => {
    const text = readFileSync(join(checkout, '.github/workflows/release.yml'), 'utf8');
    const named = [...text.matchAll(/release\/([\w.-]+(?:\$\{VERSION\})?[\w.-]*)/g)].map(([, file]) => file as string);
    const files = named.map((file) => file.replace('clean-conversions', 'project').replace(`\${VERSION}`, VERSION));
    expect(files.length).toBeGreaterThan(2);
    expect(files.filter((file) => !existsSync(join(project, 'release', file)))).toEqual([]);
  });
});
