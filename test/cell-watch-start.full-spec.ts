import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Sealer } from '../src/kernel/sealing.js';
import { Arrival } from '../src/moves/arrival.js';
import { closeElsewhere } from '../src/moves/sites-elsewhere.js';
import { requireNewest } from '../src/moves/source-cell.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { SCHEMA } from '../src/postgres/migrations/index.js';
import { ConnectPlatform } from '../src/sites/connections/connection.commands.js';
import { proofOf } from '../src/sites/holding.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { captureLog } from './support/captured-log.js';
import { createDatabase } from './support/databases.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { SECRET_KEY } from './support/secret-key.js';
import {
  type Operator,
  openOperator,
  post,
  startTestService,
  type TestService,
  type TestSite,
} from './support/service.js';
import { eventually } from './support/waiting.js';
import { answerWith, startReceiver, type WebhookReceiver } from './support/webhook-receiver.js';

/** Longer than several polls of what is due. */
const SLOW_MS = 1_500;

let server: TestServer;
let databaseUrl: string;
let operator: Operator;
let platform: WebhookReceiver;
let site: TestSite;
/** Cell b, which answers slowly that it has the site. */
let peer: Server;
let url: string;
let waitMs = 0;
let onAsked = () => {};
/** Sites that it states to have. */
const stated: object[] = [];
let secrets: SiteSecrets;
let service: TestService | undefined;

beforeAll(async () => {
  server = await startTestServer();
  databaseUrl = await createDatabase(server);
  operator = await openOperator(databaseUrl);
  platform = await startReceiver();
  site = await operator.openSite();
  const request = { set: { pixel_id: '111', access_token: 'token' }, endpoint: platform.url };
  await operator.execute(new ConnectPlatform('cli', site.host, platformOf('meta') as Platform, request, 'meta'));
  secrets = new SiteSecrets(operator.postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
  await state(site);
  peer = createServer(async (_, response) => {
    await sleep(waitMs);
    onAsked();
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items: stated }));
  });
  await new Promise<void>((listening) => peer.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
});
afterEach(() => stop());
afterAll(async () => {
  await new Promise((closed) => peer.close(closed));
  await platform?.stop();
  await operator?.close();
  await server?.stop();
});

const state = async ({ host }: TestSite) => {
  const proof = proofOf(await secrets.dedupSecret(host), { site: host, cell: 'b', epoch: 1 });
  const listed = { id: '1', host, aliases: [], inbound: true, createdAt: '2026-01-01T00:00:00.000Z' };
  stated.push({ ...listed, epoch: 1, arrived: { epoch: 1, proof } });
};
const start = async (environment: Record<string, string> = {}) => {
  service = await startTestService(databaseUrl, {
    ...{ CELL: 'a', DELIVERY_RETRY_SCHEDULE: '2s,2s,2s,2s,2s,2s,2s,2s', INBOUND_DEADLINE: '1s' },
    ...environment,
  });
  return service;
};
const stop = async () => {
  await service?.stop();
  service = undefined;
};
const convert = async (orderId: string, of = site) =>
  (
    await post(service as TestService, of, {
      event: 'purchase',
      email: 'jane@example.com',
      value: 5,
      currency: 'EUR',
      orderId,
    })
  ).status;
const isDue = async () =>
  (await operator.postgres.pool.query('SELECT FROM cc.deliveries WHERE site = $1 AND due <= now()', [site.host]))
    .rowCount === 1;

describe('an instance of a cell that has lost that a site moved', () => {
  it('sends nothing of the site before it has asked the other cells, nor after another start without an answer', async () => {
    platform.answer = answerWith(500);
    await start();
    expect(await convert('before')).toBe(200);
    await eventually(
      () => operator.postgres.pool.query('SELECT FROM cc.deliveries WHERE site = $1', [site.host]),
      ({ rowCount }) => rowCount === 1,
    );
    await stop();
    await eventually(isDue, (due) => due);
    const sent = platform.calls.length;

    waitMs = SLOW_MS;
    await start({ CELLS: `b=${url}`, CELL_TOKENS: 'b=token' });
    waitMs = 0;
    expect(platform.calls.length).toBe(sent);
    expect(await convert('after')).toBe(503);
    await stop();

    // Known from the database before anything is due.
    await start({ CELLS: 'b=http://127.0.0.1:9', CELL_TOKENS: 'b=token' });
    expect(await convert('silent')).toBe(503);
    expect(await isDue()).toBe(true);
    expect(platform.calls.length).toBe(sent);
  });
});

describe('an instance whose database stalls when another cell has answered that it has a site', () => {
  it('accepts nothing for the site', async () => {
    const other = await operator.openSite();
    await state(other);
    let thawing: Promise<unknown> | undefined;
    const log = captureLog();
    onAsked = () => {
      if (thawing) return;
      server.freeze();
      thawing = eventually(
        async () => log.text(),
        (text) => text.includes('could not be asked'),
      ).finally(() => server.thaw());
    };
    try {
      await start({ CELLS: `b=${url}`, CELL_TOKENS: 'b=token', LOG_LEVEL: 'info' });
      await thawing;
    } finally {
      onAsked = () => {};
      log.stop();
      server.thaw();
    }
    expect(thawing).toBeDefined();
    expect(await convert('stalled', other)).toBe(503);
    const { rowCount } = await operator.postgres.pool.query('SELECT FROM cc.paused_sites WHERE site = $1 AND closed', [
      other.host,
    ]);
    expect(rowCount).toBe(1);
  });
});

describe('a move to a cell', () => {
  const cellB = () => ({ name: 'b', url, token: 'token' });

  it('is refused if another cell has got the site by that move, or does not answer', async () => {
    await expect(requireNewest([cellB()], { site: site.host, epoch: 1 })).rejects.toThrow('Cell b has got');
    await requireNewest([cellB()], { site: site.host, epoch: 2 });
    await expect(
      requireNewest([{ ...cellB(), url: 'http://127.0.0.1:9' }], { site: site.host, epoch: 2 }),
    ).rejects.toThrow('It is not known whether cell b');
  });

  it('of a site that its log has open is refused if that log has lost nothing, or if it comes from another cell than was found', async () => {
    const { postgres, log } = operator;
    const { host } = await operator.openSite();
    const arrival = new Arrival({
      ...{ settings: { cell: 'a', cellAddress: undefined, otherCells: [cellB()] }, postgres, log, secrets, inline: [] },
      ...{ sites: new SiteRepository(log), erasure: undefined as never, commands: undefined as never },
    });
    const begin = (from: string, epoch: number) =>
      arrival.begin({
        ...{ site: host, epoch, from, aliases: [], head: 1, schema: SCHEMA, timeMs: postgres.clock.nowMs() },
        dedupSecret: Buffer.alloc(32),
      });
    await expect(begin('b', 10)).rejects.toThrow('has a site');
    await closeElsewhere(postgres, { site: host, cell: 'b', epoch: 9 });
    await expect(begin('c', 10)).rejects.toThrow('has found');
    await expect(begin('b', 9)).rejects.toThrow('has found');
    await expect(begin('b', 10)).rejects.toThrow('never restored or failed over');
  });
});
