// Bundles src/tag/browser into dist/tag/tag.js, the browser tag. A plugin of `nest build` (see nest-cli.json), so that
// every build contains the tag. CommonJS, because Nest loads plugins with `require`.
const { mkdirSync, readFileSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { minifySync, transformSync } = require('@swc/core');

const ENTRY = join(__dirname, 'browser', 'tag.ts');

/** Nest's plugin hook. Runs once before the compiler emits; the returned transformer changes nothing. */
exports.before = (_options, program) => {
  const file = join(program.getCompilerOptions().outDir, 'tag', 'tag.js');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, buildTag());
  return () => (source) => source;
};

function buildTag() {
  const modules = new Map();
  addModule(ENTRY, modules);
  const code = [...modules.values()].join('\n');
  rejectDuplicateNames(code);
  // Wrapped in a function, so that the tag defines no globals on the page.
  return minifySync(`(function (NAMES, CONFIG) {\n${code}\n})(__CC_NAMES__, __CC_CONFIG__);`, {
    ecma: 2019,
    module: false,
    mangle: true,
    compress: { passes: 3, unsafe_arrows: true },
  }).code;
}

/** Adds a file after the files that it imports, without its import and export keywords. */
function addModule(file, modules) {
  if (modules.has(file)) return;
  modules.set(file, '');
  const source = readFileSync(file, 'utf8');
  for (const [, name] of source.matchAll(/from '\.\/([^']+)\.js'/g))
    addModule(join(dirname(file), `${name}.ts`), modules);
  const { code } = transformSync(source, {
    isModule: true,
    jsc: { parser: { syntax: 'typescript' }, target: 'es2019', minify: { format: { comments: false } } },
  });
  // Insert again to move the file behind its imports. A leftover import would be a syntax error: the tag is a script.
  modules.delete(file);
  modules.set(file, code.replace(/^import .*;$/gm, '').replace(/^export /gm, ''));
}

/** All files share one scope, in which a second function with the same name silently replaces the first. */
function rejectDuplicateNames(code) {
  const names = [...code.matchAll(/^(?:async )?(?:function|const|let|class) (\w+)/gm)].map(([, name]) => name);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate) {
    throw new Error(`Two files in src/tag/browser declare ${duplicate}. Rename one: the built tag has a single scope.`);
  }
}
