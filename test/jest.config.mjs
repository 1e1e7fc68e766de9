import { fileURLToPath } from 'node:url';
// Here, because the preparation of a run may be interrupted, too.
import './runner/end-with-parent.mjs';

const rootDir = fileURLToPath(new URL('..', import.meta.url));

const common = {
  rootDir,
  runner: '<rootDir>/test/runner/index.mjs',
  // For `--findRelatedTests`: an import names the file that the compiler would write.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.cache/'],
};

const withDatabase = {
  ...common,
  globalSetup: '<rootDir>/test/runner/setup.mjs',
  globalTeardown: '<rootDir>/test/runner/teardown.mjs',
};

const browser = { ...withDatabase, globalSetup: '<rootDir>/test/runner/setup-browser.mjs' };

/** A file's ending decides when it runs: see CONTRIBUTING.md. The first four are `npm test`. */
export default {
  rootDir,
  // No test asserts a duration: this only ends one that hangs, also on a busy machine.
  testTimeout: 300_000,
  projects: [
    { ...browser, displayName: 'journey', testMatch: ['<rootDir>/test/**/*.journey-spec.ts'] },
    { ...withDatabase, displayName: 'integration', testMatch: ['<rootDir>/test/**/*.int-spec.ts'] },
    { ...withDatabase, displayName: 'e2e', testMatch: ['<rootDir>/test/**/*.e2e-spec.ts'] },
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/test/**/*.spec.ts'],
      globalSetup: '<rootDir>/test/unit-setup.mjs',
    },
    { ...browser, displayName: 'browser', testMatch: ['<rootDir>/test/**/*.browser-spec.ts'] },
    { ...withDatabase, displayName: 'full', testMatch: ['<rootDir>/test/**/*.full-spec.ts'] },
  ],
};
