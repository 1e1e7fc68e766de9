// npm test: checks style and types, runs every test that can run on this machine, and prints one line with the totals.
// A part whose external component is missing is listed with how to install it; with CI=true that is a failure.
// A few specs that ran out of time, and browser specs, are run once more, alone: see mayRunAgain. They are listed.
// `npm test -- --node=24 --node=26` also runs the start, contract and browser suites on these versions of Node.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { missingPackages } from '../deploy/cluster/programs.mjs';
import { CHROMIUM_REMEDY, launchChromium } from './browser/chromium.mjs';
import { installNode } from './install-node.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bin = (path) => join(root, 'node_modules', path);
const folder = mkdtempSync(join(tmpdir(), 'cc-results-'));

const NODE_OPTION = '--node=';
const majors = process.argv.filter((arg) => arg.startsWith(NODE_OPTION)).map((arg) => arg.slice(NODE_OPTION.length));
const jestOptions = process.argv.slice(2).filter((arg) => !arg.startsWith(NODE_OPTION));

const CHECKS = [
  ['Style', [bin('@biomejs/biome/bin/biome'), 'check', '.']],
  ['Types', [bin('typescript/bin/tsc'), '-p', 'test']],
  ['Types of the browser tests', [bin('typescript/bin/tsc'), '-p', 'test/browser']],
  ['Types of the tag', [bin('typescript/bin/tsc'), '-p', 'src/tag/browser']],
  ['Client of the dashboard', [join(root, 'src/dashboard/generate-client.mjs')]],
  ['Types of the dashboard', [bin('typescript/bin/tsc'), '-p', 'src/dashboard/browser']],
];
/** What can differ between versions of Node without a test of its own: the start, the HTTP contract, the browser tests. */
const SUITES_ON_OTHER_NODES = ['test/start.e2e-spec.ts', 'test/inbound-contract.e2e-spec.ts', 'test/browser/'];

const chromium = await launchChromium();
await chromium?.close();
const projects = chromium ? [] : ['--selectProjects', 'unit', 'integration', 'e2e'];

/** More than these are not slow, but broken. */
const REPEATED_MAX = 3;
/** How Jest, Playwright and `eventually` say that the time was over. */
const OUT_OF_TIME = /Exceeded timeout of|Timeout \d+ms exceeded|Still .* after \d+ ms/s;

let passed = 0;
let failed = 0;
const repeated = [];
for (const [name, args] of CHECKS) count(run(name, process.execPath, args) ? { passed: 1 } : { failed: 1 });
count(runJest('Tests', process.execPath, [...jestOptions, ...projects]));
for (const major of majors) {
  const node = installNode(major);
  const options = [...projects, '--testPathPatterns', ...SUITES_ON_OTHER_NODES];
  count(node ? runJest(`Start, contract and browser tests on Node ${major}`, node, options) : { failed: 1 });
}
rmSync(folder, { recursive: true });

// The build exists by now, so the broker's requirements are read from it.
const { missingForBroker } = await import('../dist/kafka-broker/distribution.js');
const brokerRemedy = missingForBroker();
const clusterPackages = missingPackages().join(' ');
const skipped = [
  [existsSync('/usr/lib/postgresql/15/bin'), 'tests on PostgreSQL 15', 'install the package postgresql-15'],
  [chromium, 'browser tests', CHROMIUM_REMEDY],
  [isInstalled('kcat'), 'reading the topics with kcat', 'install the package kcat'],
  [!brokerRemedy, 'Kafka tests', brokerRemedy],
  [clusterPackages === '', 'two cells with failover', `install the packages ${clusterPackages}`],
  [isInstalled('nginx'), 'the nginx sample', 'install the package nginx'],
  [isInstalled('faketime'), 'tests with a wrong clock', 'install the package faketime'],
  [isInstalled('caddy'), 'the Caddy sample', 'install the package caddy'],
  [
    canImport('pyarrow, duckdb, polars, pandas'),
    "analysts' tools that read exports",
    'pip install pyarrow duckdb polars pandas; CC_PYTHON names the interpreter',
  ],
  [
    canImport('kafka, cloudevents.core'),
    'the CloudEvents SDK for Python',
    'pip install cloudevents kafka-python; CC_PYTHON names the interpreter',
  ],
  [isInstalled('promtool'), 'checks of metrics and alert rules with promtool', 'install the package prometheus'],
  [isInstalled('javac'), "Java's own client of Kafka", 'install the package openjdk-17-jdk-headless'],
].filter(([isPresent]) => !isPresent);
for (const line of repeated) console.log(line);
for (const [, part, remedy] of skipped) console.log(`SKIPPED: ${part} (${remedy}).`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 || (skipped.length > 0 && process.env.CI === 'true') ? 1 : 0);

function count(result) {
  passed += result.passed ?? 0;
  failed += result.failed ?? 0;
}

function run(name, command, args) {
  console.log(`\n── ${name}`);
  return spawnSync(command, args, { cwd: root, stdio: 'inherit' }).status === 0;
}

function runJest(name, node, options) {
  const report = jestReport(name, node, ['--maxWorkers=2', ...options]);
  const broken = report.testResults.filter(({ status }) => status === 'failed');
  if (report.isGreen || broken.length > REPEATED_MAX || !broken.every(mayRunAgain)) return totals(report);
  const files = broken.map(({ name: file }) => file);
  const again = jestReport(`${name}, again`, node, ['--maxWorkers=1', '--runTestsByPath', ...files]);
  for (const file of files)
    repeated.push(`RAN TWICE: ${relative(root, file)} failed and ${again.isGreen ? 'then passed' : 'failed again'}.`);
  const { failed: failedAgain } = totals(again);
  return { passed: totals(report).passed + totals(report).failed - failedAgain, failed: failedAgain };
}

function jestReport(name, node, options) {
  const results = join(folder, `${name}.json`);
  const isGreen = run(name, node, [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    bin('jest/bin/jest.js'),
    // The default of 5 s is too short on a busy machine. No test asserts a duration.
    ...['-c', 'test/jest.config.mjs', '--testTimeout=180000', '--json', `--outputFile=${results}`],
    ...options,
  ]);
  return { testResults: [], ...(existsSync(results) && JSON.parse(readFileSync(results, 'utf8'))), isGreen };
}

function totals({ isGreen, numPassedTests = 0, numFailedTests = 0, numFailedTestSuites = 0 }) {
  // A suite that fails to load has no failed tests.
  return { passed: numPassedTests, failed: Math.max(numFailedTests, numFailedTestSuites, isGreen ? 0 : 1) };
}

/**
 * A busy machine delays what a test waits for, and a page may be between two states for longer than usual. A wrong result of
 * another spec is never repeated. The first test that fails may leave the others of its file without what they need.
 */
function mayRunAgain({ name, assertionResults }) {
  const first = assertionResults.find(({ status }) => status === 'failed');
  return name.endsWith('.browser-spec.ts') || OUT_OF_TIME.test(first?.failureMessages.join() ?? '');
}

/** Debian installs servers into /usr/sbin, which is not in the PATH of every user. */
function canImport(packages) {
  return spawnSync(process.env.CC_PYTHON ?? 'python3', ['-c', `import ${packages}`]).status === 0;
}

function isInstalled(program) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return folders.some((path) => existsSync(join(path, program)));
}
