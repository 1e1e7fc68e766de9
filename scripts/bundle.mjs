// `npm pack` runs it before (on) and after (off) it makes the tarball, which contains the production dependencies as they are
// installed here. The list of them is in package.json only meanwhile: with it, `npm ci` in a checkout takes many times as long.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const manifest = join(root, 'package.json');
/** One line, so that removing it leaves the file as it was. */
const LIST = / {2}"bundleDependencies": .*\n/;

const action = process.argv[2];
if (action === 'refuse') {
  // npm would publish the package.json from before `on` beside a tarball made after it.
  console.error('Publish the tarball instead: npm pack, then npm publish ./clean-conversions-<version>.tgz');
  process.exit(1);
}
const text = readFileSync(manifest, 'utf8').replace(LIST, '');
if (action === 'on') {
  emptyScarf();
  const names = JSON.stringify(Object.keys(JSON.parse(text).dependencies));
  replaceManifest(text.replace('{\n', `{\n  "bundleDependencies": ${names},\n`));
} else {
  replaceManifest(text);
}

function replaceManifest(content) {
  writeFileSync(`${manifest}.new`, content);
  renameSync(`${manifest}.new`, manifest);
}

/**
 * npm before version 12 runs the install scripts of what it bundles. That of Scarf does nothing but report an installation to its
 * makers, and no code loads it: an empty package takes its place.
 */
function emptyScarf() {
  const folder = join(root, 'node_modules/@scarf/scarf');
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const empty = { name, version, license: 'Apache-2.0', description: 'Left out: it only reports installations.' };
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(empty, null, 2)}\n`);
}
