// npm run bench [-- --quick] [--against VERSION] [--platforms | --visitors | --kafka | --outbound | --history | --sources | --standby | --moves | --import | --admin | --dashboard | --grow] [--json | --markdown]
// Measures the service, a raw echo, a naive design and peers, and prints one table. See `--help`.

import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { adminRun } from './admin.mjs';
import { killAllProcesses, stopAllChildren, stopWatchedServers } from './children.mjs';
import { compareRun } from './compare.mjs';
import { hasCounters } from './counters.mjs';
import { dashboardRun } from './dashboard.mjs';
import { compileGenerator } from './generator.mjs';
import { historyRun } from './history.mjs';
import { importRun } from './import.mjs';
import { kafkaRun } from './kafka.mjs';
import { largeLogRun } from './large-log.mjs';
import { movesRun } from './moves.mjs';
import { outboundRun } from './outbound.mjs';
import { platformsRun } from './platforms.mjs';
import { sourcesRun } from './sources.mjs';
import { standardRun } from './standard.mjs';
import { standbyRun } from './standby.mjs';
import { markdownReport, textReport } from './table.mjs';
import { visitorsRun } from './visitors.mjs';

const HELP = `npm run bench [-- options]

  (none)       the standard run: five rounds of every variant, a million conversions; at most ten minutes
  --quick      a smoke run of one or two minutes, too short to judge a target
  --against V  compares this build with another version: a commit, which is built aside, or a checkout with a build
  --platforms  the platforms part: cost and latency of deliveries, draining a backlog; at most eight minutes
  --visitors   the visitors part: bot score, the tag and its calls, matching a visit
  --outbound   the outbound part: closing a reporting window in a large log, pushes of many sites at one tick
  --kafka      the Kafka part: cost of publishing and its effect on inbound; needs Java and Maven; at most eight minutes
  --grow       the large-log part: fills a log and compares it with an empty one
  --history    the history part: export and rebuild, compared with a plain COPY
  --sources    the sources part: CPU of a delivery of each source, compared with the same conversion posted to inbound
  --standby    the standby part: appends with and without a standby; needs the packages of "npm run cluster"; at most four minutes
  --moves      the moves part: a site with a filled log moves to another cell while conversions arrive
  --import     the import part: a CSV file compared with appends, and a million rows whose import is killed three times
  --admin      the admin part: inbound while the dashboard sends 20 requests a second; at most two minutes
  --dashboard  the dashboard part: a sync log of a million rows and 500 events a second in Chromium, CPU throttled to a quarter
  --events N   with --grow, --outbound, --history and --moves: number of events (default 10,000,000, with --history and
               --moves 1,000,000)
  --claims N   with --grow and --moves: how many of the newest conversions hold a live dedup claim (default 1,000,000)
  --json       prints the figures as JSON; --markdown prints the table as Markdown

Needs a C compiler for its load generator. With pgbench and the npm registry it measures more.`;

const STANDARD = {
  rounds: 5,
  warm: 1,
  seconds: 4,
  memoryFirst: 100_000,
  memoryLast: 1_000_000,
  walConversions: 200_000,
  warmUp: 50_000,
  minutes: 10,
};
const QUICK = {
  rounds: 2,
  warm: 0.5,
  seconds: 1,
  memoryFirst: 10_000,
  memoryLast: 50_000,
  walConversions: 20_000,
  warmUp: 5_000,
  minutes: 5,
};

/** Overrides for a comparison of two builds, which needs more rounds than a smoke run has. */
const AGAINST_QUICK = { rounds: 6 };

/** Overrides for the platforms part. */
const PLATFORMS_STANDARD = {
  seconds: 3,
  arrivalSeconds: 10,
  backlog: 50_000,
  drainSeconds: 20,
  warmUp: 20_000,
  waiting: 100_000,
  minutes: 8,
};
const PLATFORMS_QUICK = { arrivalSeconds: 3, backlog: 5_000, drainSeconds: 10, warmUp: 5_000, waiting: 10_000 };

/** Overrides for the Kafka part. */
const KAFKA_STANDARD = { seconds: 3, published: 40_000, minutes: 8 };
const KAFKA_QUICK = { published: 8_000 };

/** Overrides for the standby part: a small difference needs many rounds. */
const STANDBY = { rounds: 7, seconds: 3 };

/** Overrides for the sources part: CPU is counted in ticks of 10 ms. */
const SOURCES_STANDARD = { rounds: 5, deliveries: 3_000 };
const SOURCES_QUICK = { deliveries: 500 };

/** Overrides for the history part. */
const HISTORY = { rounds: 3 };

/** Overrides for the import part. */
const IMPORT_STANDARD = { rounds: 3, importRows: 200_000, largeRows: 1_000_000 };
const IMPORT_QUICK = { importRows: 20_000, largeRows: 100_000 };

/** Overrides for the dashboard part. */
const DASHBOARD_STANDARD = { rounds: 3, seconds: 10, attempts: 1_000_000 };
const DASHBOARD_QUICK = { rounds: 1, seconds: 3, attempts: 50_000 };

/** Parts with their own table, run instead of the standard run. */
const PARTS = {
  platforms: { run: platformsRun, title: 'with platforms' },
  visitors: { run: visitorsRun, title: 'visitors' },
  kafka: { run: kafkaRun, title: 'with Kafka' },
  outbound: { run: outboundRun, title: 'outbound webhook' },
  history: { run: historyRun, title: 'export and rebuild' },
  sources: { run: sourcesRun, title: 'sources' },
  import: { run: importRun, title: 'import of files' },
  standby: { run: standbyRun, title: 'with a standby' },
  moves: { run: movesRun, title: 'move of a site' },
  admin: { run: adminRun, title: 'with the dashboard' },
  dashboard: { run: dashboardRun, title: 'dashboard in a browser' },
};

/** Read before a part leaves a core to the services. */
const CORES = os.availableParallelism();

/** npm forwards a Ctrl-C that the terminal has already delivered. Only a later signal forces the exit. */
const FORCE_EXIT_AFTER_MS = 1_000;

const { values: options } = parseArgs({
  options: {
    ...Object.fromEntries(
      ['quick', 'grow', ...Object.keys(PARTS), 'json', 'markdown', 'help'].map((name) => [name, { type: 'boolean' }]),
    ),
    events: { type: 'string' },
    against: { type: 'string' },
    claims: { type: 'string', default: '1000000' },
  },
});
if (options.help) {
  console.log(HELP);
  process.exit(0);
}
if (options.against && (partWanted() || options.grow))
  fail('--against is a part of its own: leave out the other parts.');
await main();

function fail(message) {
  console.error(message);
  process.exit(2);
}

async function main() {
  const started = performance.now();
  const settings = {
    ...(options.quick ? QUICK : STANDARD),
    ...(options.against && options.quick && AGAINST_QUICK),
    ...(options.platforms && (options.quick ? PLATFORMS_QUICK : PLATFORMS_STANDARD)),
    ...(options.kafka && (options.quick ? KAFKA_QUICK : KAFKA_STANDARD)),
    ...(options.history && !options.quick && HISTORY),
    ...(options.sources && (options.quick ? SOURCES_QUICK : SOURCES_STANDARD)),
    ...(options.standby && !options.quick && STANDBY),
    ...(options.dashboard && (options.quick ? DASHBOARD_QUICK : DASHBOARD_STANDARD)),
    ...(options.import && (options.quick ? IMPORT_QUICK : IMPORT_STANDARD)),
    events: Number(
      options.events ?? (options.history || options.moves ? (options.quick ? 100_000 : 1_000_000) : 10_000_000),
    ),
    claims: Number(options.claims),
  };
  const context = {
    settings,
    directory: await makeDirectory(),
    against: options.against,
    deadline: started + settings.minutes * 60_000,
    progress: (text) => context.interrupted || showProgress(text),
    facts: [],
    notes: [],
    failures: [],
    cleanUp: [],
    part: (name, work) => runPart(context, name, work),
  };
  cleanUpOnExit(context);
  context.generator = await compileGenerator(context.directory);
  const rows = await wantedRun()(context);
  if (context.interrupted) await new Promise(() => {});
  await tidyUp(context);
  showProgress('');
  const minutes = (performance.now() - started) / 60_000;
  const report = { title: title(), facts: facts(context, minutes), rows: withVerdicts(rows), notes: notes(context) };
  print(report, context.samples);
  process.exit(context.failures.length > 0 ? 1 : 0);
}

function partWanted() {
  return Object.entries(PARTS).find(([name]) => options[name])?.[1];
}

function wantedRun() {
  if (partWanted()) return partWanted().run;
  if (options.against) return compareRun;
  return options.grow ? largeLogRun : standardRun;
}

/** A failed step is listed in the report and the others continue. After Ctrl-C no further step starts. */
async function runPart(context, name, work) {
  if (context.interrupted) return new Promise(() => {});
  context.currentStep = work().catch((error) => {
    context.failures.push(`${name}: ${error.message}`);
    return undefined;
  });
  return context.currentStep;
}

/** /var/tmp rather than /tmp, which is often a tmpfs, where an fsync is free. */
async function makeDirectory() {
  const parent = process.env.TMPDIR ?? (existsSync('/var/tmp') ? '/var/tmp' : os.tmpdir());
  const directory = await mkdtemp(join(parent, 'cc-bench-'));
  // Started as root, PostgreSQL runs as another user, which needs access.
  await chmod(directory, 0o755);
  return directory;
}

function cleanUpOnExit(context) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, async () => {
      if (context.interrupted)
        return performance.now() - context.interrupted > FORCE_EXIT_AFTER_MS && process.exit(130);
      context.interrupted = performance.now();
      showProgress('stopping …');
      await stopAllChildren();
      // Without its child processes the current step fails soon. Whatever it has started is then registered.
      await context.currentStep;
      await tidyUp(context);
      showProgress('');
      process.exit(130);
    });
  }
  process.on('exit', killAllProcesses);
}

async function tidyUp(context) {
  await stopAllChildren();
  await Promise.allSettled(context.cleanUp.splice(0).map((step) => step()));
  await stopWatchedServers();
  await rm(context.directory, { recursive: true, force: true });
}

/** Overwrites one line on a terminal; otherwise prints one line each. */
function showProgress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  else if (text) process.stderr.write(`${text}\n`);
}

function title() {
  if (options.grow) return 'Clean Conversions benchmark: large log and empty log';
  const subject = `Clean Conversions benchmark${subtitle()}`;
  return options.quick ? `${subject}: smoke run, too short to judge a target` : subject;
}

function subtitle() {
  if (options.against) return `, compared with ${options.against}`;
  return partWanted() ? `, ${partWanted().title}` : '';
}

function facts({ settings, postgresVersion, facts }, minutes) {
  const { model } = os.cpus()[0];
  return [
    `${CORES} cores (${model.trim()}), ${Math.round(os.totalmem() / 2 ** 30)} GB, ${os.type()} ${os.arch()}; ` +
      `Node ${process.versions.node}, PostgreSQL ${postgresVersion ?? 'unknown'}; ${new Date().toISOString().slice(0, 10)}, ${minutes.toFixed(1)} minutes`,
    `${settings.rounds} interleaved rounds, ${settings.warm} s warm-up and ${settings.seconds} s each; medians of rates and of per-round ratios; ` +
      'service, PostgreSQL and load generator share the machine',
    'CPU µs: server process + its PostgreSQL, per request',
    ...facts,
  ];
}

function notes({ notes, failures }) {
  return [
    ...(hasCounters ? [] : ['CPU and memory skipped: they are read from /proc, which only Linux has']),
    ...notes,
    ...failures.map((failure) => `FAILED: ${failure}`),
  ];
}

function withVerdicts(rows) {
  return options.quick ? rows.map((row) => ({ ...row, met: undefined })) : rows;
}

function print(report, samples) {
  if (options.json) console.log(JSON.stringify({ ...report, samples }, null, 2));
  else console.log(options.markdown ? markdownReport(report) : textReport(report));
}
