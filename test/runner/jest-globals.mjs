// What specs import from `@jest/globals`. One instance serves all files of a worker; the worker resets it between them.
import { jestExpect } from '@jest/expect';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

export { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } from 'jest-circus';
export const expect = jestExpect;

const TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');
const mocker = new ModuleMocker(globalThis);
const timers = new ModernFakeTimers({ config: { fakeTimers: {} }, global: globalThis });

export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  replaceProperty: mocker.replaceProperty.bind(mocker),
  restoreAllMocks: () => mocker.restoreAllMocks(),
  setTimeout: (ms) => {
    globalThis[TIMEOUT] = ms;
  },
  useFakeTimers: (options) => timers.useFakeTimers(options),
  useRealTimers: () => timers.useRealTimers(),
  advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
  advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
  advanceTimersToNextTimer: (steps) => timers.advanceTimersToNextTimer(steps),
  now: () => timers.now(),
};

const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = globalThis;
const REAL_TIMERS = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };

/** Undoes what a spec file may have left. */
export function resetJest(testTimeoutMs) {
  // In this order: a spy on a faked function restores the faked one, and one on a real function may have been faked.
  mocker.restoreAllMocks();
  timers.useRealTimers();
  Object.assign(globalThis, REAL_TIMERS);
  jest.setTimeout(testTimeoutMs);
}
