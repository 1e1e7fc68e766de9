// `npm pack` in a checkout runs it before (on) and after (off) it makes the tarball, which contains the production dependencies as they
// are installed here. The list of them is in package.json only meanwhile: with it, `npm ci` in a checkout takes many times as long.
// A release packs what scripts/stage-package.mjs writes, which is a third of it.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { emptyReporter } from './stage-package.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const manifest = join(root, 'package.json');
/** One line, so that removing it leaves the file as it was. */
const LIST = / {2}"bundleDependencies": .*\n/;

const action = process.argv[2];
if (action === 'refuse') {
  // npm would publish the package.json from before `on` beside a tarball made after it.
  console.error(
    'Publish the tarball of a release instead: npm run release, then npm publish release/clean-conversions-<version>.tgz',
  );
  process.exit(1);
}
const text = readFileSync(manifest, 'utf8').replace(LIST, '');
if (action === 'on') {
  emptyReporter(root);
  const names = JSON.stringify(Object.keys(JSON.parse(text).dependencies));
  replaceManifest(text.replace('{\n', `{\n  "bundleDependencies": ${names},\n`));
} else {
  replaceManifest(text);
}

function replaceManifest(content) {
  writeFileSync(`${manifest}.new`, content);
  renameSync(`${manifest}.new`, manifest);
}
