// npm run cluster: two cells on this machine, each with two instances, a PostgreSQL primary with a standby, and HAProxy.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { missingForBroker } from '../../dist/kafka-broker/distribution.js';
import { Cluster } from './cluster.mjs';
import { closedFolder, missingPackages } from './programs.mjs';
import { summary } from './summary.mjs';

const HELP = `npm run cluster [-- options]

  --data <folder>  keep data and logs in this folder, and continue with them at the next start (default: a temporary folder)

Starts two cells on this machine, on loopback and free ports. Each has two instances of the service behind HAProxy and a
PostgreSQL primary with a synchronous standby, managed by Patroni and etcd; the cells share three Kafka brokers. What is killed
in a cell is started again after 15 s. Brokers are not: when one is killed, all three stop until the next start. Stop: Ctrl-C
`;
const STOPPED_DURING_START = 130;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

const { values } = readArguments();
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
requirePrograms();
if (values.data !== undefined) requireOpenFolder(resolve(values.data));
const stopping = new AbortController();
for (const signal of SIGNALS) process.on(signal, () => stopping.abort(signal));
const directory = values.data === undefined ? mkdtempSync(join(tmpdir(), 'cc-cluster-')) : resolve(values.data);
process.exitCode = await run();

async function run() {
  process.stderr.write(`Starting two cells and three brokers. Logs: ${directory} …\n`);
  const abort = stopping.signal;
  let cluster;
  let failure;
  try {
    cluster = await Cluster.start(directory, { abort });
    process.stdout.write(await summary(cluster, { isTemporary: values.data === undefined, abort }));
    await ordered(abort);
    process.stderr.write('Stopping …\n');
  } catch (error) {
    failure = error;
  } finally {
    await cluster?.stop();
  }
  if (failure !== undefined && !abort.aborted) {
    process.stderr.write(`${failure.message}\nEverything has been stopped. The logs are in ${directory}.\n`);
    return 1;
  }
  if (values.data === undefined) rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  return failure === undefined ? 0 : STOPPED_DURING_START;
}

function ordered(signal) {
  return new Promise((resolve) => {
    // Keeps the process alive; the children do not.
    const timer = setInterval(() => {}, 60_000);
    const end = () => {
      clearInterval(timer);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}

function readArguments() {
  try {
    return parseArgs({ options: { data: { type: 'string' }, help: { type: 'boolean', default: false } } });
  } catch (error) {
    process.stderr.write(`${error.message}\n${HELP}`);
    process.exit(2);
  }
}

function requireOpenFolder(folder) {
  const closed = closedFolder(folder);
  if (closed === undefined) return;
  process.stderr.write(
    `PostgreSQL does not run as root but as the user postgres, which cannot enter ${closed}. Name another folder with --data, ` +
      'or run the command as another user.\n',
  );
  process.exit(1);
}

function requirePrograms() {
  const packages = missingPackages();
  const broker = missingForBroker();
  if (packages.length === 0 && !broker) return;
  if (packages.length > 0)
    process.stderr.write(
      `Debian packages are missing. Install them and run the command again:\n\n  apt-get install ${packages.join(' ')}\n\n` +
        'The servers that these packages start by themselves are not used: stop them with "systemctl disable --now postgresql patroni etcd haproxy".\n',
    );
  if (broker) process.stderr.write(`${broker}.\n`);
  process.exit(1);
}
