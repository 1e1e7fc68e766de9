import { rmSync } from 'node:fs';
import { Agent, request, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isOutcome, resultsOf } from '../src/delivery/delivery.js';
import type { CommandDispatcher } from '../src/kernel/command.js';
import { openSealer } from '../src/kernel/secret-key.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import type { StoredEvent } from '../src/log/event.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { parseDefinition } from '../src/platforms/defined/parse-definition.js';
import { Postgres } from '../src/postgres/postgres.js';
import { ConnectPlatform } from '../src/sites/connections/connection.commands.js';
import { definePlatform } from '../src/sites/definitions.js';
import { IssueKey } from '../src/sites/keys/key.commands.js';
import { AddSite, EnableInbound } from '../src/sites/site.commands.js';
import { siteCommandDispatcher } from '../src/sites/site-command-handlers.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { temporaryFolder } from './support/folders.js';
import { printSeed, seededRandom } from './support/seed.mjs';
import { type ServiceProcess, sharedDatabase, spawnService } from './support/service-process.js';
import { eventually } from './support/waiting.js';
import { startReceiver, type WebhookReceiver } from './support/webhook-receiver.js';

const SHORT_WINDOWS = new URL('./support/short-windows.mjs', import.meta.url).href;
const HOST = 'shop.example';
const FIRST = `name: crm
settings:
  account: { required: true, help: Your account. }
  key: { required: true, secret: true, help: Your key. }
url: https://api.crm.example/v1/{account}
authentication: { type: bearer, secret: key }
body: { id: /order_id, amount: /amount, email: /hashes/email }
`;
/** Takes batches, and lacks a setting that the address of the first one needs. */
const SECOND = `name: crm
settings:
  key: { required: true, secret: true, help: Your key. }
url: https://api.crm.example/v2
authentication: { type: bearer, secret: key }
body: { id: /order_id, total: /value, at: /time/iso }
batch: { max: 20 }
`;
const PATHS = { first: '/v1/shop-7', second: '/v2' } as const;

const random = seededRandom(printSeed('defined-crash'));

/** What the destination was sent of one order. */
interface Seen {
  readonly bodies: Set<string>;
  times: number;
  accepted: number;
}

describe('delivery to a defined platform through crashes', () => {
  let dataDir: string;
  let postgres: Postgres;
  let log: EventLog;
  let sites: SiteRepository;
  let commands: CommandDispatcher;
  let receiver: WebhookReceiver;
  let service: ServiceProcess | undefined;

  beforeEach(async () => {
    dataDir = temporaryFolder('cc-defined-');
    postgres = await Postgres.open({ databaseUrl: undefined, dataDir, onMessage: () => {} });
    log = new PostgresEventLog(postgres);
    sites = new SiteRepository(log);
    const sealer = openSealer(readSettings({ DATA_DIR: dataDir }));
    commands = siteCommandDispatcher(sites, new SiteSecrets(postgres.pool, sealer));
    receiver = await startReceiver();
  });
  afterEach(async () => {
    service?.child.kill('SIGKILL');
    service = undefined;
    await receiver.stop();
    await log.close();
    await postgres.close();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  function startService(): Promise<ServiceProcess> {
    return spawnService(dataDir, {
      ...sharedDatabase(dataDir),
      INBOUND_DEADLINE: '200ms',
      DELIVERY_RETRY_SCHEDULE: '300ms,500ms',
      NODE_OPTIONS: `--import ${SHORT_WINDOWS}`,
    });
  }

  const define = (definition: string) =>
    definePlatform({ log, sites, commands }, 'cli', parseDefinition(definition, 'crm.yaml'));

  async function openSite(): Promise<string> {
    await commands.execute(new AddSite('cli', HOST));
    await commands.execute(new EnableInbound('cli', HOST));
    await define(FIRST);
    const platform = parseDefinition(FIRST, 'crm.yaml');
    const set = { account: 'shop-7', key: 'key' };
    await commands.execute(new ConnectPlatform('cli', HOST, platform, { set, endpoint: receiver.url }));
    return (await commands.execute(new IssueKey('cli', HOST, 'test', false))).key;
  }

  async function readConversions(): Promise<Map<string, StoredEvent[]>> {
    const streams = new Map<string, StoredEvent[]>();
    for (let after = 0; ; ) {
      const page = await log.read({ after, categories: ['conversion'], limit: 5_000 });
      for (const event of page) streams.set(event.stream, [...(streams.get(event.stream) ?? []), event]);
      const last = page.at(-1);
      if (!last) return streams;
      after = last.position;
    }
  }

  /**
   * The service is killed twice under load while the destination refuses, ends connections without an answer, and accepts; the
   * definition is replaced while deliveries of the first version wait.
   *
   * Mutation that made it fail: with the batch size of the newest version, conversions of the first one were recorded as delivered
   * that the destination was never sent.
   */
  it('delivers every conversion with one body, of the version that it was received with', async () => {
    const key = await openSite();
    const seen = new Map<string, Seen>();
    let mode: 'well' | 'badly' | 'not' = 'well';
    receiver.answer = ({ path, body }, response) => {
      const items = [JSON.parse(body)].flat() as { id: string }[];
      const chance = random();
      const isAccepted = mode === 'well' || (mode === 'badly' && chance < 0.5);
      const hasNoAnswer = mode === 'badly' && chance > 0.75;
      for (const item of items) {
        const entry = seen.get(item.id) ?? { bodies: new Set(), times: 0, accepted: 0 };
        entry.bodies.add(`${path} ${JSON.stringify(item)}`);
        entry.times += 1;
        // What was taken without an answer may be sent again.
        if (isAccepted || hasNoAnswer) entry.accepted += 1;
        seen.set(item.id, entry);
      }
      answer(response, isAccepted, hasNoAnswer);
    };

    service = await startService();
    const acknowledged = new Set<string>();
    let [posted, loading] = [0, true];
    const worker = async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      while (loading && service) {
        const orderId = `ORD-${posted++}`;
        const status = await post(service, key, orderId, agent);
        if (status === 200) acknowledged.add(orderId);
        await sleep(status === undefined ? 100 : 25);
      }
      agent.destroy();
    };
    const load = Array.from({ length: 8 }, worker);
    const more = async (count: number) => {
      const wanted = acknowledged.size + count;
      await eventually(
        async () => acknowledged.size,
        (size) => size >= wanted,
        { withinMs: 120_000 },
      );
    };
    const kill = async () => {
      await service?.end('SIGKILL');
      service = await startService();
    };

    await more(50);
    mode = 'badly';
    await more(50);
    await kill();
    await more(30);
    // What is received now is of the first version, and waits.
    mode = 'not';
    await more(40);
    const { connections, kept } = await define(SECOND);
    expect({ connections, kept }).toEqual({ connections: 1, kept: [] });
    const second = (await sites.all()).find(({ host }) => host === HOST)?.connections[0]?.version ?? 0;
    await kill();
    const definedAt = receiver.calls.length;
    mode = 'badly';
    await more(50);
    loading = false;
    await Promise.all(load);
    mode = 'well';

    let streams = await readConversions();
    const owed = () => [...streams.values()].filter((events) => resultsOf(events)['crm']?.status === 'queued');
    const deadline = performance.now() + 120_000;
    while (owed().length > 0 && performance.now() < deadline) {
      await sleep(500);
      streams = await readConversions();
    }

    const problems: string[] = [];
    const orders: string[] = [];
    const counts = { first: 0, second: 0, repeats: 0 };
    for (const events of streams.values()) {
      const [received] = events as [StoredEvent];
      const { orderId, siteVersion } = received.data as { orderId: string; siteVersion: number };
      orders.push(orderId);
      const version = siteVersion < second ? 'first' : 'second';
      const { bodies = new Set<string>(), times = 0, accepted = 0 } = seen.get(orderId) ?? {};
      counts[version] += 1;
      counts.repeats += Math.max(0, times - 1);
      const outcomes = events.filter(isOutcome);
      const digests = new Set(outcomes.flatMap(({ data }) => data.bodySha256 ?? []));
      const wrong = [
        resultsOf(events)['crm']?.status !== 'delivered' && `is ${JSON.stringify(resultsOf(events)['crm'])}`,
        accepted === 0 && 'was never accepted',
        bodies.size !== 1 && `had ${bodies.size} bodies`,
        digests.size !== 1 && `has ${digests.size} digests`,
        [...bodies].some((body) => !body.startsWith(`${PATHS[version]} `)) && `was sent as of another version`,
      ].filter(Boolean);
      if (wrong.length > 0) problems.push(`${orderId} (${version}): ${wrong.join(', ')}`);
    }
    const stored = new Set(orders);
    const late = receiver.calls.slice(definedAt).filter(({ path }) => path === PATHS.first).length;
    process.stdout.write(
      `defined platform drill: ${posted} posted, ${acknowledged.size} acknowledged, ${counts.first} of the first version and ` +
        `${counts.second} of the second, ${counts.repeats} repeats, ${late} requests of the first version after the second was defined\n`,
    );
    expect(problems).toEqual([]);
    expect([...acknowledged].filter((orderId) => !stored.has(orderId))).toEqual([]);
    expect([...seen.keys()].filter((orderId) => !stored.has(orderId))).toEqual([]);
    expect(late).toBeGreaterThanOrEqual(40);
    expect(receiver.calls.some(({ path, body }) => path === PATHS.second && JSON.parse(body).length > 1)).toBe(true);
  });
});

function answer(response: ServerResponse, isAccepted: boolean, hasNoAnswer: boolean): void {
  if (hasNoAnswer) response.socket?.destroy();
  else response.writeHead(isAccepted ? 200 : 503).end();
}

/** Undefined if there was no response. */
function post(service: ServiceProcess, key: string, orderId: string, agent: Agent): Promise<number | undefined> {
  return new Promise((resolve) => {
    const sent = request(
      `${service.url}/__cc/inbound`,
      {
        method: 'POST',
        agent,
        timeout: 60_000,
        headers: { host: HOST, 'x-cc-api-key': key, 'content-type': 'application/json' },
      },
      (response) => {
        response.resume().on('error', () => resolve(undefined));
        response.on('end', () => resolve(response.statusCode));
      },
    );
    sent.on('error', () => resolve(undefined));
    sent.on('timeout', () => sent.destroy());
    sent.end(
      JSON.stringify({ email: `${orderId}@example.com`, event: 'purchase', value: 9.5, currency: 'EUR', orderId }),
    );
  });
}
