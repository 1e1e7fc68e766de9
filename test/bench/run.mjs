// npm run bench [-- --quick] [--platforms | --visitors | --kafka | --outbound | --history | --grow] [--json | --markdown]
// Measures the service against a raw echo, a naive design and its peers, and prints one table. `--help` says more.

import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { killEverything, stopAllChildren, stopWatchedServers } from './children.mjs';
import { hasCounters } from './counters.mjs';
import { prepareGenerator } from './generator.mjs';
import { grownRun } from './grown.mjs';
import { historyRun } from './history.mjs';
import { kafkaRun } from './kafka.mjs';
import { outboundRun } from './outbound.mjs';
import { platformsRun } from './platforms.mjs';
import { standardRun } from './standard.mjs';
import { markdownReport, textReport } from './table.mjs';
import { visitorsRun } from './visitors.mjs';

const HELP = `npm run bench [-- options]

  (none)       the standard run: five rounds of every variant, a million conversions; at most ten minutes
  --quick      a smoke run of a minute or two: shows that everything works, too short to judge a target
  --platforms  the platforms part: what sending costs, how long it takes, how a backlog drains; at most eight minutes
  --visitors   the visitors part: judging a visit, the tag on a page and its calls, finding a visit
  --outbound   the outbound part: closing a stretch in a large log, and many sites' pushes of one tick; fills a log
  --kafka      the Kafka part: what publishing costs, and what it takes from inbound; needs Java and Maven; at most eight minutes
  --grow       the ten-million part: fills a log and compares it with an empty one
  --history    the history part: export and rebuild, compared with a plain COPY that is parsed
  --events N   with --grow, --outbound and --history: how many events (default 10,000,000, with --history 1,000,000)
  --claims N   with --grow: how many of the newest hold a live dedup claim (default 1,000,000)
  --json       the figures for machines; --markdown the table for a document

Needs nothing but what the product needs. A C compiler, pgbench and the npm registry add what the table otherwise leaves out.`;

const STANDARD = {
  rounds: 5,
  warm: 1,
  seconds: 4,
  memoryFirst: 100_000,
  memoryLast: 1_000_000,
  walStretch: 200_000,
  warmUp: 50_000,
  minutes: 10,
};
const QUICK = {
  rounds: 2,
  warm: 0.5,
  seconds: 1,
  memoryFirst: 10_000,
  memoryLast: 50_000,
  walStretch: 20_000,
  warmUp: 5_000,
  minutes: 5,
};

/** In place of the above, for the platforms part. */
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

/** Likewise, for the Kafka part. */
const KAFKA_STANDARD = { seconds: 3, published: 40_000, minutes: 8 };
const KAFKA_QUICK = { published: 8_000 };

/** Likewise, for the history part. */
const HISTORY = { rounds: 3 };

/** Beside the usual run: each has a table of its own. */
const PARTS = {
  platforms: { run: platformsRun, title: 'with platforms' },
  visitors: { run: visitorsRun, title: 'visitors' },
  kafka: { run: kafkaRun, title: 'with Kafka' },
  outbound: { run: outboundRun, title: 'outbound webhook' },
  history: { run: historyRun, title: 'reading the log back' },
};

/** npm passes Ctrl-C on to a process that the terminal has told already: only a later one means that somebody insists. */
const IMPATIENT_MS = 1_000;

const { values: options } = parseArgs({
  options: {
    ...Object.fromEntries(
      ['quick', 'grow', ...Object.keys(PARTS), 'json', 'markdown', 'help'].map((name) => [name, { type: 'boolean' }]),
    ),
    events: { type: 'string' },
    claims: { type: 'string', default: '1000000' },
  },
});
if (options.help) {
  console.log(HELP);
  process.exit(0);
}
await main();

async function main() {
  const started = performance.now();
  const settings = {
    ...(options.quick ? QUICK : STANDARD),
    ...(options.platforms && (options.quick ? PLATFORMS_QUICK : PLATFORMS_STANDARD)),
    ...(options.kafka && (options.quick ? KAFKA_QUICK : KAFKA_STANDARD)),
    ...(options.history && !options.quick && HISTORY),
    events: Number(options.events ?? (options.history ? (options.quick ? 100_000 : 1_000_000) : 10_000_000)),
    claims: Number(options.claims),
  };
  const context = {
    settings,
    directory: await makeDirectory(),
    deadline: started + settings.minutes * 60_000,
    progress: (text) => context.interrupted || showProgress(text),
    facts: [],
    notes: [],
    failures: [],
    cleanUp: [],
    part: (name, work) => runPart(context, name, work),
  };
  leaveNothingBehind(context);
  context.generator = await prepareGenerator(context.directory);
  const rows = await wantedRun()(context);
  if (context.interrupted) await new Promise(() => {});
  await tidyUp(context);
  showProgress('');
  const minutes = (performance.now() - started) / 60_000;
  const report = { title: title(), facts: facts(context, minutes), rows: judged(rows), notes: notes(context) };
  print(report, context.samples);
  process.exit(context.failures.length > 0 ? 1 : 0);
}

function partWanted() {
  return Object.entries(PARTS).find(([name]) => options[name])?.[1];
}

function wantedRun() {
  if (partWanted()) return partWanted().run;
  return options.grow ? grownRun : standardRun;
}

/** A part that fails is named in the table, and the others go on. After Ctrl-C none begins any more. */
async function runPart(context, name, work) {
  if (context.interrupted) return new Promise(() => {});
  context.underWay = work().catch((error) => {
    context.failures.push(`${name}: ${error.message}`);
    return undefined;
  });
  return context.underWay;
}

/** /var/tmp rather than /tmp, which is often held in memory, where an fsync costs nothing. */
async function makeDirectory() {
  const parent = process.env.TMPDIR ?? (existsSync('/var/tmp') ? '/var/tmp' : os.tmpdir());
  const directory = await mkdtemp(join(parent, 'cc-bench-'));
  // Run by root, PostgreSQL runs as another user, who must be able to get in.
  await chmod(directory, 0o755);
  return directory;
}

function leaveNothingBehind(context) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, async () => {
      if (context.interrupted) return performance.now() - context.interrupted > IMPATIENT_MS && process.exit(130);
      context.interrupted = performance.now();
      showProgress('stopping …');
      await stopAllChildren();
      // It ends soon, having no children any more, and what it has started meanwhile is then known.
      await context.underWay;
      await tidyUp(context);
      showProgress('');
      process.exit(130);
    });
  }
  process.on('exit', killEverything);
}

async function tidyUp(context) {
  await stopAllChildren();
  await Promise.allSettled(context.cleanUp.splice(0).map((step) => step()));
  await stopWatchedServers();
  await rm(context.directory, { recursive: true, force: true });
}

/** One line that is written over; where nobody looks on, a line each. */
function showProgress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  else if (text) process.stderr.write(`${text}\n`);
}

function title() {
  if (options.grow) return 'Clean Conversions benchmark: a large log against an empty one';
  const part = partWanted() ? `, ${partWanted().title}` : '';
  const subject = `Clean Conversions benchmark${part}`;
  return options.quick ? `${subject}: smoke run, too short to judge a target` : subject;
}

function facts({ settings, generator, postgresVersion, facts }, minutes) {
  const { model } = os.cpus()[0];
  return [
    `${os.availableParallelism()} cores (${model.trim()}), ${Math.round(os.totalmem() / 2 ** 30)} GB, ${os.type()} ${os.arch()}; ` +
      `Node ${process.versions.node}, PostgreSQL ${postgresVersion ?? 'unknown'}; ${new Date().toISOString().slice(0, 10)}, ${minutes.toFixed(1)} minutes`,
    `${settings.rounds} interleaved rounds, ${settings.warm} s warm-up and ${settings.seconds} s each; medians, ratios taken round by round; ` +
      `load generator in ${generator.language}; service, PostgreSQL and generator share the machine`,
    'CPU µs: server process + its PostgreSQL, per request',
    ...facts,
  ];
}

function notes({ notes, failures, generator }) {
  return [
    ...(generator.language === 'C'
      ? []
      : [`THE LOAD GENERATOR RAN IN NODE AND COSTS MORE THAN WHAT IT MEASURES: ${generator.reason}`]),
    ...(hasCounters ? [] : ['CPU and memory are left out: they are read from /proc, which only Linux has']),
    ...notes,
    ...failures.map((failure) => `FAILED: ${failure}`),
  ];
}

function judged(rows) {
  return options.quick ? rows.map((row) => ({ ...row, met: undefined })) : rows;
}

function print(report, samples) {
  if (options.json) console.log(JSON.stringify({ ...report, samples }, null, 2));
  else console.log(options.markdown ? markdownReport(report) : textReport(report));
}
