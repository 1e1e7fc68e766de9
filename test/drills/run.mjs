// npm run drills [-- --short] [name …]
// Injects faults and prints the observed results. `npm test` runs the short variants.
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
  console.error(`Unknown drill: ${unknown.join(', ')}. Available: ${Object.keys(DRILLS).join(', ')}.`);
  process.exit(2);
}

let failed = 0;
for (const name of names) {
  const { drill } = await DRILLS[name]();
  const startedMs = performance.now();
  const rows = await drill({ short: values.short === true, log: (line) => console.error(`${name}: ${line}`) }).catch(
    (error) => [{ what: 'the drill itself', result: error.stack, ok: false }],
  );
  console.log(`\n${name}, ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
  for (const { what, result, ok } of rows) console.log(`  ${ok ? 'ok  ' : 'FAIL'}  ${what}: ${result}`);
  failed += rows.filter(({ ok }) => !ok).length;
}
process.exit(failed > 0 ? 1 : 0);
