// npm run drills [-- --short] [name …] [--rounds N | --minutes N] [--seed N]
// Injects faults and prints what was seen. `npm test` runs a short form of some.
//   --switches              runs each drill once per switch, and passes if every one of these runs fails
//   DRILL_BREAK=<switch>    plants the bug that a drill looks for: the drill must then fail
//   DRILL_ROOT=<checkout>   runs against another built checkout
//   DRILL_KEEP=1            keeps the folder with ledger, logs and database
// Exit code 0: everything held, 1: something did not, 2: wrong arguments, 3: the switch changed nothing.
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SwitchWithoutEffect } from './harness/testbed.mjs';

const DRILLS = {
  'stop-and-freeze': () => import('./stop-and-freeze.mjs'),
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
  failover: () => import('./failover.mjs'),
  'failover-async': () => import('./failover-async.mjs'),
  moves: () => import('./moves.mjs'),
};
const [FAILED, WRONG_ARGUMENTS, NO_EFFECT] = [1, 2, 3];

const number = { type: 'string' };
const flag = { type: 'boolean' };
const { values, positionals } = parseArgs({
  options: { short: flag, switches: flag, rounds: number, minutes: number, seed: number },
  allowPositionals: true,
});
const names = positionals.length > 0 ? positionals : Object.keys(DRILLS);
const unknown = names.filter((name) => !(name in DRILLS));
if (unknown.length > 0) fail(`Unknown drill: ${unknown.join(', ')}. Available: ${Object.keys(DRILLS).join(', ')}.`);
const [rounds, minutes, givenSeed] = ['rounds', 'minutes', 'seed'].map(readNumber);
// The drills of the relay and the webhook read it from here.
if (givenSeed !== undefined) process.env.TEST_SEED = String(givenSeed);
process.exit(values.switches ? await proveSwitches() : await runDrills());

async function runDrills() {
  const planted = process.env.DRILL_BREAK;
  let exitCode = 0;
  for (const name of names) {
    const { drill, switches } = await DRILLS[name]();
    if (planted !== undefined && switches && !switches.includes(planted)) {
      fail(`${name} has no switch ${planted}. It has: ${switches.join(', ')}.`);
    }
    const seed = givenSeed ?? Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
    const log = (line) => console.error(`${name}: ${line}`);
    log(`seed ${seed}`);
    const startedMs = performance.now();
    const rows = await drill({ short: values.short === true, rounds, minutes, seed, log }).catch((error) => {
      if (error instanceof SwitchWithoutEffect) exitCode = NO_EFFECT;
      return [{ what: 'the drill itself', result: error.stack, ok: false }];
    });
    console.log(`\n${name}, ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
    for (const { what, result, ok } of rows) console.log(`  ${ok ? 'ok  ' : 'FAIL'}  ${what}: ${result}`);
    if (rows.some(({ ok }) => !ok)) exitCode ||= FAILED;
  }
  return exitCode;
}

async function proveSwitches() {
  let exitCode = 0;
  for (const name of names) {
    const { switches = [] } = await DRILLS[name]();
    for (const planted of switches) {
      const args = process.argv.slice(2).filter((arg) => arg !== '--switches' && !names.includes(arg));
      const { status, stdout } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...args, name], {
        env: { ...process.env, DRILL_BREAK: planted },
        stdio: ['ignore', 'pipe', 'inherit'],
        encoding: 'utf8',
      });
      const isRed = status === FAILED;
      const failures = stdout.split('\n').filter((line) => line.startsWith('  FAIL'));
      console.log(`${isRed ? 'ok  ' : 'FAIL'}  ${name} with ${planted}: exit code ${status}\n${failures.join('\n')}`);
      if (!isRed) exitCode = status === NO_EFFECT ? NO_EFFECT : exitCode || FAILED;
    }
  }
  return exitCode;
}

function readNumber(name) {
  const text = values[name];
  if (text === undefined) return undefined;
  if (!/^\d+(\.\d+)?$/.test(text)) fail(`--${name} must be a number, not ${text}.`);
  return Number(text);
}

function fail(message) {
  console.error(message);
  process.exit(WRONG_ARGUMENTS);
}
