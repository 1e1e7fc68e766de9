// A runner for Jest (the `runner` of a project) whose workers keep their modules: see worker.mjs.
import { randomInt } from 'node:crypto';
import { Worker } from 'jest-worker';

const SLOWEST_FIRST = ['full', 'browser', 'e2e', 'journey', 'integration', 'unit'];
const projectOf = ({ config }) => config.displayName.name;
const WORKER = new URL('./worker.mjs', import.meta.url).pathname;
const REGISTER = new URL('./typescript.mjs', import.meta.url).href;

export default class NativeRunner {
  #globalConfig;

  constructor(globalConfig) {
    this.#globalConfig = globalConfig;
  }

  async runTests(tests, watcher, onStart, onResult, onFailure) {
    const globalConfig = this.#globalConfig;
    // Seed of property tests, and of the moments at which specs inject faults.
    process.env.TEST_SEED ??= String(randomInt(2 ** 31));
    process.stderr.write(`TEST_SEED=${process.env.TEST_SEED} repeats the random values of this run.\n`);
    const numWorkers = Math.min(globalConfig.maxWorkers, tests.length);
    const pool = new Worker(WORKER, {
      exposedMethods: ['run'],
      numWorkers,
      maxRetries: 0,
      forkOptions: {
        execArgv: ['--import', REGISTER, '--enable-source-maps', '--disable-warning=ExperimentalWarning'],
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      },
    });
    // The slow ones first, so that no worker waits for another one at the end. Otherwise in Jest's order.
    const queue = SLOWEST_FIRST.flatMap((name) => tests.filter(({ context }) => projectOf(context) === name));
    const runNext = async () => {
      for (let test = queue.shift(); test && !watcher.isInterrupted(); test = queue.shift()) {
        await onStart(test);
        try {
          const { config } = test.context;
          await onResult(test, await pool.run({ path: test.path, config, globalConfig }));
        } catch (error) {
          await onFailure(test, { message: String(error?.message ?? error), stack: error?.stack });
        }
      }
    };
    await Promise.all(Array.from({ length: numWorkers }, runNext));
    await pool.end();
  }
}
