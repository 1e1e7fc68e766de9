import { setTimeout as sleep } from 'node:timers/promises';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { ConnectPlatform } from '../src/sites/connections/connection.commands.js';
import { RevokeKey } from '../src/sites/keys/key.commands.js';
import { DisableInbound, PauseSite } from '../src/sites/site.commands.js';
import { createDatabase } from './support/databases.js';
import {
  type Operator,
  openOperator,
  openSocket,
  rawPost,
  startTestService,
  type TestService,
  type TestSite,
} from './support/service.js';

const BATCH = { path: '/__cc/inbound/batch', body: '[{"email":"jane@example.com","event":"purchase","orderId":"B"}]' };
const SINGLE = { path: '/__cc/inbound', body: '{"email":"jane@example.com","event":"purchase","orderId":"A"}' };
const VISIT =
  '{"v":1,"visitor":"01980000-0000-4000-8000-000000000001","visit":"01980000-0000-4000-8000-000000000002","utm":{"source":"x"}}';

let service: TestService;
let operator: Operator;
let site: TestSite;

beforeAll(async () => {
  const databaseUrl = await createDatabase();
  operator = await openOperator(databaseUrl);
  service = await startTestService(databaseUrl, { TRUSTED_PROXIES: '127.0.0.1' });
});
afterAll(async () => {
  await service?.stop();
  await operator?.close();
});
beforeEach(async () => {
  site = await operator.openSite();
  await service.refreshSites();
});

/** The answer to a request whose body arrives when a change that was made after its headers is in force. */
async function changedMeanwhile(request: string, change: () => Promise<unknown>): Promise<string> {
  const socket = await openSocket(service);
  const end = request.length - 10;
  socket.write(request.slice(0, end));
  // The service has the headers and waits for the rest.
  await sleep(100);
  await change();
  await service.refreshSites();
  socket.write(request.slice(end));
  const text = await socket.until(/^HTTP\/1\.1 \d{3}[\s\S]*\r\n\r\n/);
  socket.socket.destroy();
  return text;
}
const statusOf = (text: string) => Number(text.slice('HTTP/1.1 '.length).slice(0, 3));

describe.each([
  ['a conversion', SINGLE],
  ['a batch', BATCH],
])('%s whose end arrives late', (_, { path, body }) => {
  const inbound = () => rawPost(site, body).replace('/__cc/inbound', path);

  it('is refused if its key was revoked meanwhile', async () => {
    const text = await changedMeanwhile(inbound(), () => operator.execute(new RevokeKey('cli', site.host, site.keyId)));
    expect(statusOf(text)).toBe(401);
    expect(await operator.conversions(site.host)).toEqual([]);
  });

  it('is refused if inbound was disabled meanwhile', async () => {
    expect(
      statusOf(await changedMeanwhile(inbound(), () => operator.execute(new DisableInbound('cli', site.host)))),
    ).toBe(403);
    expect(await operator.conversions(site.host)).toEqual([]);
  });

  it('is not stored if the site was paused meanwhile', async () => {
    const text = await changedMeanwhile(inbound(), () => operator.execute(new PauseSite('cli', site.host)));
    expect(statusOf(text)).toBe(503);
    expect(await operator.conversions(site.host)).toEqual([]);
  });

  it('is sent to a platform that was connected meanwhile', async () => {
    const connection = { set: { write_key: 'key' }, endpoint: 'http://127.0.0.1:9' };
    const segment = platformOf('segment') as Platform;
    const text = await changedMeanwhile(inbound(), () =>
      operator.execute(new ConnectPlatform('cli', site.host, segment, connection)),
    );
    expect(statusOf(text)).toBe(200);
    const [received] = await operator.conversions(site.host);
    expect(received?.data['platforms']).toEqual(['segment']);
  });
});

it('a visit whose end arrives after consent was required is not stored', async () => {
  const headers = { Origin: `https://${site.host}`, 'Content-Type': 'text/plain', 'X-Forwarded-Proto': 'https' };
  const visit = rawPost(site, VISIT, headers).replace('/__cc/inbound', '/__cc/collect');
  const text = await changedMeanwhile(visit, () => operator.set(site.host, 'consent-required', 'yes'));
  expect(statusOf(text)).toBe(204);
  expect(await operator.log.read({ categories: ['visitor'], site: site.host })).toEqual([]);
});

it('a visit that arrives slowly is stored if nothing has changed meanwhile', async () => {
  const headers = { Origin: `https://${site.host}`, 'Content-Type': 'text/plain', 'X-Forwarded-Proto': 'https' };
  const visit = rawPost(site, VISIT, headers).replace('/__cc/inbound', '/__cc/collect');
  expect(statusOf(await changedMeanwhile(visit, async () => {}))).toBe(204);
  const types = (await operator.log.read({ categories: ['visitor'], site: site.host })).map(({ type }) => type);
  expect(types).toContain('visitor.visited.v1');
});
