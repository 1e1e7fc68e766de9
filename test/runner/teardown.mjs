import { once } from 'node:events';

/** Jest's globalTeardown: the keeper stops what is left of the run and removes its folder. */
export default async function tearDown() {
  await globalThis.ccChromium?.close();
  globalThis.ccChromium = undefined;
  const keeper = globalThis.ccKeeper;
  if (!keeper) return;
  globalThis.ccKeeper = undefined;
  delete process.env.CC_TEST_POSTGRES;
  if (keeper.exitCode !== null || keeper.signalCode !== null)
    throw new Error('The keeper of this run has ended early: its server still runs, and its folder exists.');
  const exited = once(keeper, 'exit');
  keeper.ref();
  keeper.stdin.end();
  await exited;
}
