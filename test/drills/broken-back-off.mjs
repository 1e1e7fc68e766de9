// Loaded into the service to prove that the outage drill can fail: after a failure the relay, the consumers and kafkajs
// retry immediately instead of backing off.
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

/** Matches waits after a failure. Waits for the next batch come from the same method but have another caller. */
const BACK_OFF = /\.pause .*\n\s+at (Relay\.publishWithLease|ProjectionConsumer\.run) /;
const { setTimeout: sleep } = timers;
timers.setTimeout = (ms, ...rest) => sleep(BACK_OFF.test(new Error().stack) ? 0 : ms, ...rest);
syncBuiltinESMExports();

const KAFKAJS_RETRY = /at scheduleRetry .*kafkajs/;
const { setTimeout: setTimer } = globalThis;
globalThis.setTimeout = Object.assign(
  (run, ms, ...rest) => setTimer(run, KAFKAJS_RETRY.test(new Error().stack) ? 0 : ms, ...rest),
  setTimer,
);
