import { type ChildProcess, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isOutcome, type Outcome, type Results, resultsOf } from '../src/delivery/delivery.js';
import { openSealer } from '../src/kernel/secret-key.js';
import { readSettings } from '../src/kernel/settings.js';
import type { StoredEvent } from '../src/log/event.js';
import { EventLog } from '../src/log/event-log.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { Postgres } from '../src/postgres/postgres.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { Sites } from '../src/sites/sites.js';
import { type ServiceProcess, spawnService } from './support/service-process.js';

const SANDBOX = fileURLToPath(new URL('../dist/sandbox/main.js', import.meta.url));

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
  /** What one platform has seen of one tenant. */
  account(platform: Name, tenant: string): Promise<Account>;
}

interface Account {
  readonly items: number;
  readonly taken: number;
  readonly repeatsChanged: number;
  readonly problems: number;
  readonly events: Readonly<Record<string, Seen>>;
}

interface Seen {
  readonly times: number;
  readonly refused: number;
  readonly bodies: readonly string[];
}

const NOTHING: Account = { items: 0, taken: 0, repeatsChanged: 0, problems: 0, events: {} };

async function spawnSandbox(): Promise<SandboxProcess> {
  const child = spawn(process.execPath, [SANDBOX, '--port', '0', '--with-parent'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [chunk] = await once(child.stdout, 'data');
  const url = /listens on (\S+)/.exec(String(chunk))?.[1];
  if (!url) throw new Error(`The sandbox said ${chunk}`);
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

interface TestSite {
  readonly host: string;
  readonly key: string;
}

interface Reply {
  readonly status: number;
  readonly conversionId: string;
  readonly afterMs: number;
}

/** Undefined when nothing came back. */
function post(
  service: ServiceProcess,
  { host, key }: TestSite,
  orderId: string,
  agent: Agent,
): Promise<Reply | undefined> {
  const beganMs = performance.now();
  return new Promise((resolve) => {
    const sent = request(
      `${service.url}/__cc/inbound`,
      { method: 'POST', agent, headers: { host, 'x-cc-api-key': key, 'content-type': 'application/json' } },
      (response) => {
        response.resume().on('error', () => resolve(undefined));
        response.on('end', () => {
          const conversionId = String(response.headers['x-cc-conversion-id']);
          resolve({ status: response.statusCode ?? 0, conversionId, afterMs: performance.now() - beganMs });
        });
      },
    );
    sent.on('error', () => resolve(undefined));
    sent.end(JSON.stringify({ email: `${orderId}@example.com`, event: 'purchase', value: 9.5, orderId }));
  });
}

describe('dispatch', () => {
  let dataDir: string;
  let postgres: Postgres;
  let log: EventLog;
  let sites: Sites;
  const services = new Set<ServiceProcess>();
  const sandboxes = new Set<SandboxProcess>();

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'cc-dispatch-'));
    postgres = await Postgres.open({ databaseUrl: undefined, dataDir, say: () => {} });
    log = new EventLog(postgres);
    const sealer = openSealer(readSettings({ DATA_DIR: dataDir }));
    sites = new Sites(log, new SiteSecrets(postgres.pool, sealer), 'cli');
  }, 60_000);
  afterEach(async () => {
    for (const { child } of services) child.kill('SIGKILL');
    for (const { child } of sandboxes) child.kill('SIGKILL');
    services.clear();
    sandboxes.clear();
    await log.close();
    await postgres.close();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }, 60_000);

  async function startSandbox(): Promise<SandboxProcess> {
    const sandbox = await spawnSandbox();
    sandboxes.add(sandbox);
    return sandbox;
  }

  async function startService(): Promise<ServiceProcess> {
    const service = await spawnService(dataDir, { INBOUND_DEADLINE: '2s', DELIVERY_RETRY_SCHEDULE: '300ms,500ms' });
    services.add(service);
    return service;
  }

  async function stop(service: ServiceProcess, signal: NodeJS.Signals): Promise<number | string> {
    services.delete(service);
    return service.end(signal);
  }

  async function openSite(host: string, endpointOf: (name: Name) => string): Promise<TestSite> {
    await sites.register(host, []);
    await sites.enableInbound(host);
    for (const name of NAMES) {
      const request = { set: CONNECTIONS[name], endpoint: endpointOf(name) };
      await sites.connectPlatform(host, platformOf(name) as Platform, request);
    }
    const { key } = await sites.issueKey(host, 'test', false);
    return { host, key };
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
   * 27 sites, whose three platforms each take everything, take it after some trouble, or refuse it, in every combination;
   * two instances under load; three of them killed, one frozen for longer than its lease. Afterwards the log and the
   * platforms' own ledgers must tell the same story.
   *
   * Seen to fail: with the loop over `Lease.expired` in the dispatcher left out, ten conversions of the killed instances
   * had no outcome; without `Dispatcher.leave`, four hundred that the frozen one stored when it woke up; with an
   * `OpenConversion` that forgets what others have told, some outcomes stood in the log twice, in every third run.
   */
  it('tells what became of every conversion, through kills and a freeze, as the platforms do', async () => {
    const tenants = ['ok', 'retry', 'fail'] as const;
    const sandbox = await startSandbox();
    const doors = new Map<string, TestSite>();
    for (let combination = 0; combination < 27; combination += 1) {
      const tenantOf = (at: number) => tenants[Math.floor(combination / 3 ** at) % 3];
      const host = `${NAMES.map((_, at) => tenantOf(at)).join('-')}.example`;
      doors.set(host, await openSite(host, (name) => `${sandbox.url}/${name}@${tenantOf(NAMES.indexOf(name))}`));
    }
    for (const name of NAMES) await sandbox.behave(name, 'fail', 'refuse');

    let left = await startService();
    let right = await startService();
    const acknowledged: string[] = [];
    const refused: number[] = [];
    let [posted, unanswered, disturbances] = [0, 0, 0];
    let loading = true;
    const hosts = [...doors.values()];
    const worker = async (service: () => ServiceProcess) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      while (loading) {
        const order = posted++;
        const reply = await post(service(), hosts[order % hosts.length] as TestSite, `ORD-${order}`, agent);
        if (reply?.status === 200) acknowledged.push(reply.conversionId);
        else if (reply) refused.push(reply.status);
        else unanswered += 1;
        await sleep(reply ? 25 : 100);
      }
      agent.destroy();
    };
    const trouble = (async () => {
      for (let turn = 0; loading; turn += 1) {
        for (const name of NAMES) await sandbox.behave(name, 'retry', turn % 2 ? 'drop' : 'server_error', 2);
        await sleep(120);
      }
      for (const name of NAMES) await sandbox.behave(name, 'retry', 'ok');
    })();
    const load = Array.from({ length: 16 }, (_, at) => worker(() => (at % 2 ? left : right)));

    for (let kill = 0; kill < 3; kill += 1) {
      await sleep(500 + Math.random() * 1_500);
      disturbances += 1;
      await stop(left, 'SIGKILL');
      left = await startService();
      [left, right] = [right, left];
    }
    // Longer than a lease: the other one takes over, and what comes in meanwhile is answered after the freeze.
    await sleep(500);
    disturbances += 1;
    right.child.kill('SIGSTOP');
    await sleep(12_500);
    right.child.kill('SIGCONT');
    await sleep(2_500);
    loading = false;
    await Promise.all([trouble, ...load]);

    const patience = performance.now() + 30_000;
    let streams = await readConversions();
    const open = () => [...streams.values()].filter((events) => isQueued(resultsOf(events)));
    while (open().length > 0 && performance.now() < patience) {
      await sleep(500);
      streams = await readConversions();
    }
    expect(open().map(([received]) => [received?.data['conversionId'], received?.data['instance']])).toEqual([]);

    const accounts = new Map<string, Account>();
    for (const name of NAMES)
      for (const tenant of tenants) accounts.set(`${name} ${tenant}`, await sandbox.account(name, tenant));
    const seen = new Map<string, Seen>();
    for (const [account, { events, problems, repeatsChanged }] of accounts) {
      expect([account, problems, repeatsChanged]).toEqual([account, 0, 0]);
      for (const [id, event] of Object.entries(events)) seen.set(`${account.split(' ')[0]} ${id}`, event);
    }

    const known = new Set<string>();
    const wrong: string[] = [];
    const counts: Record<string, number> = {};
    let repeats = 0;
    for (const events of streams.values()) {
      const received = events[0] as StoredEvent;
      const { orderId, conversionId } = received.data as { orderId: string; conversionId: string };
      const results = resultsOf(events);
      const wanted = received.site.split('.')[0]?.split('-') as (typeof tenants)[number][];
      expect(Object.keys(results).sort()).toEqual([...NAMES].sort());
      for (const [at, name] of NAMES.entries()) {
        const key = `${name} ${idAt(name, orderId, conversionId)}`;
        known.add(key);
        const { times = 0, bodies = [] } = seen.get(key) ?? {};
        const outcomes = events.filter((event) => isOutcome(event) && event.data['platform'] === name);
        const digests = new Set(outcomes.map(({ data }) => data['bodySha256']));
        const { status } = results[name] as { status: string };
        counts[`${wanted[at]} ${status}`] = (counts[`${wanted[at]} ${status}`] ?? 0) + 1;
        repeats += Math.max(0, times - 1);
        const attempts = outcomes.map(({ data }) => (data as unknown as Outcome).attempt);
        const faults = [
          (status === 'delivered') !== times > 0 && 'the log and the ledger differ',
          status !== (wanted[at] === 'fail' ? 'failed' : 'delivered') && 'another end than the platform meant',
          bodies.length !== 1 && `${bodies.length} bodies`,
          (digests.size !== 1 || !digests.has(bodies[0])) && 'the log has other bodies',
          // (Refusals are not counted: a call that is refused goes out again in halves until the bad one is alone.)
          times > outcomes.length + disturbances && `${times} times`,
          attempts.some((attempt, index) => attempt !== index + 1) && `attempts ${attempts}`,
        ].filter(Boolean);
        if (faults.length > 0) {
          const story = outcomes.map(({ time, version, data }) => [
            time,
            version,
            data['attempt'],
            data['status'],
            data['reason'],
          ]);
          wrong.push(
            `${name} ${wanted[at]} ${orderId}: ${faults.join(', ')}; received ${received.time}, ${story.join(' | ')}`,
          );
        }
      }
    }
    const table = Object.entries(counts).map(([what, count]) => `${what} ${count}`);
    process.stdout.write(
      `dispatch drill: ${posted} posted, ${acknowledged.length} acknowledged, ${unanswered} unanswered, ${refused.length} told to try again, ` +
        `${disturbances} disturbances, ${repeats} repeats | ${table.sort().join(' | ')}\n`,
    );
    expect(wrong).toEqual([]);
    expect([...seen.keys()].filter((key) => !known.has(key))).toEqual([]);
    expect(acknowledged.filter((id) => !streams.has(`conversion-${id}`))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(500);
    // Whoever was frozen cannot say whether what it was storing has been stored.
    expect(refused.filter((status) => status !== 503)).toEqual([]);
    for (const service of [left, right]) expect(await stop(service, 'SIGTERM')).toBe(0);
  }, 150_000);

  it('lets a platform that hangs slow nobody else down', async () => {
    const [hanging, healthy] = [await startSandbox(), await startSandbox()];
    const urlOf = (name: Name) => (name === 'meta' ? hanging : healthy).url;
    const door = await openSite('shop.example', (name) => `${urlOf(name)}/${name}@shop`);
    const service = await startService();
    const agent = new Agent({ keepAlive: true });

    /** Arrivals do not wait for answers. Gives what the healthy platforms got, and how the senders fared. */
    const arrivals = async (prefix: string) => {
      const before = await itemsAt(healthy);
      const replies: Promise<Reply | undefined>[] = [];
      const beganMs = performance.now();
      let sockets = 0;
      for (let index = 0; index < HANG_SECONDS * HANG_RATE; index += 1) {
        await sleep(Math.max(0, beganMs + (index * 1_000) / HANG_RATE - performance.now()));
        replies.push(post(service, door, `${prefix}-${index}`, agent));
        if (index % HANG_RATE === 0) sockets = Math.max(sockets, openSockets(service, hanging.url));
      }
      const answered = await Promise.all(replies);
      await sleep(500);
      return { items: (await itemsAt(healthy)) - before, answered, sockets };
    };

    await arrivals('WARM-UP');
    const usual = await arrivals('USUAL');
    await hanging.behave('meta', 'shop', 'hang');
    const hung = await arrivals('HUNG');
    const slowest = Math.round(Math.max(...hung.answered.map((reply) => reply?.afterMs ?? Number.POSITIVE_INFINITY)));
    process.stdout.write(
      `hang drill: others got ${hung.items} (${usual.items} without the hang), slowest answer ${slowest} ms, ` +
        `${hung.sockets} sockets to the one that hangs\n`,
    );
    expect(hung.items).toBeGreaterThanOrEqual(0.95 * usual.items);
    expect(new Set(hung.answered.map((reply) => reply?.status))).toEqual(new Set([200]));
    // The deadline, the clock that looks at it five times a second, and a busy machine.
    expect(slowest).toBeLessThan(2_000 + 1_000);
    expect(hung.sockets).toBeGreaterThan(0);
    expect(hung.sockets).toBeLessThanOrEqual(8);
    agent.destroy();
    await stop(service, 'SIGKILL');
  }, 120_000);
});

const HANG_RATE = 150;
const HANG_SECONDS = 10;

async function itemsAt(sandbox: SandboxProcess): Promise<number> {
  const accounts = await Promise.all(NAMES.map((name) => sandbox.account(name, 'shop')));
  return accounts.reduce((sum, { items }) => sum + items, 0);
}

/** A process's connections to a server on this machine, as the kernel counts them. */
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
    // Closed meanwhile.
    return '';
  }
}

function isQueued(results: Results): boolean {
  return Object.values(results).some(({ status }) => status === 'queued');
}

/** Under which the platform knows it. */
function idAt(name: Name, orderId: string, conversionId: string): string {
  return name === 'segment' ? `cc-${conversionId}-${hash('sha256', orderId).slice(0, 16)}` : orderId;
}
