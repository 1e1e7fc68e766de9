// npm run drills [-- --short] [name …]
// Breaks things on purpose, for as long as it takes, and prints what was seen. `npm test` runs the short forms.
import { parseArgs } from 'node:util';

const DRILLS = {
  'outbound-kills': () => import('./outbound-kills.mjs'),
  'outbound-ticks': () => import('./outbound-ticks.mjs'),
  kafka: () => import('./kafka.mjs'),
};

const { values, positionals } = parseArgs({ options: { short: { type: 'boolean' } }, allowPositionals: true });
const names = positionals.length > 0 ? positionals : Object.keys(DRILLS);
const unknown = names.filter((name) => !(name in DRILLS));
if (unknown.length > 0) {
  console.error(`There is no drill ${unknown.join(', ')}. There are: ${Object.keys(DRILLS).join(', ')}.`);
  process.exit(2);
}

let failed = 0;
for (const name of names) {
  const { drill } = await DRILLS[name]();
  const began = performance.now();
  const rows = await drill({ short: values.short === true, say: (line) => console.error(`${name}: ${line}`) }).catch(
    (error) => [{ what: 'the drill itself', figure: error.stack, ok: false }],
  );
  console.log(`\n${name}, ${((performance.now() - began) / 1_000).toFixed(0)} s`);
  for (const { what, figure, ok } of rows) console.log(`  ${ok ? 'ok  ' : 'FAIL'}  ${what}: ${figure}`);
  failed += rows.filter(({ ok }) => !ok).length;
}
process.exit(failed > 0 ? 1 : 0);
