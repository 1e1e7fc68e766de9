// npm test: checks style and types, runs the unit, integration and contract specs and a journey in a browser.
// npm run test:full: also everything that crashes, fails over, installs, or needs other programs: Kafka, a cluster, all browser
// specs, PostgreSQL 15. With --node=20 --node=26 it runs the start, contract and journey specs on these versions of Node, too.
// Other arguments go to Jest: `npm test -- test/inbound-contract`.
// A part whose external component is missing is listed with how to install it; with CI=true that is a failure.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { missingPackages } from '../deploy/cluster/programs.mjs';
import { CHROMIUM_REMEDY, launchChromium } from './browser/chromium.mjs';
import { installNode } from './install-node.mjs';
import './runner/end-with-parent.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bin = (path) => join(root, 'node_modules', path);
const reports = join(root, '.cache', 'test-results');
const SLOWEST_SHOWN = 10;

const NODE_OPTION = '--node=';
const [isFull, majors, jestOptions] = readArguments(process.argv.slice(2));

const CHECKS = [
  ['Style', [bin('@biomejs/biome/bin/biome'), 'check', '.']],
  ['Types', [bin('typescript-native/bin/tsc'), '-p', 'test']],
  ['Types of the browser tests', [bin('typescript-native/bin/tsc'), '-p', 'test/browser']],
  ['Types of the tag', [bin('typescript-native/bin/tsc'), '-p', 'src/tag/browser']],
  ['Client of the dashboard', [join(root, 'src/dashboard/generate-client.mjs')]],
  ['Types of the dashboard', [bin('typescript-native/bin/tsc'), '-p', 'src/dashboard/browser']],
];
const PROJECTS = ['unit', 'integration', 'e2e', 'journey', ...(isFull ? ['full', 'browser'] : [])];
const NEED_CHROMIUM = ['journey', 'browser'];
/** What depends on the version of PostgreSQL: the log, its migrations and its copies. */
const SUITES_ON_POSTGRES_15 = ['test/log/', 'test/postgres/postgres.full-spec.ts', 'test/paused-sites.int-spec.ts'];
/** What can differ between versions of Node without a test of its own: the start, the HTTP contract, the browser tests. */
const SUITES_ON_OTHER_NODES = ['test/start.', 'test/inbound-contract.', 'test/browser/journey.'];

const chromium = await launchChromium();
await chromium?.close();
const projects = ['--selectProjects', ...PROJECTS.filter((name) => chromium || !NEED_CHROMIUM.includes(name))];

rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });
const missing = await missingComponents();
const files = [];
let passed = 0;
let failed = 0;

// Beside the tests, which also wait.
const checks = runChecks();
await runJest('Tests', process.execPath, jestOptions);
await checks;
if (isFull && existsSync('/usr/lib/postgresql/15/bin')) {
  process.env.CC_TEST_POSTGRES_MAJOR = '15';
  await runJest('Tests of the log on PostgreSQL 15', process.execPath, [
    '--testPathPatterns',
    ...SUITES_ON_POSTGRES_15,
  ]);
  delete process.env.CC_TEST_POSTGRES_MAJOR;
}
for (const major of majors) {
  const node = installNode(major);
  if (node) await runJest(`Tests on Node ${major}`, node, ['--testPathPatterns', ...SUITES_ON_OTHER_NODES]);
  else failed += 1;
}

printTimes();
for (const [part, remedy] of missing) console.log(`SKIPPED: ${part} (${remedy}).`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 || (missing.length > 0 && process.env.CI === 'true') ? 1 : 0);

function readArguments(args) {
  const isOwn = (arg) => arg === '--full' || arg.startsWith(NODE_OPTION);
  const nodes = args.filter((arg) => arg.startsWith(NODE_OPTION)).map((arg) => arg.slice(NODE_OPTION.length));
  return [args.includes('--full'), nodes, args.filter((arg) => !isOwn(arg))];
}

async function runChecks() {
  for (const [name, args] of CHECKS) {
    const { status, output } = await run(args);
    console.log(`\n── ${name}: ${status === 0 ? 'passed' : 'failed'}\n${output}`);
    if (status === 0) passed += 1;
    else failed += 1;
  }
}

function run(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.on('close', (status) => resolve({ status, output }));
  });
}

async function runJest(name, node, options) {
  console.log(`\n── ${name}`);
  const report = join(reports, `${name}.json`);
  const args = [
    ...['--disable-warning=ExperimentalWarning', bin('jest/bin/jest.js'), '-c', 'test/jest.config.mjs'],
    // Specs also wait: one worker more than cores.
    ...[`--maxWorkers=${availableParallelism() + 1}`, '--json', `--outputFile=${report}`, ...projects, ...options],
  ];
  const status = await new Promise((resolve) => {
    spawn(node, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).on('close', resolve);
  });
  const result = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : {};
  const { numPassedTests = 0, numFailedTests = 0, numFailedTestSuites = 0, testResults = [] } = result;
  passed += numPassedTests;
  // A suite that fails to load has no failed tests.
  failed += Math.max(numFailedTests, numFailedTestSuites, status === 0 && existsSync(report) ? 0 : 1);
  for (const { name: file, startTime, endTime, assertionResults } of testResults)
    files.push([relative(root, file), (endTime - startTime) / 1_000, assertionResults.length, name]);
}

function printTimes() {
  files.sort(([, one], [, other]) => other - one);
  const list = join(reports, 'files.csv');
  const rows = files.map(([file, seconds, tests, run]) => `${file},${seconds.toFixed(1)},${tests},${run}\n`);
  writeFileSync(list, `file,seconds,tests,run\n${rows.join('')}`);
  console.log(`\nSlowest files (all: ${relative(root, list)})`);
  for (const [file, seconds] of files.slice(0, SLOWEST_SHOWN))
    console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`);
}

async function missingComponents() {
  const always = [[chromium, 'browser tests', CHROMIUM_REMEDY]];
  return [...always, ...(isFull ? await componentsOfFull() : [])]
    .filter(([isPresent]) => !isPresent)
    .map(([, part, remedy]) => [part, remedy]);
}

async function componentsOfFull() {
  // The build exists by now, so the broker's requirements are read from it.
  const { missingForBroker } = await import('../dist/kafka-broker/distribution.js');
  const brokerRemedy = missingForBroker();
  const clusterPackages = missingPackages().join(' ');
  return [
    [existsSync('/usr/lib/postgresql/15/bin'), 'tests on PostgreSQL 15', 'install the package postgresql-15'],
    [isInstalled('kcat'), 'reading the topics with kcat', 'install the package kcat'],
    [!brokerRemedy, 'Kafka tests', brokerRemedy],
    [clusterPackages === '', 'two cells with failover', `install the packages ${clusterPackages}`],
    [isInstalled('nginx'), 'the nginx sample', 'install the package nginx'],
    [isInstalled('systemd-analyze'), 'checks of the systemd unit', 'install the package systemd'],
    [isInstalled('faketime'), 'tests with a wrong clock', 'install the package faketime'],
    [isInstalled('caddy'), 'the Caddy sample', 'install the package caddy'],
    [isInstalled('promtool'), 'checks of metrics and alert rules with promtool', 'install the package prometheus'],
    [isInstalled('javac'), "Java's own client of Kafka", 'install the package openjdk-17-jdk-headless'],
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
  ];
}

function canImport(packages) {
  return spawnSync(process.env.CC_PYTHON ?? 'python3', ['-c', `import ${packages}`]).status === 0;
}

/** Debian installs servers into /usr/sbin, which is not in the PATH of every user. */
function isInstalled(program) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return folders.some((path) => existsSync(join(path, program)));
}
