// Loaded into the service by a drill that wants to see itself fail: after a failure the relay, the consumers and their
// client try again at once, instead of waiting longer each time.
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

/** Whoever waits there has failed; further up the stack, a wait for the next batch looks the same. */
const OURS = /\.pause .*\n\s+at (Relay\.hold|ConsumerSource\.run) /;
const { setTimeout: sleep } = timers;
timers.setTimeout = (ms, ...rest) => sleep(OURS.test(new Error().stack) ? 0 : ms, ...rest);
syncBuiltinESMExports();

const KAFKAJS = /at scheduleRetry .*kafkajs/;
const { setTimeout: later } = globalThis;
globalThis.setTimeout = Object.assign(
  (run, ms, ...rest) => later(run, KAFKAJS.test(new Error().stack) ? 0 : ms, ...rest),
  later,
);
