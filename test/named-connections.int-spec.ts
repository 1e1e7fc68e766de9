import { ReplayDeliveries, type ReplayRequest } from '../src/delivery/replay-deliveries.command.js';
import { ReplayDeliveriesHandler } from '../src/delivery/replay-deliveries.handler.js';
import { checkData } from '../src/events/check-data.js';
import { Sealer } from '../src/kernel/sealing.js';
import type { ConnectionName } from '../src/platforms/connection-name.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { ConnectPlatform, DisconnectPlatform, ResumeConnection } from '../src/sites/connections/connection.commands.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { createDatabase } from './support/databases.js';
import { SECRET_KEY } from './support/secret-key.js';
import {
  conversionId,
  getReceipt,
  metrics,
  type Operator,
  openOperator,
  post,
  type Reply,
  startTestService,
  type TestService,
  type TestSite,
} from './support/service.js';
import { eventually } from './support/waiting.js';

let databaseUrl: string;
let sandbox: RunningSandbox;
let operator: Operator;
let secrets: SiteSecrets;
let service: TestService;
let site: TestSite;

const startInstance = () => startTestService(databaseUrl, { DELIVERY_RETRY_SCHEDULE: '1s', INBOUND_DEADLINE: '30s' });

beforeAll(async () => {
  sandbox = await new Sandbox().start();
  databaseUrl = await createDatabase();
  operator = await openOperator(databaseUrl);
  secrets = new SiteSecrets(operator.postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
  service = await startInstance();
});
afterAll(async () => {
  await service?.stop();
  await operator?.close();
  await sandbox?.stop();
});

beforeEach(async () => {
  site = await operator.openSite();
  // Connected first, so that the order of the receipt is not the order of the events.
  await connect('meta:second', { pixel_id: '222', access_token: 'token-of-second' });
  await connect('meta', { pixel_id: '111', access_token: 'token-of-first' });
  await service.refreshSites();
});

/** Every connection has a tenant of its own at the sandbox. */
const tenantOf = (name: ConnectionName) => `${site.host}-${name.replace(':', '-')}`;

function connect(name: ConnectionName, set: Record<string, string>) {
  const platform = platformOf(name) as Platform;
  const endpoint = `${sandbox.url}/${platform.name}@${tenantOf(name)}`;
  return operator.execute(new ConnectPlatform('cli', site.host, platform, { set, endpoint }, name));
}

async function behave(name: ConnectionName, mode: string, times?: number): Promise<void> {
  const behaviour = { platform: 'meta', tenant: tenantOf(name), mode, times };
  const answer = await fetch(`${sandbox.url}/behave`, { method: 'POST', body: JSON.stringify(behaviour) });
  expect(answer.status).toBe(200);
}

/** Order ids that the platform has accepted through the connection, and how often. */
async function accepted(name: ConnectionName): Promise<Record<string, number>> {
  const answer = await fetch(`${sandbox.url}/ledger?platform=meta&tenant=${tenantOf(name)}`);
  const { meta } = (await answer.json()) as {
    meta?: Record<string, { events: Record<string, { times: number }> }>;
  };
  const events = Object.entries(meta?.[tenantOf(name)]?.events ?? {});
  return Object.fromEntries(events.filter(([, { times }]) => times > 0).map(([id, { times }]) => [id, times]));
}

async function convert(orderId: string): Promise<Reply> {
  return post(service, site, { event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR', orderId });
}

const resultsOf = ({ body }: Reply) =>
  Object.entries(JSON.parse(body).results as Record<string, { status: string; reason?: string }>).map(
    ([name, { status, reason }]) => `${name} ${status}${reason === undefined ? '' : ` ${reason}`}`,
  );

const receiptOf = async (reply: Reply) => resultsOf(await getReceipt(service, site, `/${conversionId(reply)}`));

async function stateOf(name: ConnectionName): Promise<string | undefined> {
  const { connections } = await new SiteRepository(operator.log).get(site.host);
  return connections.find(({ platform }) => platform === name)?.state;
}

it('a parked connection does not hold up another one of the platform, before and after a restart', async () => {
  await behave('meta', 'unauthorized');
  const first = await convert('A1');
  expect(resultsOf(first)).toEqual(['meta queued authorization', 'meta:second delivered']);
  await eventually(
    () => stateOf('meta'),
    (state) => state === 'parked',
  );
  expect(await stateOf('meta:second')).toBe('active');

  await service.stop();
  service = await startInstance();
  const second = await convert('A2');
  expect(resultsOf(second)).toEqual(['meta queued authorization', 'meta:second delivered']);
  expect((await metrics(service)).get('cc_deliveries_total{platform="meta:second",status="delivered"}')).toBe(1);

  await behave('meta', 'ok');
  await operator.execute(new ResumeConnection('cli', site.host, 'meta'));
  for (const reply of [first, second])
    await eventually(
      () => receiptOf(reply),
      (results) => results.join() === 'meta delivered,meta:second delivered',
    );
  expect(await accepted('meta')).toEqual({ A1: 1, A2: 1 });
  expect(await accepted('meta:second')).toEqual({ A1: 1, A2: 1 });
  for (const { type, data } of await operator.log.read({ site: site.host }))
    expect(checkData(type, data)).toBeUndefined();
});

it('a retry, and a replay that an operator requests, concern one connection of a platform only', async () => {
  await behave('meta:second', 'server_error', 1);
  const retried = await convert('B1');
  await eventually(
    () => receiptOf(retried),
    (results) => results.join() === 'meta delivered,meta:second delivered',
  );
  await behave('meta:second', 'refuse', 1);
  await behave('meta', 'refuse', 1);
  const failed = await convert('B2');
  expect(resultsOf(failed)).toEqual([
    expect.stringMatching(/^meta failed /),
    expect.stringMatching(/^meta:second failed /),
  ]);

  const until = await operator.log.head();
  const request: ReplayRequest = {
    ...{ site: site.host, platform: 'meta:second', range: { after: 0, until }, siteVersion: 1, dryRun: false },
    ...{ force: false, statuses: ['failed', 'skipped'], nowMs: Date.now() },
  };
  const counts = await new ReplayDeliveriesHandler(operator.log).execute(new ReplayDeliveries('cli', request));
  expect(counts).toEqual({ requested: 1, byStatus: { delivered: 1, failed: 1 } });
  const results = await eventually(
    () => receiptOf(failed),
    ([, second]) => second === 'meta:second delivered',
  );
  expect(results[0]).toMatch(/^meta failed /);
  expect(await accepted('meta')).toEqual({ B1: 1 });
  expect(await accepted('meta:second')).toEqual({ B1: 1, B2: 1 });
});

it('secrets of two connections of a platform are separate, and deleted with their connection only', async () => {
  const secretsOf = (name: ConnectionName) => secrets.connectionSecrets(site.host, name);
  expect(await secretsOf('meta')).toEqual({ access_token: 'token-of-first' });
  expect(await secretsOf('meta:second')).toEqual({ access_token: 'token-of-second' });
  await operator.execute(new DisconnectPlatform('cli', site.host, 'meta:second'));
  await service.refreshSites();
  expect(await secretsOf('meta')).toEqual({ access_token: 'token-of-first' });
  expect(await secretsOf('meta:second')).toEqual({});
  expect(resultsOf(await convert('C1'))).toEqual(['meta delivered']);
  await operator.execute(new DisconnectPlatform('cli', site.host, 'meta'));
  await connect('meta:second', { pixel_id: '222', access_token: 'token-of-third' });
  await service.refreshSites();
  expect(resultsOf(await convert('C2'))).toEqual(['meta:second delivered']);
  expect(await accepted('meta')).toEqual({ C1: 1 });
  expect(await accepted('meta:second')).toEqual({ C2: 1 });
});
