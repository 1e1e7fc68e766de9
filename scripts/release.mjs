// npm run release -- [--dry-run] [--tag v<version>] [--out <folder>]: checks that version, changelog, chart and tag agree, and writes
// what a maintainer publishes. Without --dry-run and --tag it also creates the git tag; the workflow on a tag names it with --tag.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stagePackage } from './stage-package.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const { values: options } = parseArgs({
  options: { 'dry-run': { type: 'boolean' }, tag: { type: 'string' }, out: { type: 'string', default: 'release' } },
});
const isDryRun = options['dry-run'] ?? false;
const out = resolve(root, options.out);
const { name, version, repository } = JSON.parse(read('package.json'));
const tag = `v${version}`;

const notes = releaseNotes();
const problems = [...versionProblems(), ...tagProblems()];
if (problems.length > 0) {
  for (const problem of problems) console.error(`error: ${problem}`);
  process.exit(1);
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const scratch = mkdtempSync(join(tmpdir(), 'clean-conversions-'));
try {
  writePackage();
  writeChart();
} finally {
  rmSync(scratch, { recursive: true });
}
writeFileSync(join(out, 'Dockerfile'), imageOfPackage());
writeFileSync(join(out, 'sbom.cdx.json'), run(process.execPath, join(root, 'scripts/sbom.mjs')));
writeFileSync(join(out, 'RELEASE_NOTES.md'), notes);
writeFileSync(join(out, 'SHA256SUMS'), checksums());
for (const file of readdirSync(out)) console.log(`${file}: ${(statSync(join(out, file)).size / 1e6).toFixed(2)} MB`);
finishWithTag();

function versionProblems() {
  const chart = read('deploy/helm/Chart.yaml');
  const stated = ['version', 'appVersion'].filter(
    (field) => !new RegExp(`^${field}: "?${version}"?$`, 'm').test(chart),
  );
  return [
    ...stated.map((field) => `deploy/helm/Chart.yaml: ${field} is not ${version}, which package.json has.`),
    ...(notes === '' ? [`CHANGELOG.md has no section [${version}].`] : []),
  ];
}

function tagProblems() {
  if (options.tag !== undefined && options.tag !== tag)
    return [`The tag is ${options.tag}, the version is ${version}.`];
  const tagged = taggedCommit();
  if (tagged !== undefined && tagged !== git('rev-parse', 'HEAD')) return [`${tag} exists, and is another commit.`];
  if (options.tag !== undefined && tagged === undefined) return [`${tag} does not exist.`];
  const changed = git('status', '--porcelain');
  if (changed === '') return [];
  if (isDryRun) console.error('note: with changes that are not committed, which a release refuses.');
  return isDryRun ? [] : ['There are changes that are not committed.'];
}

/** The section of the version, in a dry run also the unreleased one. Links lead to the files of the tag. */
function releaseNotes() {
  const sections = read('CHANGELOG.md').split(/^## /m);
  const titles = isDryRun ? [`[${version}]`, '[Unreleased]'] : [`[${version}]`];
  const section = titles.map((title) => sections.find((each) => each.startsWith(title))).find((found) => found);
  const address = `${repository.url.replace(/^git\+|\.git$/g, '')}/blob/${tag}/`;
  const body = section?.slice(section.indexOf('\n')).trim() ?? '';
  return body && `${body.replace(/\]\((?!https?:|#)/g, `](${address}`)}\n`;
}

function writePackage() {
  const folder = join(scratch, 'package');
  stagePackage(folder);
  run('npm', 'pack', folder, '--ignore-scripts', '--pack-destination', out, '--loglevel=error');
}

/** As `helm package` does, without helm. Its name differs from that of the npm package. */
function writeChart() {
  cpSync(join(root, 'deploy/helm'), join(scratch, name), { recursive: true });
  run('tar', '-czf', join(out, `${name}-chart-${version}.tgz`), '-C', scratch, name);
}

/** The image of the checkout, with the published package in place of a build. */
function imageOfPackage() {
  const text = read('Dockerfile');
  const [build] = /^FROM [^\n]+ AS build\n[\s\S]*?(?=^FROM )/m.exec(text);
  return text.replace(build, `FROM scratch AS build\nADD ${name}-${version}.tgz /\n\n`);
}

function checksums() {
  const digest = (file) =>
    createHash('sha256')
      .update(readFileSync(join(out, file)))
      .digest('hex');
  return readdirSync(out)
    .map((file) => `${digest(file)}  ${file}\n`)
    .join('');
}

function finishWithTag() {
  if (isDryRun) {
    console.log(`Dry run: ${out} has what would be published; the tag ${tag} was not created.`);
    return;
  }
  if (taggedCommit() === undefined)
    git('tag', '--annotate', tag, '--cleanup=whitespace', '--file', join(out, 'RELEASE_NOTES.md'));
  console.log(`${out} has what is to be published. The workflow publishes it: git push origin ${tag}`);
}

function taggedCommit() {
  try {
    return git('rev-parse', '--quiet', '--verify', `refs/tags/${tag}^{commit}`);
  } catch {
    return undefined;
  }
}

function git(...args) {
  return run('git', ...args).trim();
}

function run(command, ...args) {
  return execFileSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1e8,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function read(file) {
  return readFileSync(join(root, file), 'utf8');
}
