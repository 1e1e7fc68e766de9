// Runs spec files in this process, one after the other, with jest-circus. Unlike Jest's own runner it does not evaluate every
// module again for each file: loading Nest, TypeORM and the sources costs seconds, and a run has hundreds of files.
import { pathToFileURL } from 'node:url';
import { createEmptyTestResult } from '@jest/test-result';
import fc from 'fast-check';
import * as circus from 'jest-circus';
import { formatResultsErrors } from 'jest-message-util';
import './end-with-parent.mjs';
import * as jestGlobals from './jest-globals.mjs';

const { resetJest, ...globals } = jestGlobals;
const { expect } = globals;
const DEFAULT_TIMEOUT_MS = 5_000;
const NO_ASSERTIONS = { assertionCalls: 0, expectedAssertionsNumber: null, isExpectingAssertions: false };

Object.assign(globalThis, globals);
fc.configureGlobal({ seed: Number(process.env.TEST_SEED) });

circus.addEventHandler(checkExpectations);
circus.addEventHandler(awaitRejections);
// A spec may start a dozen services, each of which handles signals.
process.setMaxListeners(100);

/** Errors outside of tests since the last file ended. They fail the file that runs, or the next one. */
const unhandled = [];
for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, (error) => unhandled.push(error));
/** Also while timers are faked. */
const { setImmediate } = globalThis;

export async function run({ path, config, globalConfig }) {
  const start = Date.now();
  resetJest(config.testTimeout ?? globalConfig.testTimeout ?? DEFAULT_TIMEOUT_MS);
  circus.resetState();
  const { expand } = globalConfig;
  expect.setState({ testPath: path, expand, suppressedErrors: [], ...NO_ASSERTIONS });
  if (globalConfig.testNamePattern) circus.getState().testNamePattern = new RegExp(globalConfig.testNamePattern, 'i');
  await import(pathToFileURL(path).href);
  const { testResults, unhandledErrors } = await circus.run();
  const errors = [...unhandledErrors, ...unhandled.splice(0).map((error) => error?.stack ?? String(error))];
  resetJest(DEFAULT_TIMEOUT_MS);
  // Services that ran in this process.
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
  return toTestResult({ testResults, unhandledErrors: errors, path, config, globalConfig, start });
}

/** What jest-circus leaves to its caller: `expect.assertions`, and the name of the test for messages. */
function checkExpectations({ name, test }) {
  if (name === 'test_start') expect.setState({ currentTestName: namesOf(test).join(' ') });
  if (name !== 'test_done') return;
  for (const { error } of expect.extractExpectedAssertionsErrors()) test.errors.push(error);
  test.errors.push(...expect.getState().suppressedErrors);
  expect.setState({ suppressedErrors: [] });
}

/** Node reports a rejection when microtasks have run, which may be after the last test. */
async function awaitRejections({ name }) {
  if (name === 'run_finish') await new Promise((resolve) => setImmediate(resolve));
}

function namesOf(test) {
  return test.parent ? [...namesOf(test.parent), test.name] : [];
}

function toTestResult({ testResults, unhandledErrors, path, config, globalConfig, start }) {
  const results = testResults.map(({ testPath, errors, status, duration, invocations }) => {
    const [, ...names] = testPath;
    const title = names.at(-1);
    return {
      ancestorTitles: names.slice(0, -1),
      duration,
      failureDetails: [],
      failureMessages: errors,
      fullName: names.join(' '),
      invocations,
      numPassingAsserts: 0,
      status: errors.length > 0 ? 'failed' : status === 'skip' ? 'pending' : status === 'todo' ? 'todo' : 'passed',
      title,
    };
  });
  const count = (status) => results.filter((result) => result.status === status).length;
  const end = Date.now();
  const messages = [formatResultsErrors(results, config, globalConfig, path), ...unhandledErrors].filter(Boolean);
  const result = createEmptyTestResult();
  return Object.assign(result, {
    displayName: config.displayName,
    failureMessage: messages.length > 0 ? messages.join('\n\n') : null,
    numFailingTests: count('failed'),
    numPassingTests: count('passed'),
    numPendingTests: count('pending'),
    numTodoTests: count('todo'),
    perfStats: { start, end, runtime: end - start, slow: (end - start) / 1_000 > config.slowTestThreshold },
    testExecError: unhandledErrors.length > 0 ? { message: unhandledErrors.join('\n\n') } : undefined,
    testFilePath: path,
    testResults: results,
  });
}
