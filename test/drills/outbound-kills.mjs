// Several instances, a tick a second, and one of them killed or frozen every other second. Afterwards what the receiver
// has acknowledged must be the log, cut into stretches: nothing missing, nothing twice, and the same totals.
//   DRILL_BREAK=claims      every process gets every site: the drill must then fail
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openSealer } from '../../dist/kernel/secret-key.js';
import { readSettings } from '../../dist/kernel/settings.js';
import { EventLog } from '../../dist/log/event-log.js';
import { addUp, COUNTED, DECIDING } from '../../dist/outbound/totals.js';
import { Postgres } from '../../dist/postgres/postgres.js';
import { AddSite } from '../../dist/sites/site.commands.js';
import { siteCommandDispatcher } from '../../dist/sites/site-command-handlers.js';
import { SiteRepository } from '../../dist/sites/site-repository.js';
import { SiteSecrets } from '../../dist/sites/site-secrets.js';
import { SetWebhook } from '../../dist/sites/webhook.commands.js';
import { startTracingReceiver } from './tracing-receiver.mjs';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const FULL = { instances: 4, sites: 20, stretches: 1_000, troubles: 40, withinMs: 900_000 };
const SHORT = { instances: 3, sites: 5, stretches: 40, troubles: 8, withinMs: 150_000 };
const TIMEOUT_MS = 4_000;
/** A claim lasts the timeout and twelve seconds more: some freezes are longer than that, most are not. */
const FREEZES_MS = [300, 1_000, 3_000, TIMEOUT_MS + 14_000];
const TROUBLE_EVERY_MS = [800, 2_500];
/** Between bytes that a process has sent and the moment they are seen here, on a machine that is busy with all this. */
const SLACK_MS = 1_000;
const ENVIRONMENT = {
  PORT: '0',
  LOG_LEVEL: 'warn',
  DEMO_PLATFORMS: 'false',
  OUTBOUND_ALLOW_PRIVATE: 'true',
  OUTBOUND_EVERY: '1s',
  OUTBOUND_TIMEOUT: `${TIMEOUT_MS}ms`,
  OUTBOUND_RETRY_SCHEDULE: '500ms',
  ...(process.env.DRILL_BREAK === 'claims' && {
    NODE_OPTIONS: `--import=${fileURLToPath(new URL('./broken-claims.mjs', import.meta.url))}`,
  }),
};

export async function drill({ short, say }) {
  const size = short ? SHORT : FULL;
  const dataDir = mkdtempSync(join(tmpdir(), 'cc-drill-'));
  // As root, another user runs the database, and it must get to its data.
  chmodSync(dataDir, 0o755);
  const postgres = await Postgres.open({ databaseUrl: undefined, dataDir, say: () => {} });
  const log = new EventLog(postgres);
  const secrets = new SiteSecrets(postgres.pool, openSealer(readSettings({ DATA_DIR: dataDir })));
  const fleet = new Fleet(dataDir);
  const receiver = await startTracingReceiver(() => fleet.pids());
  try {
    const hosts = await openSites(siteCommandDispatcher(new SiteRepository(log), secrets), receiver.url, size.sites);
    await Promise.all(Array.from({ length: size.instances }, () => fleet.add()));
    const writer = writeOn(log, [...hosts.keys()]);
    await trouble(fleet, () => acknowledgedOf(receiver.calls).length >= size.stretches, size, say);
    const written = await writer.stop();
    fleet.wakeAll();
    const isWhole = await untilWhole(log, hosts, receiver, size.withinMs / 3);
    return [
      { what: 'everything that counts was acknowledged in the end', figure: `${written} events`, ok: isWhole },
      ...(await judge(log, hosts, receiver.calls, fleet.troubles, size, say)),
    ];
  } finally {
    await fleet.end();
    await receiver.stop();
    await log.close();
    await postgres.close();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The instances, and what was done to them. */
class Fleet {
  troubles = [];
  #children = new Set();
  #frozen = new Set();

  constructor(dataDir) {
    this.dataDir = dataDir;
  }

  pids() {
    return [...this.#children].map(({ pid }) => pid);
  }

  async add() {
    const env = { PATH: process.env.PATH, DATA_DIR: this.dataDir, ...ENVIRONMENT };
    const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    await new Promise((ready) => {
      child.stdout.on('data', (chunk) => String(chunk).includes('Stop: Ctrl-C') && ready());
      child.once('exit', ready);
    });
  }

  /** One that is awake, while another one is. */
  #victim() {
    const awake = [...this.#children].filter((child) => !this.#frozen.has(child));
    return awake.length > 1 ? awake[Math.floor(Math.random() * awake.length)] : undefined;
  }

  kill() {
    const child = this.#victim();
    if (!child) return;
    child.kill('SIGKILL');
    this.troubles.push({ kind: 'kill', pid: child.pid, from: Date.now(), to: Date.now() });
    this.#children.delete(child);
    void this.add();
  }

  freeze(ms) {
    const child = this.#victim();
    if (!child) return;
    child.kill('SIGSTOP');
    this.#frozen.add(child);
    const freeze = { kind: 'freeze', pid: child.pid, from: Date.now(), to: Number.POSITIVE_INFINITY };
    this.troubles.push(freeze);
    child.wake = () => {
      if (!this.#frozen.delete(child)) return;
      freeze.to = Date.now();
      child.kill('SIGCONT');
    };
    setTimeout(child.wake, ms);
  }

  wakeAll() {
    for (const child of this.#frozen) child.wake();
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

/** Events that count and events that do not, for one site after the other, until stopped. */
function writeOn(log, hosts) {
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
      const [category, type, data] = kinds[Math.floor(Math.random() * kinds.length)];
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

/** A kill and a freeze in turns, at times that nobody can foresee. */
async function trouble(fleet, isEnough, { troubles, withinMs }, say) {
  const untilMs = performance.now() + withinMs;
  const [least, most] = TROUBLE_EVERY_MS;
  for (let turn = 0; (turn < troubles || !isEnough()) && performance.now() < untilMs; turn += 1) {
    await sleep(least + Math.random() * (most - least));
    if (turn % 2 === 0) fleet.kill();
    else fleet.freeze(FREEZES_MS[(turn >> 1) % FREEZES_MS.length]);
  }
  say(`${fleet.troubles.length} times in trouble`);
}

/** Repeats dropped by their id, in the order of the log. */
function acknowledgedOf(calls, site) {
  const taken = calls.filter((call) => call.taken && (site === undefined || call.site === site));
  return [...new Map(taken.map((call) => [call.id, call])).values()].sort(
    (one, other) => one.from - other.from || one.to - other.to,
  );
}

function sumOf(pushes) {
  const bodies = pushes.map(({ body }) => JSON.parse(body));
  const add = (name) => bodies.reduce((sum, body) => sum + body[name], 0);
  return JSON.stringify({ conversions: add('conversions'), bot_traffic_removed: add('bot_traffic_removed') });
}

async function totalsOf(log, site, after, until) {
  return JSON.stringify(addUp(await log.count({ site, after, until, types: COUNTED, by: DECIDING })));
}

async function untilWhole(log, hosts, { calls }, withinMs) {
  const untilMs = performance.now() + withinMs;
  for (;;) {
    const head = await log.head();
    const sums = [...hosts].map(async ([host, first]) => {
      return sumOf(acknowledgedOf(calls, host)) === (await totalsOf(log, host, first, head));
    });
    if ((await Promise.all(sums)).every(Boolean)) return true;
    if (performance.now() > untilMs) return false;
    await sleep(500);
  }
}

async function judge(log, hosts, calls, troubles, { stretches }, say) {
  let [gaps, wrong] = [0, 0];
  for (const [host, first] of hosts) {
    const pushes = acknowledgedOf(calls, host);
    for (const [at, push] of pushes.entries()) {
      if (push.from !== (pushes[at - 1]?.to ?? first)) gaps += 1;
      if (sumOf([push]) !== (await totalsOf(log, host, push.from, push.to))) wrong += 1;
    }
  }
  const bodies = new Map(calls.map((call) => [call.id, call.body]));
  const changed = calls.filter((call) => bodies.get(call.id) !== call.body).length;
  const repeats = repeatsOf(calls);
  const unexplained = repeats.filter(({ first, again }) => !wasInTrouble(troubles, first, again));
  for (const { first, again } of unexplained) say(`not explained: ${JSON.stringify({ first, again })}`);
  const late = await lateCalls(log, calls);
  const kills = troubles.filter(({ kind }) => kind === 'kill').length;
  const acknowledged = acknowledgedOf(calls).length;
  const unknown = calls.filter(({ pid }) => pid === undefined).length;
  return [
    { what: 'stretches acknowledged', figure: `${acknowledged} of ${hosts.size} sites`, ok: acknowledged >= stretches },
    {
      what: 'troubles',
      figure: `${kills} kills, ${troubles.length - kills} freezes`,
      ok: kills > 0 && troubles.length > kills,
    },
    { what: 'stretches that do not begin where the one before ended', figure: gaps, ok: gaps === 0 },
    { what: 'stretches whose totals are not the log’s', figure: wrong, ok: wrong === 0 },
    { what: 'repeats with another body', figure: changed, ok: changed === 0 },
    {
      what: 'calls of a process that was gone before it could be asked',
      figure: `${unknown} of ${calls.length}`,
      ok: unknown < calls.length / 20,
    },
    {
      what: 'repeats of what was taken whose first sender was neither killed nor frozen',
      figure: `${unexplained.length} of ${repeats.length}`,
      ok: unexplained.length === 0,
    },
    { what: 'calls after the log had the receiver’s word, as by a process that woke up', figure: late, ok: late === 0 },
  ];
}

/** Each call of what had been taken before, with the one that was taken first. */
function repeatsOf(calls) {
  const taken = new Map();
  return calls.flatMap((call) => {
    const first = taken.get(call.id);
    if (first) return [{ first, again: call }];
    if (call.taken) taken.set(call.id, call);
    return [];
  });
}

/** The first sender must have met its trouble between sending it and the other's sending it again. */
function wasInTrouble(troubles, first, again) {
  if (first.pid === undefined) return wasJustKilled(troubles, first);
  return troubles.some(({ pid, from }) => pid === first.pid && from >= first.at - SLACK_MS && from <= again.at);
}

/** Its last bytes arrive when nobody can tell any more whose they are. */
function wasJustKilled(troubles, { at }) {
  return troubles.some(({ kind, from }) => kind === 'kill' && Math.abs(from - at) < 3 * SLACK_MS);
}

/** Whoever sends a stretch does so before its delivery is written down, unless he no longer has the right to. */
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
