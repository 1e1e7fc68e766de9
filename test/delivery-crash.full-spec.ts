import { type ChildProcess, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isOutcome, type Results, resultsOf } from '../src/delivery/delivery.js';
import type { CommandDispatcher } from '../src/kernel/command.js';
import { openSealer } from '../src/kernel/secret-key.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import type { StoredEvent } from '../src/log/event.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { Postgres } from '../src/postgres/postgres.js';
import { ConnectPlatform } from '../src/sites/connections/connection.commands.js';
import { IssueKey } from '../src/sites/keys/key.commands.js';
import { AddSite, EnableInbound } from '../src/sites/site.commands.js';
import { siteCommandDispatcher } from '../src/sites/site-command-handlers.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { temporaryFolder } from './support/folders.js';
import { loosely } from './support/loose-event.js';
import { printSeed, seededRandom } from './support/seed.mjs';
import { type ServiceProcess, sharedDatabase, spawnService } from './support/service-process.js';
import { eventually } from './support/waiting.js';

const SHORT_WINDOWS = new URL('./support/short-windows.mjs', import.meta.url).href;
const SANDBOX = fileURLToPath(new URL('../dist/sandbox/main.js', import.meta.url));

const random = seededRandom(printSeed('delivery-crash'));

const CONNECTIONS = {
  meta: { pixel_id: '1234567890', access_token: 'token' },
  segment: { write_key: 'key' },
  reddit: { pixel_id: 't2_test', access_token: 'token' },
} as const;
type Name = keyof typeof CONNECTIONS;
const NAMES = Object.keys(CONNECTIONS) as Name[];

interface SandboxProcess {
  readonly child: ChildProcess;
  readonly url: string;
  behave(platform: Name, tenant: string, mode: string, times?: number): Promise<void>;
  /** The ledger entry of one tenant at one platform. */
  account(platform: Name, tenant: string): Promise<Account>;
}

interface Account {
  readonly items: number;
  readonly accepted: number;
  readonly repeatsChanged: number;
  readonly problems: number;
  readonly events: Readonly<Record<string, Seen>>;
}

interface Seen {
  readonly times: number;
  readonly refused: number;
  readonly bodies: readonly string[];
}

const NOTHING: Account = { items: 0, accepted: 0, repeatsChanged: 0, problems: 0, events: {} };

async function spawnSandbox(): Promise<SandboxProcess> {
  const child = spawn(process.execPath, [SANDBOX, '--port', '0', '--with-parent'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [chunk] = await once(child.stdout, 'data');
  const url = /listens on (\S+)/.exec(String(chunk))?.[1];
  if (!url) throw new Error(`Unexpected output of the sandbox: ${chunk}`);
  return {
    child,
    url,
    async behave(platform, tenant, mode, times) {
      const body = JSON.stringify({ platform, tenant, mode, times });
      const { status } = await fetch(`${url}/behave`, { method: 'POST', body });
      expect(status).toBe(200);
    },
    async account(platform, tenant) {
      const ledger = (await (await fetch(`${url}/ledger?platform=${platform}&tenant=${tenant}`)).json()) as {
        [platform: string]: { [tenant: string]: Account } | undefined;
      };
      return ledger[platform]?.[tenant] ?? NOTHING;
    },
  };
}

interface SiteKey {
  readonly host: string;
  readonly key: string;
}

interface Reply {
  readonly status: number;
  readonly conversionId: string;
}

/** Undefined if there was no response. */
function post(
  service: ServiceProcess,
  { host, key }: SiteKey,
  orderId: string,
  agent: Agent,
): Promise<Reply | undefined> {
  return new Promise((resolve) => {
    const sent = request(
      `${service.url}/__cc/inbound`,
      {
        method: 'POST',
        agent,
        timeout: 120_000,
        headers: { host, 'x-cc-api-key': key, 'content-type': 'application/json' },
      },
      (response) => {
        response.resume().on('error', () => resolve(undefined));
        response.on('end', () => {
          const conversionId = String(response.headers['x-cc-conversion-id']);
          resolve({ status: response.statusCode ?? 0, conversionId });
        });
      },
    );
    sent.on('error', () => resolve(undefined));
    sent.on('timeout', () => sent.destroy());
    sent.end(JSON.stringify({ email: `${orderId}@example.com`, event: 'purchase', value: 9.5, orderId }));
  });
}

describe('delivery through crashes', () => {
  let dataDir: string;
  let postgres: Postgres;
  let log: EventLog;
  let commands: CommandDispatcher;
  const services = new Set<ServiceProcess>();
  const sandboxes = new Set<SandboxProcess>();

  beforeEach(async () => {
    dataDir = temporaryFolder('cc-delivery-');
    postgres = await Postgres.open({ databaseUrl: undefined, dataDir, onMessage: () => {} });
    log = new PostgresEventLog(postgres);
    const sealer = openSealer(readSettings({ DATA_DIR: dataDir }));
    commands = siteCommandDispatcher(new SiteRepository(log), new SiteSecrets(postgres.pool, sealer));
  });
  afterEach(async () => {
    for (const { child } of services) child.kill('SIGKILL');
    for (const { child } of sandboxes) child.kill('SIGKILL');
    services.clear();
    sandboxes.clear();
    await log.close();
    await postgres.close();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  async function startSandbox(): Promise<SandboxProcess> {
    const sandbox = await spawnSandbox();
    sandboxes.add(sandbox);
    return sandbox;
  }

  async function startService(): Promise<ServiceProcess> {
    const service = await spawnService(dataDir, {
      ...sharedDatabase(dataDir),
      INBOUND_DEADLINE: '2s',
      DELIVERY_RETRY_SCHEDULE: '300ms,500ms',
      NODE_OPTIONS: `--import ${SHORT_WINDOWS}`,
    });
    services.add(service);
    return service;
  }

  async function stop(service: ServiceProcess, signal: NodeJS.Signals): Promise<number | string> {
    services.delete(service);
    return service.end(signal);
  }

  async function openSite(host: string, endpointOf: (name: Name) => string): Promise<SiteKey> {
    await commands.execute(new AddSite('cli', host));
    await commands.execute(new EnableInbound('cli', host));
    for (const name of NAMES) {
      const request = { set: CONNECTIONS[name], endpoint: endpointOf(name) };
      await commands.execute(new ConnectPlatform('cli', host, platformOf(name) as Platform, request));
    }
    const { key } = await commands.execute(new IssueKey('cli', host, 'test', false));
    return { host, key };
  }

  /** Waits for the database's clock: a lease, and an attempt, end by it. */
  async function passes(ms: number): Promise<void> {
    const now = `SELECT date_part('epoch', clock_timestamp()) * 1000 AS now`;
    const read = async () => (await postgres.pool.query<{ now: number }>(now)).rows[0]?.now as number;
    const until = (await read()) + ms;
    await eventually(read, (time) => time >= until, { withinMs: 10 * ms, everyMs: 200 });
  }

  async function readConversions(): Promise<Map<string, StoredEvent[]>> {
    const streams = new Map<string, StoredEvent[]>();
    for (let after = 0; ; ) {
      const page = await log.read({ after, categories: ['conversion'], limit: 5_000 });
      for (const event of page) {
        const stream = streams.get(event.stream);
        if (stream) stream.push(event);
        else streams.set(event.stream, [event]);
      }
      const last = page.at(-1);
      if (!last) return streams;
      after = last.position;
    }
  }

  /**
   * 27 sites: each of their three platforms accepts everything, accepts after some failures, or refuses everything, in
   * every combination. Two instances run under load; three are killed, and one is frozen for longer than any lease.
   * Afterwards the log and the platforms' ledgers must agree.
   *
   * Mutations that made it fail: without `OwedDeliveriesScan`, the conversions of killed instances had no outcome; with an
   * `OutcomeRecorder` that ignores outcomes of other processes, some outcomes were recorded twice.
   */
  it('records one outcome per platform that matches the platform’s ledger, through kills and a freeze', async () => {
    const tenants = ['ok', 'retry', 'fail'] as const;
    const sandbox = await startSandbox();
    const keys = new Map<string, SiteKey>();
    for (let combination = 0; combination < 27; combination += 1) {
      const tenantOf = (at: number) => tenants[Math.floor(combination / 3 ** at) % 3];
      const host = `${NAMES.map((_, at) => tenantOf(at)).join('-')}.example`;
      keys.set(host, await openSite(host, (name) => `${sandbox.url}/${name}@${tenantOf(NAMES.indexOf(name))}`));
    }
    for (const name of NAMES) await sandbox.behave(name, 'fail', 'refuse');

    let left = await startService();
    let right = await startService();
    const acknowledged: string[] = [];
    const acknowledgedBy = new Map<ServiceProcess, number>();
    const refusals: number[] = [];
    let [posted, unanswered, disturbances] = [0, 0, 0];
    let loading = true;
    const siteKeys = [...keys.values()];
    const worker = async (service: () => ServiceProcess) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      while (loading) {
        const order = posted++;
        const target = service();
        const reply = await post(target, siteKeys[order % siteKeys.length] as SiteKey, `ORD-${order}`, agent);
        if (reply?.status === 200) {
          acknowledged.push(reply.conversionId);
          acknowledgedBy.set(target, (acknowledgedBy.get(target) ?? 0) + 1);
        } else if (reply) refusals.push(reply.status);
        else unanswered += 1;
        await sleep(reply ? 25 : 100);
      }
      agent.destroy();
    };
    const failures = (async () => {
      for (let round = 0; loading; round += 1) {
        for (const name of NAMES) await sandbox.behave(name, 'retry', round % 2 ? 'drop' : 'server_error', 2);
        await sleep(120);
      }
      for (const name of NAMES) await sandbox.behave(name, 'retry', 'ok');
    })();
    const load = Array.from({ length: 16 }, (_, at) => worker(() => (at % 2 ? left : right)));

    const acknowledgesMore = async (service: ServiceProcess, conversions: number) => {
      const before = acknowledgedBy.get(service) ?? 0;
      await eventually(
        async () => (acknowledgedBy.get(service) ?? 0) - before,
        (count) => count >= conversions,
      );
    };

    for (let kill = 0; kill < 3; kill += 1) {
      await sleep(500 + random() * 1_500);
      disturbances += 1;
      await stop(left, 'SIGKILL');
      left = await startService();
      [left, right] = [right, left];
    }
    await acknowledgesMore(right, 50);
    disturbances += 1;
    right.child.kill('SIGSTOP');
    // Until every lease and attempt of the frozen instance has ended. Requests to it are answered after the freeze.
    await passes(12_000);
    right.child.kill('SIGCONT');
    await acknowledgesMore(right, 50);
    loading = false;
    await Promise.all([failures, ...load]);

    const deadline = performance.now() + 90_000;
    let streams = await readConversions();
    const inFlight = () => [...streams.values()].filter((events) => isQueued(resultsOf(events)));
    while (inFlight().length > 0 && performance.now() < deadline) {
      await sleep(500);
      streams = await readConversions();
    }
    expect(inFlight().map((events) => loosely(events)[0]?.data)).toEqual([]);

    const accounts = new Map<string, Account>();
    for (const name of NAMES)
      for (const tenant of tenants) accounts.set(`${name} ${tenant}`, await sandbox.account(name, tenant));
    const seen = new Map<string, Seen>();
    for (const [account, { events, problems, repeatsChanged }] of accounts) {
      expect([account, problems, repeatsChanged]).toEqual([account, 0, 0]);
      for (const [id, event] of Object.entries(events)) seen.set(`${account.split(' ')[0]} ${id}`, event);
    }

    const expected = new Set<string>();
    const mismatches: string[] = [];
    const counts: Record<string, number> = {};
    let repeats = 0;
    for (const events of streams.values()) {
      const received = events[0] as StoredEvent;
      const { orderId, conversionId } = received.data as { orderId: string; conversionId: string };
      const results = resultsOf(events);
      const tenantNames = received.site.split('.')[0]?.split('-') as (typeof tenants)[number][];
      expect(Object.keys(results).sort()).toEqual([...NAMES].sort());
      for (const [at, name] of NAMES.entries()) {
        const key = `${name} ${idAt(name, orderId, conversionId)}`;
        expected.add(key);
        const { times = 0, bodies = [] } = seen.get(key) ?? {};
        const outcomes = events.filter(isOutcome).filter(({ data }) => data.platform === name);
        const digests = new Set(outcomes.map(({ data }) => data.bodySha256));
        const { status } = results[name] as { status: string };
        counts[`${tenantNames[at]} ${status}`] = (counts[`${tenantNames[at]} ${status}`] ?? 0) + 1;
        repeats += Math.max(0, times - 1);
        const attempts = outcomes.map(({ data }) => data.attempt);
        const problems = [
          (status === 'delivered') !== times > 0 && 'the log and the ledger differ',
          status !== (tenantNames[at] === 'fail' ? 'failed' : 'delivered') && 'unexpected final status',
          bodies.length !== 1 && `${bodies.length} bodies`,
          // Keyed, so that only their number can be compared with the platform's.
          digests.size !== 1 && `${digests.size} payload digests`,
          // `times` excludes refusals: a refused batch is bisected, which repeats the request.
          times > outcomes.length + disturbances && `${times} times`,
          attempts.some((attempt, index) => attempt !== index + 1) && `attempts ${attempts}`,
        ].filter(Boolean);
        if (problems.length > 0) {
          const history = outcomes.map(({ time, version, data }) => [
            time,
            version,
            data.attempt,
            data.status,
            data.reason,
          ]);
          mismatches.push(
            `${name} ${tenantNames[at]} ${orderId}: ${problems.join(', ')}; received ${received.time}, ${history.join(' | ')}`,
          );
        }
      }
    }
    const table = Object.entries(counts).map(([what, count]) => `${what} ${count}`);
    process.stdout.write(
      `delivery drill: ${posted} posted, ${acknowledged.length} acknowledged, ${unanswered} unanswered, ${refusals.length} refused, ` +
        `${disturbances} disturbances, ${repeats} repeats | ${table.sort().join(' | ')}\n`,
    );
    expect(mismatches).toEqual([]);
    expect([...seen.keys()].filter((key) => !expected.has(key))).toEqual([]);
    expect(acknowledged.filter((id) => !streams.has(`conversion-${id}`))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(500);
    // After the freeze an instance cannot tell whether its pending appends were stored.
    expect(refusals.filter((status) => status !== 503)).toEqual([]);
    for (const service of [left, right]) expect(await stop(service, 'SIGTERM')).toBe(0);
  });

  it('does not hold up other platforms or senders while one platform hangs', async () => {
    const [hanging, healthy] = [await startSandbox(), await startSandbox()];
    const urlOf = (name: Name) => (name === 'meta' ? hanging : healthy).url;
    const siteKey = await openSite('shop.example', (name) => `${urlOf(name)}/${name}@shop`);
    const service = await startService();
    const agent = new Agent({ keepAlive: true });
    await hanging.behave('meta', 'shop', 'hang');
    let sockets = 0;
    const replies: Promise<Reply | undefined>[] = [];
    for (let index = 0; index < HUNG_CONVERSIONS; index += 1) {
      replies.push(post(service, siteKey, `HUNG-${index}`, agent));
      sockets = Math.max(sockets, openSockets(service, hanging.url));
      // Conversions of the same moment would share requests to the hanging platform, and occupy fewer of its sockets.
      await sleep(5);
    }
    const answers = await Promise.all(replies);
    // If the platforms shared their limits, these would wait for eight sockets, each of them occupied for 10 s: several minutes.
    await eventually(
      () => itemsAt(healthy),
      (items) => items === 2 * HUNG_CONVERSIONS,
    );
    const outcomes = (await log.read({ categories: ['conversion'], limit: 10_000 })).filter(isOutcome);
    const firstTimeout = outcomes.findIndex(({ data }) => data.platform === 'meta');
    const before = firstTimeout === -1 ? outcomes : outcomes.slice(0, firstTimeout);
    process.stdout.write(
      `hang drill: ${before.length} outcomes before the first timeout, ${sockets} sockets to the hanging platform\n`,
    );
    expect(new Set(answers.map((reply) => reply?.status))).toEqual(new Set([200]));
    expect(sockets).toBeGreaterThan(0);
    expect(sockets).toBeLessThanOrEqual(8);
    agent.destroy();
    await stop(service, 'SIGKILL');
  });
});

const HUNG_CONVERSIONS = 300;

async function itemsAt(sandbox: SandboxProcess): Promise<number> {
  const accounts = await Promise.all(NAMES.map((name) => sandbox.account(name, 'shop')));
  return accounts.reduce((sum, { items }) => sum + items, 0);
}

/** Counts a process's TCP connections to a local server. */
function openSockets({ child }: ServiceProcess, url: string): number {
  const folder = `/proc/${child.pid}/fd`;
  const own = new Set(readdirSync(folder).flatMap((fd) => /\d+(?=\])/.exec(linkOf(`${folder}/${fd}`)) ?? []));
  const remote = `0100007F:${Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, , to, state, , , , , , inode]) => to === remote && state === '01' && own.has(inode as string)).length;
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    // The descriptor was closed meanwhile.
    return '';
  }
}

function isQueued(results: Results): boolean {
  return Object.values(results).some(({ status }) => status === 'queued');
}

/** The event id at the platform. */
function idAt(name: Name, orderId: string, conversionId: string): string {
  return name === 'segment' ? `cc-${conversionId}-${hash('sha256', orderId).slice(0, 16)}` : orderId;
}
