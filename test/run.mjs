// What `npm test` runs: style, types, then every test that can run on this machine, and one line with the sum.
// A part whose real component is missing is named at the end, with how to get it; in CI (CI=true) that is a failure.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CHROMIUM_REMEDY, launchChromium } from './browser/chromium.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bin = (path) => join(root, 'node_modules', path);
const folder = mkdtempSync(join(tmpdir(), 'cc-results-'));
const results = join(folder, 'results.json');

const checks = [
  ['Style', [bin('@biomejs/biome/bin/biome'), 'check', '.']],
  ['Types', [bin('typescript/bin/tsc'), '-p', 'test']],
  ['Types of the browser tests', [bin('typescript/bin/tsc'), '-p', 'test/browser']],
  ['Types of the tag', [bin('typescript/bin/tsc'), '-p', 'src/tag/browser']],
];
const chromium = await launchChromium();
await chromium?.close();
const jest = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  bin('jest/bin/jest.js'),
  ...['-c', 'test/jest.config.mjs', '--maxWorkers=2', '--json', `--outputFile=${results}`, '--forceExit'],
  ...(chromium ? [] : ['--selectProjects', 'unit', 'integration', 'e2e']),
  ...process.argv.slice(2),
];

let passed = 0;
let failed = 0;
for (const [name, args] of checks) {
  if (run(name, args)) passed += 1;
  else failed += 1;
}
const testsPassed = run('Tests', jest);
const { numPassedTests = 0, numFailedTests = 0, numFailedTestSuites = 0 } = readResults();
passed += numPassedTests;
// A suite that could not even start has no failed test of its own.
failed += Math.max(numFailedTests, numFailedTestSuites, testsPassed ? 0 : 1);
rmSync(folder, { recursive: true });

// Built by now, so that what the broker needs is said in one place.
const { missingForBroker } = await import('../dist/kafka-broker/distribution.js');
const forBroker = missingForBroker();
const missing = [
  [existsSync('/usr/lib/postgresql/15/bin'), 'the log on PostgreSQL 15', 'install the package postgresql-15'],
  [chromium, 'the tag in a browser', CHROMIUM_REMEDY],
  [existsSync('/usr/bin/kcat'), 'a reader of the topics that is not ours', 'install the package kcat'],
  [!forBroker, 'everything about Kafka', forBroker],
].filter(([isThere]) => !isThere);
for (const [, part, remedy] of missing) console.log(`LEFT OUT: ${part} (${remedy}).`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 || (missing.length > 0 && process.env.CI === 'true') ? 1 : 0);

function run(name, args) {
  console.log(`\n── ${name}`);
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0;
}

function readResults() {
  return existsSync(results) ? JSON.parse(readFileSync(results, 'utf8')) : {};
}
