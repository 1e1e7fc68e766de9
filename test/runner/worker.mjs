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

Object.assign(globalThis, globals);
fc.configureGlobal({ seed: Number(process.env.TEST_SEED) });

circus.addEventHandler(checkExpectations);
// A spec may start a dozen services, each of which handles signals.
process.setMaxListeners(100);

// An error outside of a test fails the file that runs.
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error) => circus.getState().unhandledErrors.push(error));

export async function run({ path, config, globalConfig }) {
  const start = Date.now();
  process.env.JEST_WORKER_ID ??= '1';
  resetJest(config.testTimeout ?? globalConfig.testTimeout ?? DEFAULT_TIMEOUT_MS);
  circus.resetState();
  expect.setState({ testPath: path, expand: globalConfig.expand, suppressedErrors: [] });
  if (globalConfig.testNamePattern) circus.getState().testNamePattern = new RegExp(globalConfig.testNamePattern, 'i');
  await import(pathToFileURL(path).href);
  const { testResults, unhandledErrors } = await circus.run();
  resetJest(DEFAULT_TIMEOUT_MS);
  // Services that ran in this process.
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
  return toTestResult({ testResults, unhandledErrors, path, config, globalConfig, start });
}

/** What jest-circus leaves to its caller: `expect.assertions`, and the name of the test for messages. */
function checkExpectations({ name, test }) {
  if (name === 'test_start') expect.setState({ currentTestName: namesOf(test).join(' ') });
  if (name !== 'test_done') return;
  for (const { error } of expect.extractExpectedAssertionsErrors()) test.errors.push(error);
  test.errors.push(...expect.getState().suppressedErrors);
  expect.setState({ suppressedErrors: [] });
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
