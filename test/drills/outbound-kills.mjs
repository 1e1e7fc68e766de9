// Several instances push every second, and one of them is killed or frozen every one to two seconds. Afterwards the windows
// that the receiver acknowledged must cover the log without gaps or overlaps and with the same totals.
//   DRILL_BREAK=leases      every process gets the lease of every site: the drill must then fail
//   TEST_SEED=<number>      repeats the random choices of a run
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openSealer } from '../../dist/kernel/secret-key.js';
import { readSettings } from '../../dist/kernel/settings/settings.js';
import { PostgresEventLog } from '../../dist/log/postgres-event-log.js';
import { COUNTED, COUNTED_BY, sumTotals } from '../../dist/outbound/totals.js';
import { Postgres } from '../../dist/postgres/postgres.js';
import { recordedSocketDir } from '../../dist/postgres/postmaster.js';
import { AddSite } from '../../dist/sites/site.commands.js';
import { siteCommandDispatcher } from '../../dist/sites/site-command-handlers.js';
import { SiteRepository } from '../../dist/sites/site-repository.js';
import { SiteSecrets } from '../../dist/sites/site-secrets.js';
import { SetWebhook } from '../../dist/sites/webhook.commands.js';
import { printSeed, seededRandom } from '../support/seed.mjs';
import { startTracingReceiver } from './tracing-receiver.mjs';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const FULL = { instances: 4, sites: 20, windows: 1_000, faults: 40, timeoutMs: 900_000 };
const SHORT = { instances: 3, sites: 5, windows: 40, faults: 8, timeoutMs: 150_000 };
const TIMEOUT_MS = 4_000;
/** A lease lasts 12 s longer than the timeout. One of the freezes outlasts it. */
const FREEZES_MS = [300, 1_000, 3_000, TIMEOUT_MS + 14_000];
const FAULT_EVERY_MS = [800, 2_500];
/** Delay between a process sending a call and its arrival here, on a busy machine. */
const SLACK_MS = 1_000;
const ENVIRONMENT = {
  PORT: '0',
  ADMIN_PORT: 'off',
  LOG_LEVEL: 'warn',
  DEMO_PLATFORMS: 'false',
  OUTBOUND_ALLOW_PRIVATE: 'true',
  OUTBOUND_EVERY: '1s',
  OUTBOUND_TIMEOUT: `${TIMEOUT_MS}ms`,
  OUTBOUND_RETRY_SCHEDULE: '500ms',
  ...(process.env.DRILL_BREAK === 'leases' && {
    NODE_OPTIONS: `--import=${fileURLToPath(new URL('./broken-leases.mjs', import.meta.url))}`,
  }),
};

export async function drill({ short, log: logLine }) {
  const size = short ? SHORT : FULL;
  const seed = printSeed('outbound-kills');
  const dataDir = mkdtempSync(join(tmpdir(), 'cc-drill-'));
  // When started by root, PostgreSQL runs as another user, which needs access to its data.
  chmodSync(dataDir, 0o755);
  const postgres = await Postgres.open({ databaseUrl: undefined, dataDir, onMessage: () => {} });
  const log = new PostgresEventLog(postgres);
  const secrets = new SiteSecrets(postgres.pool, openSealer(readSettings({ DATA_DIR: dataDir })));
  const random = seededRandom(seed);
  const fleet = new Fleet(dataDir, random);
  const receiver = await startTracingReceiver(() => fleet.pids(), seededRandom(seed, 1));
  try {
    const hosts = await openSites(siteCommandDispatcher(new SiteRepository(log), secrets), receiver.url, size.sites);
    await Promise.all(Array.from({ length: size.instances }, () => fleet.add()));
    const writer = startWriter(log, [...hosts.keys()], seededRandom(seed, 2));
    const isEnough = () => acknowledgedOf(receiver.calls).length >= size.windows;
    await injectFaults(fleet, isEnough, size, random);
    logLine(`${fleet.faults.length} faults injected`);
    const written = await writer.stop();
    fleet.resumeAll();
    const isComplete = await waitUntilComplete(log, hosts, receiver, size.timeoutMs / 3);
    return [
      { what: 'seed (TEST_SEED)', result: seed, ok: true },
      { what: 'all counted events were acknowledged in the end', result: `${written} events`, ok: isComplete },
      ...(await check(log, hosts, receiver.calls, fleet.faults, size, logLine)),
    ];
  } finally {
    await fleet.end();
    await receiver.stop();
    await log.close();
    await postgres.close();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A data folder has one service, so the instances use its server like an external one. */
function sharedDatabase(dataDir) {
  const socketDir = recordedSocketDir(realpathSync(join(dataDir, 'postgres')));
  return {
    DATABASE_URL: `postgres://postgres@/postgres?host=${encodeURIComponent(socketDir)}`,
    SECRET_KEY: readFileSync(join(dataDir, 'secret-key'), 'utf8').trim(),
  };
}

/** The instances and the faults injected into them. */
class Fleet {
  faults = [];
  #children = new Set();
  #frozen = new Set();

  constructor(dataDir, random) {
    this.dataDir = dataDir;
    this.random = random;
  }

  pids() {
    return [...this.#children].map(({ pid }) => pid);
  }

  async add() {
    const env = { PATH: process.env.PATH, DATA_DIR: this.dataDir, ...sharedDatabase(this.dataDir), ...ENVIRONMENT };
    const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    await new Promise((ready) => {
      child.stdout.on('data', (chunk) => String(chunk).includes('Stop: Ctrl-C') && ready());
      child.once('exit', ready);
    });
  }

  /** A running instance, if at least one other is running. */
  #target() {
    const running = [...this.#children].filter((child) => !this.#frozen.has(child));
    return running.length > 1 ? running[Math.floor(this.random() * running.length)] : undefined;
  }

  kill() {
    const child = this.#target();
    if (!child) return;
    child.kill('SIGKILL');
    this.faults.push({ kind: 'kill', pid: child.pid, from: Date.now(), to: Date.now() });
    this.#children.delete(child);
    void this.add();
  }

  freeze(ms) {
    const child = this.#target();
    if (!child) return;
    child.kill('SIGSTOP');
    this.#frozen.add(child);
    const freeze = { kind: 'freeze', pid: child.pid, from: Date.now(), to: Number.POSITIVE_INFINITY };
    this.faults.push(freeze);
    child.resume = () => {
      if (!this.#frozen.delete(child)) return;
      freeze.to = Date.now();
      child.kill('SIGCONT');
    };
    setTimeout(child.resume, ms);
  }

  resumeAll() {
    for (const child of this.#frozen) child.resume();
  }

  async end() {
    for (const child of this.#children) child.kill('SIGKILL');
    while (this.#children.size > 0) await sleep(20);
  }
}

async function openSites(commands, url, count) {
  const hosts = new Map();
  for (let number = 1; number <= count; number += 1) {
    const { host } = await commands.execute(new AddSite('cli', `shop-${number}.example`));
    const request = { url: `${url}/${host}`, allowPrivate: true };
    const { webhook } = await commands.execute(new SetWebhook('cli', host, request));
    hosts.set(host, webhook.first.position);
  }
  return hosts;
}

/** Appends counted and uncounted events for the sites in turn, until stopped. */
function startWriter(log, hosts, random) {
  const kinds = [
    ['conversion', 'conversion.received.v1', { trial: false }],
    ['conversion', 'conversion.received.v1', { trial: true }],
    ['conversion', 'conversion.filtered.v1', { trial: false }],
    ['visitor', 'visitor.bot_detected.v1', { mode: 'enforce' }],
    ['visitor', 'visitor.bot_detected.v1', { mode: 'observe' }],
  ];
  let written = 0;
  let stopped = false;
  const writing = (async () => {
    while (!stopped) {
      const [category, type, data] = kinds[Math.floor(random() * kinds.length)];
      const site = hosts[written % hosts.length];
      const events = [{ type, data }];
      await log.append({ category, stream: randomUUID(), expected: 'new', site, actor: 'system', events });
      written += 1;
      await sleep(5);
    }
  })();
  const stop = async () => {
    stopped = true;
    await writing;
    return written;
  };
  return { stop };
}

/** Alternates kills and freezes at random intervals. */
async function injectFaults(fleet, isEnough, { faults, timeoutMs }, random) {
  const deadlineMs = performance.now() + timeoutMs;
  const [min, max] = FAULT_EVERY_MS;
  for (let turn = 0; (turn < faults || !isEnough()) && performance.now() < deadlineMs; turn += 1) {
    await sleep(min + random() * (max - min));
    if (turn % 2 === 0) fleet.kill();
    else fleet.freeze(FREEZES_MS[(turn >> 1) % FREEZES_MS.length]);
  }
}

/** Acknowledged calls without repeats, in the order of the log. */
function acknowledgedOf(calls, site) {
  const acknowledged = calls.filter((call) => call.acknowledged && (site === undefined || call.site === site));
  return [...new Map(acknowledged.map((call) => [call.id, call])).values()].sort(
    (one, other) => one.from - other.from || one.to - other.to,
  );
}

function sumOf(pushes) {
  const bodies = pushes.map(({ body }) => JSON.parse(body));
  const add = (name) => bodies.reduce((sum, body) => sum + body[name], 0);
  return JSON.stringify({ conversions: add('conversions'), bot_traffic_removed: add('bot_traffic_removed') });
}

async function totalsOf(log, site, after, until) {
  return JSON.stringify(sumTotals(await log.count({ site, after, until, types: COUNTED, by: COUNTED_BY })));
}

async function waitUntilComplete(log, hosts, { calls }, timeoutMs) {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const head = await log.head();
    const sums = [...hosts].map(async ([host, first]) => {
      return sumOf(acknowledgedOf(calls, host)) === (await totalsOf(log, host, first, head));
    });
    if ((await Promise.all(sums)).every(Boolean)) return true;
    if (performance.now() > deadlineMs) return false;
    await sleep(500);
  }
}

async function check(log, hosts, calls, faults, { windows }, logLine) {
  let [gaps, mismatches] = [0, 0];
  for (const [host, first] of hosts) {
    const pushes = acknowledgedOf(calls, host);
    for (const [at, push] of pushes.entries()) {
      if (push.from !== (pushes[at - 1]?.to ?? first)) gaps += 1;
      if (sumOf([push]) !== (await totalsOf(log, host, push.from, push.to))) mismatches += 1;
    }
  }
  const bodies = new Map(calls.map((call) => [call.id, call.body]));
  const changed = calls.filter((call) => bodies.get(call.id) !== call.body).length;
  const repeats = repeatsOf(calls);
  const unexplained = repeats.filter(({ first, again }) => !isExplained(faults, first, again));
  for (const { first, again } of unexplained) logLine(`unexplained repeat: ${JSON.stringify({ first, again })}`);
  const late = await lateCalls(log, calls);
  const kills = faults.filter(({ kind }) => kind === 'kill').length;
  const acknowledged = acknowledgedOf(calls).length;
  const unattributed = calls.filter(({ pid }) => pid === undefined).length;
  return [
    { what: 'windows acknowledged', result: `${acknowledged} from ${hosts.size} sites`, ok: acknowledged >= windows },
    {
      what: 'faults',
      result: `${kills} kills, ${faults.length - kills} freezes`,
      ok: kills > 0 && faults.length > kills,
    },
    { what: 'windows that do not start at the end of the previous one', result: gaps, ok: gaps === 0 },
    { what: 'windows with other totals than the log', result: mismatches, ok: mismatches === 0 },
    { what: 'repeats with a different body', result: changed, ok: changed === 0 },
    {
      what: 'calls of a process that exited before it was identified',
      result: `${unattributed} of ${calls.length}`,
      ok: unattributed < calls.length / 20,
    },
    {
      what: 'repeats of an acknowledged call whose first sender was neither killed nor frozen',
      result: `${unexplained.length} of ${repeats.length}`,
      ok: unexplained.length === 0,
    },
    { what: 'calls after the delivery was recorded, as by a resumed process', result: late, ok: late === 0 },
  ];
}

/** Each call that had already been acknowledged, with the call that was acknowledged first. */
function repeatsOf(calls) {
  const acknowledged = new Map();
  return calls.flatMap((call) => {
    const first = acknowledged.get(call.id);
    if (first) return [{ first, again: call }];
    if (call.acknowledged) acknowledged.set(call.id, call);
    return [];
  });
}

/** The first sender must have been killed or frozen between its call and the repeat. */
function isExplained(faults, first, again) {
  if (first.pid === undefined) return wasJustKilled(faults, first);
  return faults.some(({ pid, from }) => pid === first.pid && from >= first.at - SLACK_MS && from <= again.at);
}

/** The last call of a killed process may arrive when its sender can no longer be identified. */
function wasJustKilled(faults, { at }) {
  return faults.some(({ kind, from }) => kind === 'kill' && Math.abs(from - at) < 3 * SLACK_MS);
}

/** A process sends a window only before its delivery is recorded, unless its lease has expired. */
async function lateCalls(log, calls) {
  const deliveredAt = new Map();
  for (let after = 0; ; ) {
    const events = await log.read({ after, types: ['outbound.delivered.v1'], limit: 5_000 });
    for (const { data, time } of events) deliveredAt.set(data.stretchId, Date.parse(time));
    if (events.length === 0) break;
    after = events.at(-1).position;
  }
  return calls.filter(({ id, at }) => at > deliveredAt.get(id)).length;
}
