// node --experimental-import-meta-resolve test/support/lost-imports.mjs <staged package>: follows the imports of the service through
// its dependencies, and prints those that lead to a file in the checkout and to none in the staged package, as a JSON array.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { productionFolders } from '../../scripts/licences-document.mjs';

const IMPORTS = /\b(require(?:\.resolve)?\(|import\(|from|import)\s*(['"])([^'"\n]+)\2/g;
const checkout = fileURLToPath(new URL('../..', import.meta.url));
const [staged] = process.argv.slice(2);
const { packages } = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8'));
const shipped = ['dist/', ...productionFolders(packages).map((folder) => `${folder}/`)];

const lost = [];
const files = new Set(
  readdirSync(join(staged, 'dist'), { recursive: true })
    .map((file) => join('dist', file))
    .filter((file) => file.endsWith('.js') && !file.startsWith('dist/dashboard/browser/')),
);
// It grows while it is read.
for (const file of files) {
  for (const [, keyword, , name] of readFileSync(join(staged, file), 'utf8').matchAll(IMPORTS)) {
    const found = target(staged, file, keyword, name);
    if (found === undefined) {
      const expected = target(checkout, file, keyword, name);
      if (expected && shipped.some((folder) => expected.startsWith(folder)) && !/\.d\.[cm]?ts$/.test(expected))
        lost.push(`${file}: ${name}`);
    } else if (/\.[cm]?js$/.test(found)) files.add(found);
  }
}
console.log(JSON.stringify({ followed: files.size, lost }));

/** The file that Node loads, from its folder on; undefined if there is none. */
function target(folder, file, keyword, name) {
  const from = pathToFileURL(join(folder, file)).href;
  try {
    const path = keyword.startsWith('require')
      ? createRequire(from).resolve(name)
      : fileURLToPath(import.meta.resolve(name, from));
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile();
    return isFile && path.startsWith(folder) ? relative(folder, path) : undefined;
  } catch {
    return undefined;
  }
}
