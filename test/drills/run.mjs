// npm run drills [-- --short] [name …] [--rounds N | --minutes N] [--seed N]
// Injects faults and prints what was seen. `npm test` runs short forms of some.
//   DRILL_BREAK=<switch>    plants the bug that a drill looks for: the drill must then fail
//   DRILL_ROOT=<checkout>   runs against another built checkout
// Exit code 0: everything held, 1: something did not, 2: wrong arguments, 3: the switch changed nothing.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { SwitchWithoutEffect } from './harness/world.mjs';

const DRILLS = {
  'stop-during-stall': () => import('./stop-during-stall.mjs'),
  'freeze-takeover-kill': () => import('./freeze-takeover-kill.mjs'),
  'held-back-bytes': () => import('./held-back-bytes.mjs'),
  'kill-loop': () => import('./kill-loop.mjs'),
  'graceful-stop': () => import('./graceful-stop.mjs'),
  'postgres-kill-loop': () => import('./postgres-kill-loop.mjs'),
  'slow-platform': () => import('./slow-platform.mjs'),
  'missing-partition': () => import('./missing-partition.mjs'),
  'partition-boundary': () => import('./partition-boundary.mjs'),
  'clock-jumps': () => import('./clock-jumps.mjs'),
  'parked-weekend': () => import('./parked-weekend.mjs'),
  tampering: () => import('./tampering.mjs'),
  'random-walk': () => import('./random-walk.mjs'),
  'outbound-kills': () => import('./outbound-kills.mjs'),
  'outbound-ticks': () => import('./outbound-ticks.mjs'),
  kafka: () => import('./kafka.mjs'),
};
const NO_EFFECT = 3;

const number = { type: 'string' };
const { values, positionals } = parseArgs({
  options: { short: { type: 'boolean' }, rounds: number, minutes: number, seed: number },
  allowPositionals: true,
});
const names = positionals.length > 0 ? positionals : Object.keys(DRILLS);
const unknown = names.filter((name) => !(name in DRILLS));
if (unknown.length > 0) fail(`Unknown drill: ${unknown.join(', ')}. Available: ${Object.keys(DRILLS).join(', ')}.`);
const [rounds, minutes, givenSeed] = ['rounds', 'minutes', 'seed'].map(readNumber);
const planted = process.env.DRILL_BREAK;

let exitCode = 0;
for (const name of names) {
  const { drill, switches } = await DRILLS[name]();
  if (planted !== undefined && switches && !switches.includes(planted)) {
    fail(`${name} has no switch ${planted}. It has: ${switches.join(', ')}.`);
  }
  const seed = givenSeed ?? Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
  // The drills of the relay and the webhook read it from here.
  if (givenSeed !== undefined) process.env.TEST_SEED = String(givenSeed);
  const log = (line) => console.error(`${name}: ${line}`);
  log(`seed ${seed}`);
  const startedMs = performance.now();
  const rows = await drill({ short: values.short === true, rounds, minutes, seed, log }).catch((error) => {
    if (error instanceof SwitchWithoutEffect) exitCode = NO_EFFECT;
    return [{ what: 'the drill itself', result: error.stack, ok: false }];
  });
  console.log(`\n${name}, ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
  for (const { what, result, ok } of rows) console.log(`  ${ok ? 'ok  ' : 'FAIL'}  ${what}: ${result}`);
  if (rows.some(({ ok }) => !ok)) exitCode ||= 1;
}
process.exit(exitCode);

function readNumber(name) {
  const text = values[name];
  if (text === undefined) return undefined;
  if (!/^\d+(\.\d+)?$/.test(text)) fail(`--${name} must be a number, not ${text}.`);
  return Number(text);
}

function fail(message) {
  console.error(message);
  process.exit(2);
}
