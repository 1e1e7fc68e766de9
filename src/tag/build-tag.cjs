// Makes dist/tag/tag.js, the browser tag, out of src/tag/browser. It is a plugin of `nest build` (see nest-cli.json), so
// that every build has it; CommonJS because nest loads its plugins so.
const { mkdirSync, readFileSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { minifySync, transformSync } = require('@swc/core');

const ENTRY = join(__dirname, 'browser', 'tag.ts');

/** Nest's hook: runs once before the compiler writes, and leaves its work as it is. */
exports.before = (_options, program) => {
  const file = join(program.getCompilerOptions().outDir, 'tag', 'tag.js');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, buildTag());
  return () => (source) => source;
};

function buildTag() {
  const pieces = new Map();
  collect(ENTRY, pieces);
  const code = [...pieces.values()].join('\n');
  refuseTwins(code);
  // One function around everything: no name of the tag reaches the page.
  return minifySync(`(function (CONFIG) {\n${code}\n})(__CC_CONFIG__);`, {
    ecma: 2019,
    module: false,
    mangle: true,
    compress: { passes: 3, unsafe_arrows: true },
  }).code;
}

/** The code of a file behind that of the files it imports, without the words that tie them together. */
function collect(file, pieces) {
  if (pieces.has(file)) return;
  pieces.set(file, '');
  const source = readFileSync(file, 'utf8');
  for (const [, name] of source.matchAll(/from '\.\/([^']+)\.js'/g)) collect(join(dirname(file), `${name}.ts`), pieces);
  const { code } = transformSync(source, {
    isModule: true,
    jsc: { parser: { syntax: 'typescript' }, target: 'es2019', minify: { format: { comments: false } } },
  });
  // Set anew, so that it stands behind what it imports. One that were left in would be a syntax error: this is a script.
  pieces.delete(file);
  pieces.set(file, code.replace(/^import .*;$/gm, '').replace(/^export /gm, ''));
}

/** The files share one scope, where a second function of a name would silently take the place of the first. */
function refuseTwins(code) {
  const names = [...code.matchAll(/^(?:async )?(?:function|const|let|class) (\w+)/gm)].map(([, name]) => name);
  const twin = names.find((name, place) => names.indexOf(name) !== place);
  if (twin) throw new Error(`Two files of src/tag/browser declare ${twin}. Rename one: the built tag has one scope.`);
}
