import { fileURLToPath } from 'node:url';

const typescript = [
  '@swc/jest',
  {
    module: { type: 'es6' },
    sourceMaps: 'inline',
    jsc: {
      target: 'es2023',
      keepClassNames: true,
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
    },
  },
];

const rootDir = fileURLToPath(new URL('..', import.meta.url));

const common = {
  rootDir,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': typescript },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.cache/'],
};

export default {
  rootDir,
  collectCoverageFrom: ['src/**/*.ts', '!src/**/*.spec.ts', '!src/**/*.d.ts'],
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/src/**/*.spec.ts'],
      globalSetup: '<rootDir>/test/unit-setup.mjs',
    },
    { ...common, displayName: 'integration', testMatch: ['<rootDir>/test/**/*.int-spec.ts'] },
    { ...common, displayName: 'e2e', testMatch: ['<rootDir>/test/**/*.e2e-spec.ts'] },
    { ...common, displayName: 'browser', testMatch: ['<rootDir>/test/**/*.browser-spec.ts'] },
  ],
};
