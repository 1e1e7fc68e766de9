// Everything one drill runs in: PostgreSQL, the instances and their proxies, the platforms, the load client and the ledger.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../../deploy/cluster/processes.mjs';
import { seededRandom } from '../../support/seed.mjs';
import { ClusteredDatabase } from './clustered-database.mjs';
import { Database } from './database.mjs';
import { PLATFORMS, PlatformDouble } from './double.mjs';
import { FakeClock } from './fake-clock.mjs';
import { Instance } from './instance.mjs';
import { checkInvariants, settle } from './invariants.mjs';
import { LedgerFile } from './ledger.mjs';
import { Load } from './load.mjs';
import { TcpProxy } from './proxy.mjs';
import { ROOT } from './root.mjs';

const run = promisify(execFile);
const SITE = 'shop.example';

/** The switch had nothing to change: the run proves nothing. */
export class SwitchWithoutEffect extends Error {}

export class Testbed {
  instances = [];
  faults = { kills: 0, freezes: 0, stops: 0 };
  #loads = [];
  #random = 0;

  /**
   * @param clock the database runs with a fake clock
   * @param platforms names of the platforms to connect
   * @param webhook totals are pushed to the double
   * @param cluster the database is a primary with standbys; the instances connect without a proxy
   */
  static async open({
    seed,
    instances = 2,
    platforms = ['meta', 'segment'],
    clock = false,
    webhook = false,
    env = {},
    database = {},
    cluster,
  }) {
    const directory = mkdtempSync(join(tmpdir(), 'cc-drill-'));
    // When started by root, PostgreSQL runs as another user, which needs access to its data.
    chmodSync(directory, 0o755);
    const testbed = new Testbed(directory, seed);
    try {
      await testbed.#start({ instances, platforms, clock, webhook, env, database, cluster });
      return testbed;
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  constructor(directory, seed) {
    this.directory = directory;
    this.seed = seed;
    this.marks = join(directory, 'marks');
    this.ledger = new LedgerFile(join(directory, 'ledger.tsv'));
    this.deliveries = new LedgerFile(join(directory, 'deliveries.tsv'));
    this.pushes = new LedgerFile(join(directory, 'pushes.tsv'));
  }

  async #start({ instances, platforms, clock, webhook, env, database, cluster }) {
    this.clock = clock ? new FakeClock(join(this.directory, 'clock')) : undefined;
    this.database = cluster
      ? await ClusteredDatabase.open(this.directory, cluster)
      : await Database.open(this.directory, { ...database, clock: this.clock });
    this.double = await PlatformDouble.start(this.deliveries, this.pushes);
    this.platforms = platforms;
    this.secretKey = randomBytes(32).toString('hex');
    this.env = {
      SECRET_KEY: this.secretKey,
      LOG_LEVEL: 'warn',
      DEMO_PLATFORMS: 'false',
      DATA_DIR: join(this.directory, 'unused'),
      INBOUND_DEADLINE: '1s',
      DELIVERY_RETRY_SCHEDULE: '1s,2s,3s',
      DRILL_MARKS: this.marks,
      ...env,
    };
    if (!cluster) this.operator = await TcpProxy.start(this.database.socket);
    await this.cli('sites', 'add', SITE);
    await this.cli('inbound', 'enable', SITE);
    const { key } = JSON.parse(await this.cli('keys', 'create', '--site', SITE, '--name', 'drill', '--json'));
    this.site = { host: SITE, key };
    for (const name of platforms) {
      const set = Object.entries(PLATFORMS[name].settings).flatMap(([field, value]) => ['--set', `${field}=${value}`]);
      await this.cli('platforms', 'connect', name, '--site', SITE, ...set, '--endpoint', `${this.double.url}/${name}`);
    }
    if (webhook) await this.cli('webhook', 'set', '--site', SITE, '--url', `${this.double.url}/totals`);
    const created = [];
    for (let at = 0; at < instances; at += 1) created.push(await this.#createInstance());
    await Promise.all(created.map((instance) => instance.start()));
  }

  /** Another instance, with a proxy of its own. */
  async addInstance(options) {
    const instance = await this.#createInstance();
    await instance.start(options);
    return instance;
  }

  async #createInstance() {
    const at = this.instances.length;
    const proxy = this.operator && (await TcpProxy.start(this.database.socket));
    const name = `instance-${at + 1}`;
    const port = await freePort();
    const env = {
      ...this.env,
      PORT: String(port),
      DATABASE_URL: proxy ? urlThrough(proxy) : this.database.urls[at % 2],
    };
    const instance = new Instance({ name, port, env, directory: this.directory, proxy });
    this.instances.push(instance);
    return instance;
  }

  /** Each part of a drill has random numbers of its own, so that they do not depend on the order of events. */
  random() {
    this.#random += 1;
    return seededRandom(this.seed, this.#random);
  }

  load(options = {}) {
    const targets = () => this.instances.filter((instance) => instance.isRunning).map(({ port }) => port);
    const prefix = `ORD${this.#loads.length + 1}`;
    const load = new Load({ ledger: this.ledger, prefix, site: this.site, targets, random: this.random(), ...options });
    this.#loads.push(load);
    return load;
  }

  /** Runs the command line of the build. Rejects if it fails. */
  async cli(...args) {
    const url = this.operator ? urlThrough(this.operator) : this.database.urls[0];
    const env = { PATH: process.env.PATH, ...this.env, ...this.clock?.env, DATABASE_URL: url, PORT: '0' };
    const { stdout } = await run(process.execPath, [join(ROOT, 'dist/cli.js'), ...args], { env, maxBuffer: 2 ** 26 });
    return stdout;
  }

  /** Ends the load, waits until everything is settled, and returns the rows of the invariants. */
  async finish({ settleWithinMs = 900_000, ...options } = {}) {
    for (const load of this.#loads) await load.stop();
    const settled = await settle(this, settleWithinMs);
    this.#requireEffect();
    const total = (name) => this.#loads.reduce((sum, load) => sum + load.counts[name], 0);
    const { kills, freezes, stops } = this.faults;
    const [load] = this.#loads;
    return [
      { what: 'seed', result: this.seed, ok: true },
      {
        what: 'load',
        result:
          `${total('acknowledged')} acknowledged, ${total('unknown')} unknown, ${total('refused')} refused; ` +
          `${total('attempts')} requests, ${total('unavailable')} 503, ${total('timeouts')} timeouts, ${total('resets')} resets; ` +
          `p50 ${load.percentile(0.5)} ms, p99 ${load.percentile(0.99)} ms`,
        ok: total('acknowledged') > 0,
      },
      { what: 'faults', result: `${kills} kills, ${freezes} freezes, ${stops} stops`, ok: true },
      ...(await checkInvariants(this, settled, options)),
    ];
  }

  #requireEffect() {
    const name = process.env.DRILL_BREAK;
    if (name !== undefined && !existsSync(this.marks))
      throw new SwitchWithoutEffect(`DRILL_BREAK=${name} changed nothing`);
  }

  logs() {
    const files = [
      ...(this.database.logFiles ?? [this.database.logFile]),
      ...this.instances.map(({ logFile }) => logFile),
    ].filter(existsSync);
    return files.map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  }

  async close() {
    for (const instance of this.instances) {
      if (instance.state !== 'stopped') {
        instance.thaw();
        await instance.kill();
      }
      await instance.proxy?.stop();
    }
    await this.operator?.stop();
    await this.double?.stop();
    await this.database?.stop();
    this.ledger.close();
    this.deliveries.close();
    this.pushes.close();
    if (process.env.DRILL_KEEP) console.error(`kept: ${this.directory}`);
    else rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A module of the drills, to be loaded into an instance. */
export function drillModule(path) {
  return new URL(`../${path}`, import.meta.url);
}

function urlThrough({ port }) {
  return `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`;
}
