// A site moves back and forth between two cells under load: once undisturbed, then while the mover, both services and both
// databases are killed.
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../support/seed.mjs';
import { Cell } from './harness/cell.mjs';
import { PLATFORMS, PlatformDouble } from './harness/double.mjs';
import { checkInvariants, settle } from './harness/invariants.mjs';
import { LedgerFile } from './harness/ledger.mjs';
import { Load } from './harness/load.mjs';
import { drillModule, SwitchWithoutEffect } from './harness/testbed.mjs';
import { readRecords, readWithReader, startBroker } from './harness/topics.mjs';

const RATE = 20;
const SITE = 'shop.example';
const PLATFORM_NAMES = ['meta', 'segment'];
const PREFIXES = ['a.', 'b.'];
const KILLS_PER_MOVE = 4;
const VICTIMS = [
  'mover',
  'service of the source',
  'service of the target',
  'database of the source',
  'database of the target',
];
/** What the command prints when a step is complete. */
const STEPS = [
  'is ready for move',
  'Copied ',
  'Deliveries and pushes have ended',
  'has left.',
  'Copied all',
  'Sent its secrets',
  'has opened it',
];
const KILLED_WITHIN_MS = 1_500;
/** The command goes on to the next step sooner than that. */
const MOVER_KILLED_WITHIN_MS = 150;
const DOWN_MAX_MS = 2_000;
const MOVED_WITHIN_MS = 600_000;
/** A command that failed is run again. */
const AGAIN_AFTER_MS = 500;
/** Longer than a move takes from its pause to its departure: what it does not wait for is still at a platform then. */
const PLATFORM_DELAY_MS = 6_000;
const PUSHED_WITHIN_MS = 60_000;
const PUBLISHED_WITHIN_MS = 300_000;

export const switches = ['lost-claims', 'no-drain', 'unclosed'];

export async function drill({ short, rounds = short ? 4 : 10, seed, log }) {
  const bed = await MovesBed.open(seed, log);
  try {
    const load = bed.startLoad();
    const seconds = [];
    for (let round = 0; round < rounds; round += 1) {
      const [from, to] = round % 2 === 0 ? [bed.a, bed.b] : [bed.b, bed.a];
      const startedMs = performance.now();
      // Without kills, which would excuse a delivery that both cells sent.
      await bed.move(from, to, round === 0 ? 0 : KILLS_PER_MOVE);
      seconds.push((performance.now() - startedMs) / 1_000);
      // The other cell accepts conversions before the site moves again.
      const { acknowledged } = load.counts;
      while (load.counts.acknowledged < acknowledged + RATE) await sleep(50);
      log(`move ${round + 1} to ${to.name}: ${seconds.at(-1).toFixed(0)} s, ${load.counts.acknowledged} acknowledged`);
    }
    const [owner, other] = rounds % 2 === 0 ? [bed.a, bed.b] : [bed.b, bed.a];
    return await bed.finish(load, { owner, other, rounds, seconds });
  } finally {
    await bed.close();
  }
}

class MovesBed {
  kills = new Map(VICTIMS.map((victim) => [victim, 0]));
  /** When a service or a database was away: deliveries may be repeated because of it. */
  outages = [];
  /** What commands said that failed without having been killed. */
  failures = new Map();
  #targets = [];
  #victims = [];

  static async open(seed, log) {
    const directory = mkdtempSync(join(tmpdir(), 'cc-drill-'));
    chmodSync(directory, 0o755);
    const bed = new MovesBed(directory, seed, log);
    try {
      await bed.#start();
      return bed;
    } catch (error) {
      await bed.close();
      throw error;
    }
  }

  constructor(directory, seed, log) {
    Object.assign(this, { directory, seed, log });
    this.random = seededRandom(seed, 1);
    this.marks = join(directory, 'marks');
    this.ledger = new LedgerFile(join(directory, 'ledger.tsv'));
    this.deliveries = new LedgerFile(join(directory, 'deliveries.tsv'));
    this.pushes = new LedgerFile(join(directory, 'pushes.tsv'));
  }

  async #start() {
    this.broker = await startBroker(this.directory);
    this.double = await PlatformDouble.start(this.deliveries, this.pushes);
    const delays = seededRandom(this.seed, 2);
    this.double.behave = () => ({ answer: 'ok', delayMs: delays() * PLATFORM_DELAY_MS });
    const env = {
      LOG_LEVEL: 'warn',
      DEMO_PLATFORMS: 'false',
      INBOUND_DEADLINE: '2s',
      // Each forwards to the other one.
      TRUSTED_PROXIES: '127.0.0.1,::1',
      DELIVERY_RETRY_SCHEDULE: '1s,2s,3s',
      OUTBOUND_EVERY: '2s',
      OUTBOUND_ALLOW_PRIVATE: 'true',
      OUTBOUND_RETRY_SCHEDULE: '500ms',
      KAFKA_BROKERS: this.broker.brokers,
      DRILL_MARKS: this.marks,
    };
    const options = { directory: this.directory, preload: [drillModule('short-windows.mjs')], env };
    [this.a, this.b] = await Promise.all([Cell.open('a', options), Cell.open('b', options)]);
    for (const cell of [this.a, this.b]) await cell.createTokens();
    await Promise.all([this.a.learn(this.b), this.b.learn(this.a)]);
    const { a, double } = this;
    await a.cli('sites', 'add', SITE);
    await a.cli('inbound', 'enable', SITE);
    const { key } = JSON.parse(await a.cli('keys', 'create', '--site', SITE, '--name', 'drill', '--json'));
    this.site = { host: SITE, key };
    for (const name of PLATFORM_NAMES) {
      const set = Object.entries(PLATFORMS[name].settings).flatMap(([field, value]) => ['--set', `${field}=${value}`]);
      await a.cli('platforms', 'connect', name, '--site', SITE, ...set, '--endpoint', `${double.url}/${name}`);
    }
    await a.cli('webhook', 'set', '--site', SITE, '--url', `${double.url}/totals`);
    this.#targets = [a];
  }

  startLoad() {
    const targets = () =>
      this.#targets.filter(({ instance }) => instance.isRunning).map(({ instance }) => instance.port);
    const random = seededRandom(this.seed, 3);
    const load = new Load({ ledger: this.ledger, prefix: 'ORD', site: this.site, targets, random, repeats: 0.05 });
    load.start(RATE);
    return load;
  }

  /** Runs the command until it has succeeded, and kills meanwhile. */
  async move(from, to, kills) {
    const move = { from, to, child: undefined, printed: '', isDone: false };
    const injected = this.#inject(move, kills);
    const deadlineMs = performance.now() + MOVED_WITHIN_MS;
    while (!(await this.#runMover(move))) {
      if (performance.now() > deadlineMs) throw new Error(`The site did not move: ${[...this.failures.keys()].at(-1)}`);
      await sleep(AGAIN_AFTER_MS);
    }
    move.isDone = true;
    // Both cells know the site from now on.
    this.#targets = [this.a, this.b];
    await injected;
  }

  async #runMover(move) {
    const child = move.from.spawnCli('sites', 'move', SITE, '--to', move.to.name, '--yes');
    Object.assign(move, { child, printed: '' });
    child.stderr.on('data', (chunk) => {
      move.printed += chunk;
    });
    const [code] = await once(child, 'close');
    if (code === 0) return true;
    if (code !== null) {
      const reason = move.printed.trim().split('\n').at(-1);
      this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1);
    }
    return false;
  }

  /** Each kill soon after a step of the command, or at once if it is over. */
  async #inject(move, kills) {
    const { random } = this;
    const victims = Array.from({ length: kills }, () => this.#nextVictim());
    // While it runs: after the other kills the move may be over.
    victims.sort((one, other) => Number(other === 'mover') - Number(one === 'mover'));
    for (const victim of victims) {
      const step = STEPS[Math.floor(random() * STEPS.length)];
      const within = victim === 'mover' ? MOVER_KILLED_WITHIN_MS : KILLED_WITHIN_MS;
      const [delay, down] = [random() * within, random() * DOWN_MAX_MS];
      while (!move.isDone && !move.printed.includes(step)) await sleep(5);
      await sleep(delay);
      this.log(`kill of the ${victim}, ${Math.round(delay)} ms after "${step}"`);
      await this.#kill(victim, move, down);
    }
  }

  /** In random order, and each as often as the others. */
  #nextVictim() {
    if (this.#victims.length === 0) this.#victims = [...VICTIMS];
    return this.#victims.splice(Math.floor(this.random() * this.#victims.length), 1)[0];
  }

  async #kill(victim, move, downMs) {
    const isKilled = victim !== 'mover' || move.child.kill('SIGKILL');
    if (isKilled) this.kills.set(victim, this.kills.get(victim) + 1);
    if (victim === 'mover') return;
    const cell = victim.endsWith('source') ? move.from : move.to;
    const outage = { from: Date.now(), until: Number.MAX_SAFE_INTEGER };
    this.outages.push(outage);
    const isDatabase = victim.startsWith('database');
    await (isDatabase ? cell.database.kill() : cell.instance.kill());
    await sleep(downMs);
    await (isDatabase ? cell.database.start() : cell.start());
    await cell.ready();
    outage.until = Date.now();
  }

  async finish(load, { owner, other, rounds, seconds }) {
    await load.stop();
    const settled = await settle({ database: owner.database }, 900_000);
    const pushed = await this.#pushed(owner);
    if (process.env.DRILL_BREAK !== undefined && !existsSync(this.marks))
      throw new SwitchWithoutEffect(`DRILL_BREAK=${process.env.DRILL_BREAK} changed nothing`);
    const view = {
      ...{ database: owner.database, ledger: this.ledger, deliveries: this.deliveries, pushes: this.pushes },
      ...{ site: this.site, instances: [this.a.instance, this.b.instance], logs: () => this.#logs() },
      cli: (...args) => owner.cli(...args),
    };
    const { counts } = load;
    const unexpected = [...load.unexpected].map(([status, count]) => `${count} × ${status}`).join(', ');
    return [
      { what: 'seed', result: this.seed, ok: true },
      {
        what: 'load',
        result:
          `${counts.acknowledged} acknowledged, ${counts.unknown} unknown, ${counts.refused} refused; ` +
          `${counts.attempts} requests, ${counts.unavailable} 503, ${counts.timeouts} timeouts, ${counts.resets} resets`,
        ok: counts.acknowledged > 0,
      },
      {
        what: 'moves',
        result: `${rounds}, ${Math.min(...seconds).toFixed(0)} to ${Math.max(...seconds).toFixed(0)} s`,
        ok: true,
      },
      { what: 'kills', result: [...this.kills].map(([victim, count]) => `${victim} ${count}`).join(', '), ok: true },
      {
        what: 'commands that failed without having been killed, and were run again',
        result: [...this.failures].map(([reason, count]) => `${count} × ${reason}`).join('; ') || 0,
        ok: true,
      },
      { what: '503 without Retry-After', result: load.withoutRetryAfter, ok: load.withoutRetryAfter === 0 },
      { what: 'other answers than 200 and 503', result: unexpected || 0, ok: unexpected === '' },
      ...(await checkInvariants(view, settled)),
      await this.#repeatsRow(owner),
      ...(await this.#foldRows(owner, other, pushed)),
      await verifyRow(other),
      await epochRow(owner, rounds),
      ...(await this.#topicRows()),
    ];
  }

  /** A delivery is repeated at most once for each time that a service or a database was killed meanwhile. */
  async #repeatsRow({ database }) {
    const rows = await database.query(
      `SELECT p.platform, p.order_id, p.sent - 1 AS repeats, count(o.*)::integer AS kills, p.last - p.first AS ms
         FROM (SELECT platform, order_id, count(DISTINCT request)::integer AS sent, min(at) AS first, max(at) AS last
                 FROM drill.platform GROUP BY 1, 2 HAVING count(DISTINCT request) > 1) p
         LEFT JOIN unnest($1::bigint[], $2::bigint[]) AS o (killed, back) ON o.killed <= p.last AND o.back >= p.first
        GROUP BY 1, 2, 3, 5`,
      [this.outages.map(({ from }) => from), this.outages.map(({ until }) => until)],
    );
    const wrong = rows.filter(({ repeats, kills }) => repeats > kills);
    const sample = wrong
      .slice(0, 5)
      .map(({ platform, order_id: order, repeats, ms }) => `${platform} ${order}, ${repeats} within ${ms} ms`);
    return {
      what: 'deliveries that were repeated more often than a service or database was killed meanwhile',
      result: wrong.length === 0 ? `0 (${rows.length} were repeated)` : `${wrong.length}: ${sample.join(', ')}`,
      ok: wrong.length === 0,
    };
  }

  /** How many conversions the webhook was told of in all windows, when it knows of those in the log or no more follow. */
  async #pushed({ database }) {
    const stored = Number(await database.value(`SELECT count(*) FROM cc.events WHERE type = 'conversion.received.v1'`));
    const deadlineMs = performance.now() + PUSHED_WITHIN_MS;
    for (;;) {
      this.pushes.flush();
      const lines = readFileSync(this.pushes.path, 'utf8').split('\n').slice(0, -1);
      const windows = new Map(lines.map((line) => [line.split('\t')[0], Number(line.split('\t')[5])]));
      const pushed = [...windows.values()].reduce((sum, count) => sum + count, 0);
      if (pushed >= stored || performance.now() > deadlineMs) return pushed;
      await sleep(500);
    }
  }

  /** The events of both logs by id: what the cell of the site has must be all of it, and its totals those of a fold over it. */
  async #foldRows(owner, other, pushed) {
    const read = async ({ database }) =>
      new Map(
        (
          await database.query(
            `SELECT id, concat_ws(' ', stream, version, type, time, actor, reference, md5(data::text)) AS content, type
               FROM cc.events WHERE site = $1`,
            [SITE],
          )
        ).map(({ id, ...event }) => [id, event]),
      );
    const [here, there] = await Promise.all([read(owner), read(other)]);
    const differing = [...there].filter(([id, { content }]) => here.get(id)?.content !== content);
    const missing = differing.map(([id, { type }]) => `${type} ${id}`);
    const all = new Map([...here, ...there]);
    const received = [...all.values()].filter(({ type }) => type === 'conversion.received.v1').length;
    const totals = Number(await owner.database.value('SELECT sum(conversions) FROM cc.totals WHERE site = $1', [SITE]));
    return [
      {
        what: 'events that the cell which the site left last has, and the one that has it now does not, or otherwise',
        result: missing.length === 0 ? 0 : `${missing.length}: ${missing[0]}`,
        ok: missing.length === 0,
      },
      {
        what: 'conversions in the totals of the cell, in those pushed to the webhook, and in a fold over both logs by id',
        result: `${totals}, ${pushed}, ${received}`,
        ok: totals === received && pushed === received,
      },
    ];
  }

  /** Every event of a log is on the topics of its cell once, also one that came with its site. */
  async #topicRows() {
    const { brokers } = this.broker;
    const rows = [];
    for (const [prefix, { name, database }] of [
      [PREFIXES[0], this.a],
      [PREFIXES[1], this.b],
    ]) {
      const readIds = async () => (await database.query('SELECT id FROM cc.events')).map(({ id }) => id);
      const expected = await readIds();
      const readers = {
        'docs/read-topics.mjs': await readWithReader(brokers, [prefix], expected, PUBLISHED_WITHIN_MS),
        'a consumer of all records': await readRecords(brokers, [prefix]),
      };
      // Windows of the webhook are closed meanwhile.
      const stored = new Set(await readIds());
      for (const [reader, ids] of Object.entries(readers)) {
        const seen = new Set(ids);
        const missing = expected.filter((id) => !seen.has(id)).length;
        const unknown = [...seen].filter((id) => !stored.has(id)).length;
        rows.push({
          what: `events of cell ${name} that ${reader} sees`,
          result: `${seen.size}, ${missing} missing, ${ids.length - seen.size} repeated, ${unknown} not in the log`,
          ok: missing === 0 && ids.length === seen.size && unknown === 0,
        });
      }
    }
    return rows;
  }

  #logs() {
    const files = [this.a, this.b].flatMap(({ database, instance }) => [database.logFile, instance.logFile]);
    return files.filter(existsSync).map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  }

  async close() {
    for (const cell of [this.a, this.b]) await cell?.stop();
    await this.double?.stop();
    await this.broker?.stop();
    for (const file of [this.ledger, this.deliveries, this.pushes]) file.close();
    if (process.env.DRILL_KEEP) console.error(`kept: ${this.directory}`);
    else rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function verifyRow(cell) {
  const what = 'history verify in the other cell';
  try {
    await cell.cli('history', 'verify');
    return { what, result: 'all checks passed', ok: true };
  } catch ({ stdout = '', stderr = '' }) {
    const failed = stdout.split('\n').filter((line) => line.startsWith('FAIL'));
    return { what, result: failed.join('; ') || stderr.slice(-300), ok: false };
  }
}

async function epochRow(cell, rounds) {
  const { epoch } = JSON.parse(await cell.cli('sites', 'show', SITE, '--json'));
  return { what: 'moves that the cell of the site counts', result: epoch, ok: epoch === rounds };
}
