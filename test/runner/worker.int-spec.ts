import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/folders.js';

const runner = (name: string) => new URL(name, import.meta.url).href;

interface FileResult {
  readonly passed: string[];
  readonly failed: string[];
  readonly message: string | null;
}

/** Runs spec files one after the other in one process, as a worker of a test run does. */
async function runFiles(sources: readonly string[]): Promise<FileResult[]> {
  const folder = temporaryFolder('cc-runner-');
  // A second evaluation fails the file that imports it.
  const once = `if (globalThis.isEvaluated) throw new Error('again'); globalThis.isEvaluated = true;`;
  writeFileSync(join(folder, 'once.mjs'), once);
  const paths = sources.map((source, index) => {
    const path = join(folder, `file-${index}.ts`);
    // Outside the project, where packages are not found.
    writeFileSync(path, source.replace(`'@jest/globals'`, `'${runner('./jest-globals.mjs')}'`));
    return path;
  });
  const script = `
    import { run } from '${runner('./worker.mjs')}';
    const config = { displayName: 'files', rootDir: '${folder}', slowTestThreshold: 5, testMatch: [] };
    const results = [];
    const unloaded = ({ message }) => ({ testResults: [], failureMessage: message });
    for (const path of ${JSON.stringify(paths)})
      results.push(await run({ path, config, globalConfig: { testTimeout: 200 } }).catch(unloaded));
    process.stdout.write(JSON.stringify(results), () => process.exit(0));`;
  const args = ['--import', runner('./typescript.mjs'), '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, TEST_SEED: '1' } });
  const named = (results: { status: string; fullName: string }[], status: string) =>
    results.filter((result) => result.status === status).map(({ fullName }) => fullName);
  return JSON.parse(stdout).map((result: { testResults: never[]; failureMessage: string | null }) => ({
    passed: named(result.testResults, 'passed'),
    failed: named(result.testResults, 'failed'),
    message: result.failureMessage,
  }));
}

const FAILING: Record<string, string> = {
  'a failed expectation': `it('fails', () => expect(1).toBe(2));`,
  'a rejected expectation': `it('fails', () => expect(Promise.resolve(1)).rejects.toThrow());`,
  'a test that takes too long': `it('fails', () => new Promise(() => {}));`,
  'a failed hook before all': `beforeAll(() => { throw new Error('x') }); it('fails', () => {});`,
  'a failed hook after each': `afterEach(() => { throw new Error('x') }); it('fails', () => {});`,
  'too few expectations': `it('fails', () => expect.assertions(1));`,
};
const LOST: Record<string, string> = {
  'a rejection that is not handled': `it('ends', async () => { Promise.reject(new Error('lost')); await new Promise(setImmediate); });`,
  'a rejection at the end of the last test': `it('ends', () => { Promise.reject(new Error('lost')); });`,
  'an expectation that is not awaited': `it('ends', () => { expect(Promise.resolve('lost')).resolves.toBe(2); });`,
  'a failed hook after all': `afterAll(() => { throw new Error('lost') }); it('ends', () => {});`,
};
const LEAVING = `import { jest } from '@jest/globals';
  jest.setTimeout(1);
  it('spies', () => {
    jest.useFakeTimers();
    jest.spyOn(globalThis, 'setTimeout');
    jest.spyOn(process, 'nextTick');
    jest.spyOn(Date, 'now').mockReturnValue(1);
  });`;
const WAITING = `it('waits', async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(Date.now()).toBeGreaterThan(1);
  });`;
const THROWING_LATE = `it('ends', () => { setTimeout(() => { throw new Error('too late') }, 20); });`;
const ASSERTING_AFTER = `afterAll(() => expect(1).toBe(1)); it('ends', () => {});`;
const WITHOUT_ASSERTION = `it('fails', () => expect.hasAssertions());`;
const IMPORTING = `import './once.mjs'; it('imports', () => {});`;

describe('a worker of a test run', () => {
  const results = new Map<string, FileResult>();

  beforeAll(async () => {
    const sources = {
      ...FAILING,
      ...LOST,
      LEAVING,
      WAITING,
      THROWING_LATE,
      AFTER_THROWING: WAITING,
      ASSERTING_AFTER,
      WITHOUT_ASSERTION,
      IMPORTING,
      AGAIN: IMPORTING,
      MISSING: `import './missing.js';`,
    };
    const ran = await runFiles(Object.values(sources));
    for (const [index, name] of Object.keys(sources).entries()) results.set(name, ran[index] as FileResult);
  });

  it.each(Object.keys(FAILING))('reports %s', (name) => {
    expect(results.get(name)).toEqual({ passed: [], failed: ['fails'], message: expect.any(String) });
  });

  it.each(Object.keys(LOST))('reports %s for the file', (name) => {
    expect(results.get(name)).toEqual({ passed: ['ends'], failed: [], message: expect.stringContaining('lost') });
  });

  it('reports a file that cannot be loaded', () => {
    expect(results.get('MISSING')).toEqual({ passed: [], failed: [], message: expect.stringContaining('missing.js') });
  });

  it('restores mocks, timers and timeouts before the next file', () => {
    expect([results.get('LEAVING')?.passed, results.get('WAITING')?.passed]).toEqual([['spies'], ['waits']]);
  });

  it('reports an error after the end of a file for the next one, with its stack', () => {
    const message = expect.stringMatching(/Error: too late\n.*file-\d+\.ts/);
    expect(results.get('AFTER_THROWING')).toEqual({ passed: ['waits'], failed: [], message });
  });

  it('counts no assertion of an earlier file', () => {
    expect(results.get('WITHOUT_ASSERTION')?.failed).toEqual(['fails']);
  });

  it('evaluates a module that several files import once', () => {
    expect([results.get('IMPORTING')?.passed, results.get('AGAIN')?.passed]).toEqual([['imports'], ['imports']]);
  });
});
