import type { Command } from '../src/kernel/command.js';
import { RevokeKey } from '../src/sites/keys/key.commands.js';
import { DisableInbound, PauseSite } from '../src/sites/site.commands.js';
import { openSocket, rawPost, type TestSite, useService } from './support/service.js';

const BATCH = { path: '/__cc/inbound/batch', body: '[{"email":"jane@example.com","event":"purchase","orderId":"B"}]' };
const SINGLE = { path: '/__cc/inbound', body: '{"email":"jane@example.com","event":"purchase","orderId":"A"}' };
const VISIT =
  '{"v":1,"visitor":"01980000-0000-4000-8000-000000000001","visit":"01980000-0000-4000-8000-000000000002","utm":{"source":"x"}}';

const { operator, service, openSite } = await useService({ TRUSTED_PROXIES: '127.0.0.1' });
/** The answer to the headers of a request that asks for it. */
const CONTINUE = /^HTTP\/1\.1 100 Continue\r\n\r\n/;
let site: TestSite;

beforeEach(async () => {
  site = await openSite();
});

/** The answer to a request whose body arrives when a change that was made after its headers is in force. */
async function changedMeanwhile(request: string, change: () => Promise<unknown>): Promise<string> {
  const socket = await openSocket(service);
  const end = request.length - 10;
  socket.write(request.slice(0, end).replace('\r\n', '\r\nExpect: 100-continue\r\n'));
  // The service has the headers and waits for the rest.
  await socket.until(CONTINUE);
  await change();
  await service.refreshSites();
  socket.write(request.slice(end));
  const text = await socket.until(new RegExp(`${CONTINUE.source}HTTP/1\\.1 \\d{3}[\\s\\S]*\r\n\r\n`));
  socket.socket.destroy();
  return text.replace(CONTINUE, '');
}
const statusOf = (text: string) => Number(text.slice('HTTP/1.1 '.length).slice(0, 3));

describe.each([
  ['a conversion', SINGLE],
  ['a batch', BATCH],
])('%s whose end arrives late', (_, { path, body }) => {
  const inbound = () => rawPost(site, body).replace('/__cc/inbound', path);

  it.each<[string, number, (of: TestSite) => Command<unknown>]>([
    ['its key was revoked', 401, ({ host, keyId }) => new RevokeKey('cli', host, keyId)],
    ['inbound was disabled', 403, ({ host }) => new DisableInbound('cli', host)],
    ['the site was paused', 503, ({ host }) => new PauseSite('cli', host)],
  ])('is not stored if %s meanwhile', async (_, status, change) => {
    const text = await changedMeanwhile(inbound(), () => operator.execute(change(site)));
    expect(statusOf(text)).toBe(status);
    expect(await operator.conversions(site.host)).toEqual([]);
  });

  it('is sent to a platform that was connected meanwhile', async () => {
    const text = await changedMeanwhile(inbound(), () =>
      operator.connect(site.host, 'segment', { write_key: 'key' }, 'http://127.0.0.1:9'),
    );
    expect(statusOf(text)).toBe(200);
    const [received] = await operator.conversions(site.host);
    expect(received?.data['platforms']).toEqual(['segment']);
  });
});

it.each([
  ['is not stored after consent was required', 'yes', []],
  ['is stored if nothing has changed meanwhile', 'no', ['visitor.visited.v1']],
])('a visit whose end arrives late %s', async (_, required, stored) => {
  const headers = { Origin: `https://${site.host}`, 'Content-Type': 'text/plain', 'X-Forwarded-Proto': 'https' };
  const visit = rawPost(site, VISIT, headers).replace('/__cc/inbound', '/__cc/collect');
  const text = await changedMeanwhile(visit, () => operator.set(site.host, 'consent-required', required));
  expect(statusOf(text)).toBe(204);
  const events = await operator.log.read({ categories: ['visitor'], site: site.host });
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(stored));
  expect(events.length > 0).toBe(stored.length > 0);
});
