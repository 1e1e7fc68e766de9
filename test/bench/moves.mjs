// The moves part: a site with a filled log moves to another cell while conversions arrive in both.
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cell } from '../drills/harness/cell.mjs';
import { APPEND_LOCK } from '../drills/harness/database.mjs';
import { cpuSeconds, hasCounters, treeCpuSeconds } from './counters.mjs';
import { percentile, singleRow } from './figures.mjs';
import { fillLog } from './fill-log.mjs';
import { untilQuiet } from './large-log.mjs';

const SITE = 'moved.example';
/** A site of the cell that the other one moves to. */
const NEIGHBOUR = 'neighbour.example';
const EVERY_MS = 50;
/** Each look costs the database CPU, which counts as the move's. */
const SAMPLE_MS = 20;
/** Before the move, to compare with. */
const BASELINE_MS = 15_000;
const STEPS = {
  copied: /^Copied \d+ events/m,
  drained: /Deliveries and pushes have ended/,
  left: /has left\./,
  opened: /has opened it/,
};
const thousands = (count) => count.toLocaleString('en-US');

export async function movesRun(context) {
  const { settings, part } = context;
  const cells = await part('the cells', () => startCells(context));
  if (!cells) return [];
  const filled = await part('the log', () => fill(cells.a, context));
  if (!filled) return [];
  const measured = await part('the move', () => measureMove(cells, context));
  if (!measured) return [];
  const { steps, cpu, dryRunMs, refusedMs, holds, before, during } = measured;
  const size = `${thousands(settings.events)} events`;
  const seconds = (ms) => Math.round(ms / 100) / 10;
  return [
    singleRow(`--dry-run, ${size}`, seconds(dryRunMs), 's'),
    {
      what: `copy of ${size} with ${thousands(settings.claims)} dedup claims`,
      rate: settings.events / (steps.copied / 1_000),
    },
    singleRow('copy', seconds(steps.copied), 's'),
    ...Object.entries(cpu).map(([what, used]) =>
      singleRow(`↳ CPU per event, ${what}`, Math.round((used * 1e6) / settings.events), 'µs'),
    ),
    singleRow('drain', seconds(steps.drained - steps.copied), 's'),
    singleRow('from the closing in one cell to the opening in the other', seconds(steps.opened - steps.left), 's'),
    singleRow('senders of the site got 503 for', seconds(refusedMs), 's'),
    singleRow(`append lock of the target, longest hold (by ${holds.at(-1)?.by})`, Math.round(holds.at(-1)?.ms), 'ms'),
    singleRow(
      'a conversion of another site in the target, p99 before the move',
      Math.round(percentile(before, 0.99)),
      'ms',
    ),
    singleRow('↳ during the copy', Math.round(percentile(during, 0.99)), 'ms'),
    singleRow('↳ slowest', Math.round(during.at(-1)), 'ms'),
  ];
}

async function startCells({ directory, progress, cleanUp }) {
  progress('starting two cells …');
  const env = { LOG_LEVEL: 'warn', DEMO_PLATFORMS: 'false', TRUSTED_PROXIES: '127.0.0.1,::1' };
  const [a, b] = [await Cell.open('a', { directory, env }), await Cell.open('b', { directory, env })];
  cleanUp.push(
    () => a.stop(),
    () => b.stop(),
  );
  for (const cell of [a, b]) await cell.createTokens();
  await a.learn(b);
  await b.learn(a);
  const keys = {};
  for (const [cell, host] of [
    [a, SITE],
    [b, NEIGHBOUR],
  ]) {
    await cell.cli('sites', 'add', host);
    await cell.cli('inbound', 'enable', host);
    keys[host] = JSON.parse(await cell.cli('keys', 'create', '--site', host, '--name', 'bench', '--json')).key;
  }
  return { a, b, keys };
}

async function fill({ database }, { settings: { events, claims }, progress }) {
  const client = await database.connect();
  try {
    const said = (done) => progress(`filling: ${thousands(done)} of ${thousands(events)} events …`);
    await fillLog(client, { events, claims: Math.min(claims, events), site: SITE }, said);
    progress('waiting for the projections …');
    await untilQuiet(client);
    return true;
  } finally {
    await client.end();
  }
}

async function measureMove({ a, b, keys }, { progress }) {
  const neighbour = startSender(b.instance.port, NEIGHBOUR, keys[NEIGHBOUR]);
  await sleep(BASELINE_MS);
  const before = neighbour.take();
  progress('--dry-run …');
  const dryRunStartedMs = performance.now();
  await a.cli('sites', 'move', SITE, '--to', 'b', '--dry-run');
  const dryRunMs = performance.now() - dryRunStartedMs;
  const sender = startSender(a.instance.port, SITE, keys[SITE]);
  const sampler = await sampleLock(b.database);
  progress('moving …');
  neighbour.take();
  try {
    const move = await runMover(a, b, neighbour);
    await sender.accepted();
    const { refusedMs } = await sender.stop();
    const holds = await sampler.stop();
    return { ...move, dryRunMs, refusedMs, holds, before: sorted(before), during: sorted(move.during) };
  } finally {
    for (const each of [sampler, sender, neighbour]) await each.stop();
  }
}

/** When each step was complete, from the start of the command, and the CPU seconds of the copy. */
async function runMover(from, to, neighbour) {
  const startedMs = performance.now();
  const child = from.spawnCli('sites', 'move', SITE, '--to', 'b', '--yes');
  const usedBy = () => ({
    'the command': cpuSeconds(child.pid),
    'service of the target': treeCpuSeconds(to.instance.pid),
    'PostgreSQL of the source': treeCpuSeconds(from.database.pids()[0]),
    'PostgreSQL of the target': treeCpuSeconds(to.database.pids()[0]),
  });
  const usedBefore = hasCounters ? usedBy() : {};
  let cpu = {};
  let printed = '';
  let during = [];
  const steps = {};
  child.stderr.on('data', (chunk) => {
    printed += chunk;
    for (const [name, line] of Object.entries(STEPS)) {
      if (steps[name] !== undefined || !line.test(printed)) continue;
      steps[name] = performance.now() - startedMs;
      if (name !== 'copied') continue;
      during = neighbour.take();
      if (hasCounters) cpu = Object.fromEntries(Object.entries(usedBy()).map(([who, s]) => [who, s - usedBefore[who]]));
    }
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(printed);
  return { steps, cpu, during };
}

/** Posts a conversion after the other, each until it is accepted. */
function startSender(port, host, key) {
  let latencies = [];
  let isStopped = false;
  let firstRefusedMs;
  let refusedMs = 0;
  const work = (async () => {
    for (let order = 1; !isStopped; order += 1) {
      const startedMs = performance.now();
      while ((await post(port, host, key, `${host}-${order}`)) !== 200 && !isStopped) {
        firstRefusedMs ??= performance.now();
        await sleep(EVERY_MS);
      }
      if (firstRefusedMs !== undefined) {
        refusedMs = Math.max(refusedMs, performance.now() - firstRefusedMs);
        firstRefusedMs = undefined;
      }
      latencies.push(performance.now() - startedMs);
      await sleep(EVERY_MS);
    }
  })();
  return {
    take() {
      const taken = latencies;
      latencies = [];
      return taken;
    },
    /** Resolves when conversions are accepted. */
    async accepted() {
      while (firstRefusedMs !== undefined) await sleep(EVERY_MS);
    },
    async stop() {
      isStopped = true;
      await work;
      return { refusedMs };
    },
  };
}

function post(port, host, key, orderId) {
  const body = JSON.stringify({ event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR', orderId });
  const headers = { host, 'x-cc-api-key': key, 'content-type': 'application/json' };
  return new Promise((resolve) => {
    const sent = request({ port, path: '/__cc/inbound', method: 'POST', headers }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode));
    });
    sent.once('error', () => resolve(undefined));
    sent.end(body);
  });
}

/** How long transactions hold the append lock, as far as a look every few milliseconds sees them. */
async function sampleLock(database) {
  const client = await database.connect();
  const seen = new Map();
  let isStopped = false;
  const work = (async () => {
    while (!isStopped) {
      const { rows } = await client.query(
        `SELECT l.virtualtransaction AS id, a.application_name AS by FROM pg_locks l JOIN pg_stat_activity a USING (pid)
          WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ExclusiveLock' AND l.objid = $1
            -- After its commit a transaction has no number, while its locks are being released.
            AND l.virtualtransaction NOT LIKE '%/0'`,
        [APPEND_LOCK],
      );
      const nowMs = performance.now();
      for (const { id, by } of rows) {
        const hold = seen.get(id);
        if (hold) hold.untilMs = nowMs;
        else seen.set(id, { by, sinceMs: nowMs, untilMs: nowMs });
      }
      await sleep(SAMPLE_MS);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await work;
      await client.end();
      const holds = [...seen.values()].map(({ by, sinceMs, untilMs }) => ({ by, ms: untilMs - sinceMs }));
      return holds.sort((one, other) => one.ms - other.ms);
    },
  };
}

function sorted(values) {
  return Float64Array.from(values).sort();
}
