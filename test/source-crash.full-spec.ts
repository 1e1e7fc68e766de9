import { request } from 'node:http';
import { createDatabase, sharedServer } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { HoldingProxy } from './support/holding-proxy.js';
import { SECRET_KEY } from './support/secret-key.js';
import { openOperator } from './support/service.js';
import { type ServiceProcess, spawnService } from './support/service-process.js';
import { type ConnectedSource, connectSource, FIRST, fixtureOf, requestOf } from './support/source-deliveries.js';
import { eventually } from './support/waiting.js';

const databaseUrl = await createDatabase();
const operator = await openOperator(databaseUrl);
const proxy = await HoldingProxy.start(sharedServer.host);
afterAll(async () => {
  await operator.close();
  await proxy.stop();
});

const start = (url: string) =>
  spawnService(temporaryFolder('cc-source-crash-'), { DATABASE_URL: url, SECRET_KEY, TRUSTED_PROXIES: '127.0.0.1' });

/** What the sender gets; undefined if the service dies before it answers. */
function deliver({ url }: ServiceProcess, to: ConnectedSource, fixture: string) {
  const { raw, topic } = fixtureOf(to.name, fixture);
  const { method, path, headers, body } = requestOf(to, raw, topic, { headers: { 'X-Forwarded-Proto': 'https' } });
  return new Promise<Record<string, unknown> | undefined>((resolve) => {
    const sent = request(`${url}${path}`, { method, headers: { ...headers, 'X-Forwarded-Host': to.site.host } });
    sent.on('error', () => resolve(undefined));
    sent.on('response', async (response) => {
      resolve(JSON.parse(Buffer.concat(await response.toArray()).toString()));
    });
    sent.end(body);
  });
}

it('stores a delivery once whose sender repeats it, because the service was killed after the commit and before the answer', async () => {
  const site = await operator.openSite();
  const sources: [ConnectedSource, string][] = [];
  for (const [name, fixture] of FIRST) sources.push([await connectSource(operator, site, name), fixture]);
  const killed = await start(proxy.urlOf(databaseUrl));
  proxy.loseAnswersTo('conversion.received.v1');
  const answers = sources.map(([to, fixture]) => deliver(killed, to, fixture));
  // Those of the first batch: the others wait for its answer.
  const stored = await eventually(
    () => operator.conversions(site.host),
    ({ length }) => length > 0,
  );
  const isStored = ({ keyId }: ConnectedSource) => stored.some(({ data }) => data['keyId'] === keyId);
  await killed.end('SIGKILL');
  expect(await Promise.all(answers)).toEqual(FIRST.map(() => undefined));

  const next = await start(databaseUrl);
  for (const [to, fixture] of sources)
    expect(await deliver(next, to, fixture)).toMatchObject({
      ok: true,
      outcome: isStored(to) ? 'repeated' : 'received',
    });
  expect(await operator.conversions(site.host)).toHaveLength(FIRST.length);
  expect(await operator.log.read({ categories: ['inbound'], site: site.host })).toEqual([]);
  expect(await next.end('SIGTERM')).toBe(0);
});
