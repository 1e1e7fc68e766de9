import { hash } from 'node:crypto';
import { allProjections } from '../src/app/projections.js';
import { Sealer } from '../src/kernel/sealing.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { AddSite, EnableInbound, RemoveSite } from '../src/sites/site.commands.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { SetWebhook } from '../src/sites/webhook.commands.js';
import { type CreatedToken, TokensService } from '../src/users/tokens.service.js';
import { startTestAdmin } from './support/admin.js';
import { commandLine } from './support/command-line.js';
import { SECRET_KEY } from './support/secret-key.js';
import { conversionId, getReceipt, post, type TestSite, useService } from './support/service.js';
import { callTag } from './support/tag-calls.js';
import { eventually } from './support/waiting.js';
import { answerWith, startReceiver } from './support/webhook-receiver.js';

const EMAIL = 'known@example.com';
const ORDER = { email: EMAIL, event: 'purchase', orderId: 'ORD-1', value: 129.9, currency: 'EUR' };
const HTTPS = { headers: { 'X-Forwarded-Proto': 'https' } };

const environment = { TRUSTED_PROXIES: '127.0.0.1', OUTBOUND_ALLOW_PRIVATE: 'true', COLLECT_BURST: '1000' };
const { databaseUrl, operator, service } = await useService({ ...environment, DELIVERY_RETRY_SCHEDULE: '500ms' });
const admin = await startTestAdmin(databaseUrl, environment);
const boss = await admin.signedIn('admin');
const receiver = await startReceiver();
afterAll(async () => {
  await admin.stop();
  await receiver.stop();
});

/** Adds the host, with inbound enabled. */
async function addSite(host: string): Promise<TestSite & { id: string }> {
  const { id } = await operator.execute(new AddSite('cli', host));
  await operator.execute(new EnableInbound('cli', host));
  const { key, id: keyId } = await operator.issueKey(host);
  await service.refreshSites();
  return { id, host, key, keyId };
}

async function addAgain(host: string) {
  await operator.execute(new RemoveSite('cli', host));
  return addSite(host);
}

async function connect(host: string, path: string) {
  await operator.connect(host, 'webhook', { url: `${receiver.url}${path}` });
  await service.refreshSites();
}

const bodyOf = (reply: { body: string }) => JSON.parse(reply.body);

async function identify(site: TestSite, email: string, gclid: string): Promise<void> {
  const clicks = { gclid: { id: gclid, t: Date.now() } };
  const reply = await callTag(service, site, 'identify', { clicks, hash: hash('sha256', email) });
  expect(reply.status).toBe(204);
}

async function verified(): Promise<void> {
  await commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY }).text('history verify');
}

describe('a site that is removed and added again', () => {
  it('is another site: other id, no keys, no duplicates, no receipts and no matches of the earlier one', async () => {
    const earlier = await addSite('again.example');
    await identify(earlier, EMAIL, 'Gclid-Earlier');
    const first = await post(service, earlier, ORDER, HTTPS);
    const other = await post(service, earlier, { ...ORDER, orderId: 'ORD-2' }, HTTPS);
    expect(bodyOf(await post(service, earlier, ORDER, HTTPS))).toEqual({ ok: true, deduped: true });
    const site = await addAgain('again.example');
    expect(site.id).not.toBe(earlier.id);
    expect((await boss('/sites/again.example/keys')).body.items.map(({ id }: { id: string }) => id)).toEqual([
      site.keyId,
    ]);
    expect((await post(service, earlier, ORDER, HTTPS)).status).toBe(401);
    for (const query of [`/${conversionId(first)}`, '?orderId=ORD-1', `/${conversionId(other)}`, '?orderId=ORD-2'])
      expect({ query, status: (await getReceipt(service, site, query, HTTPS)).status }).toEqual({ query, status: 404 });
    const again = await post(service, site, ORDER, HTTPS);
    expect(bodyOf(again)).not.toMatchObject({ deduped: true });
    expect(conversionId(again)).not.toBe(conversionId(first));
    expect((await operator.conversion(conversionId(first)))?.data).toMatchObject({ matched: true });
    expect((await operator.conversion(conversionId(again)))?.data).not.toHaveProperty('matched');
    expect(bodyOf(await post(service, site, ORDER, HTTPS))).toEqual({ ok: true, deduped: true });
    expect(conversionId(await getReceipt(service, site, '?orderId=ORD-1', HTTPS))).toBe(conversionId(again));
    await verified();
  });

  it('has none of the operators and tokens of the earlier one, and other sites keep theirs', async () => {
    const host = 'access.example';
    await addSite(host);
    await addSite('kept.example');
    const { id } = await admin.addUser('operator', [host, 'kept.example']);
    const only = await admin.addUser('analyst', [host]);
    const owner = (await boss('/session')).body.id as string;
    const token = async (sites: string[] | null) =>
      (await new TokensService(admin.postgres).create(await admin.openSession(owner), {
        ...{ name: 'CI', scopes: ['read'], sites },
      })) as CreatedToken;
    const [limited, unlimited] = [await token([host]), await token(null)];
    const seen = async ({ token: secret }: CreatedToken) =>
      (await admin.withHeaders({ authorization: `Bearer ${secret}` })(`/sites/${host}`)).status;
    expect([await seen(limited), await seen(unlimited)]).toEqual([200, 200]);
    await addAgain(host);
    expect((await admin.users.find(id))?.sites).toEqual(['kept.example']);
    expect((await admin.users.find(only.id))?.sites).toEqual([]);
    expect([await seen(limited), await seen(unlimited)]).toEqual([401, 200]);
    await verified();
  });

  it('shows nothing of the earlier one to callers that see this site only, and all to administrators', async () => {
    const host = 'hidden.example';
    const earlier = await addSite(host);
    await connect(host, '/hidden');
    await operator.execute(new SetWebhook('cli', host, { url: `${receiver.url}/totals`, allowPrivate: true }));
    const first = await post(service, earlier, { ...ORDER, orderId: 'OLD-1' }, HTTPS);
    const id = conversionId(first);
    const job = await boss.post(`/sites/${host}/jobs`, { kind: 'export', format: 'ndjson' });
    const written = { method: 'POST', body: { name: 'a key', trial: false }, headers: { 'idempotency-key': 'k1' } };
    const issued = await boss(`/sites/${host}/keys`, written);
    await addAgain(host);
    expect((await boss(`/sites/${host}/keys`, written)).body.id).not.toBe(issued.body.id);
    const limited = await admin.signedIn('operator', [host]);
    const paths = [
      ...['/events', '/audit', '/conversions', '/conversions?order=OLD-1', '/sync-log', '/sync-log?order=OLD-1'],
      ...['/jobs', `/conversions/${id}`, `/conversions/${id}/deliveries/webhook/request`, '/erasures', '/tag'],
      ...['/statistics/totals?last=7d', '/statistics/sources?last=7d', '/attention', '/webhook', '/connections'],
    ];
    for (const path of paths) {
      const { body } = await limited(path === '/jobs' ? `/jobs?site=${host}` : `/sites/${host}${path}`);
      const shown = JSON.stringify(body ?? '');
      const found = [id, 'OLD-1', issued.body.id, job.body.id, receiver.url].filter((part) => shown.includes(part));
      const own = path === `/conversions/${id}` ? found : found.filter((part) => path.includes(part));
      expect({ path, found }).toEqual({ path, found: own });
    }
    expect((await limited(`/sites/${host}/conversions/${id}`)).status).toBe(404);
    const erase = { method: 'POST', body: { email: EMAIL } };
    expect((await limited(`/sites/${host}/erasures`, erase)).body).toMatchObject({ events: 0, identifiers: 0 });
    expect((await operator.conversion(id))?.personal).not.toBeNull();
    expect((await boss(`/sites/${host}/erasures`, erase)).body).toMatchObject({ events: 1 });
    expect((await limited(`/jobs/${job.body.id}`)).status).toBe(404);
    expect((await boss(`/sites/${host}/conversions/${id}`)).body.conversion.orderId).toBe('OLD-1');
    expect(JSON.stringify((await boss(`/sites/${host}/events`)).body)).toContain(id);
    const exported = await limited.post(`/sites/${host}/jobs`, { kind: 'export', format: 'ndjson' });
    const finished = await eventually(async () => (await limited(`/jobs/${exported.body.id}`)).body, {
      state: 'succeeded',
    });
    const events = await operator.log.read({ site: host });
    const begins = events.findLast(({ type }) => type === 'site.registered.v1')?.position as number;
    expect(finished.request?.after ?? finished.after ?? begins - 1).toBe(begins - 1);
    await verified();
  });

  it('gets no deliveries, no totals and no late matches of the earlier one', async () => {
    const host = 'pending.example';
    const earlier = await addSite(host);
    receiver.answer = (call, response) => answerWith(call.path === '/earlier' ? 503 : 200)(call, response);
    await connect(host, '/earlier');
    await operator.execute(new SetWebhook('cli', host, { url: `${receiver.url}/totals-1`, allowPrivate: true }));
    await post(service, earlier, { ...ORDER, orderId: 'PENDING-1' }, HTTPS);
    const site = await addAgain(host);
    await connect(host, '/later');
    await operator.execute(new SetWebhook('cli', host, { url: `${receiver.url}/totals-2`, allowPrivate: true }));
    await post(service, site, { ...ORDER, orderId: 'NEW-1' }, HTTPS);
    await eventually(
      async () => receiver.callsTo('/later').length,
      (calls) => calls > 0,
    );
    const pushed = await boss.post(`/sites/${host}/webhook/push`);
    expect(pushed.status).toBeLessThan(300);
    expect(receiver.callsTo('/totals-2').map(({ body }) => bodyOf({ body }))).toEqual([
      { conversions: 1, bot_traffic_removed: 0 },
    ]);
    // Longer than the schedule of retries, in events: a later conversion is delivered, the earlier one is not.
    await post(service, site, { ...ORDER, orderId: 'NEW-2' }, HTTPS);
    await eventually(
      async () => receiver.callsTo('/later').length,
      (calls) => calls > 1,
    );
    expect(receiver.callsTo('/later').some(({ body }) => body.includes('PENDING-1'))).toBe(false);
    // The projection follows the log.
    await eventually(
      async () => (await operator.postgres.pool.query('SELECT FROM cc.deliveries WHERE site = $1', [host])).rows,
      (rows) => rows.length === 0,
    );
    await verified();
  });

  it('is rebuilt to equal rows, also beside live traffic', async () => {
    const host = 'rebuilt.example';
    const earlier = await addSite(host);
    await identify(earlier, EMAIL, 'Gclid-1');
    for (const orderId of ['A', 'B']) await post(service, earlier, { ...ORDER, orderId }, HTTPS);
    const site = await addAgain(host);
    await post(service, site, { ...ORDER, orderId: 'B' }, HTTPS);
    const secrets = new SiteSecrets(operator.postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
    const runner = new ProjectionRunner(operator.postgres, allProjections(secrets));
    for (const name of runner.names()) await runner.rebuild(name);
    await verified();
    const claims = await operator.postgres.pool.query('SELECT key FROM cc.dedup WHERE site = $1', [host]);
    expect(claims.rows).toHaveLength(1);
    expect(bodyOf(await post(service, site, { ...ORDER, orderId: 'B' }, HTTPS))).toEqual({ ok: true, deduped: true });
  });

  it('is added once by concurrent callers', async () => {
    const host = 'once.example';
    await addSite(host);
    await operator.execute(new RemoveSite('cli', host));
    const results = await Promise.allSettled([1, 2, 3].map(() => operator.execute(new AddSite('cli', host))));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const secrets = new SiteSecrets(operator.postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
    expect(await secrets.dedupSecret(host)).toMatch(/^[0-9a-f]{64}$/);
    expect((await new SiteRepository(operator.log).all()).filter((site) => site.host === host)).toHaveLength(1);
    await verified();
  });
});

describe('a receipt by its id', () => {
  it('of a real conversion is hidden from trial keys; a real key also sees trial ones', async () => {
    const site = await addSite('trial.example');
    const { key, id: keyId } = await operator.issueKey(site.host, 'trial');
    await service.refreshSites();
    const trial = { host: site.host, key, keyId };
    const [real, tried] = [await post(service, site, ORDER, HTTPS), await post(service, trial, ORDER, HTTPS)];
    const status = async (by: TestSite, reply: typeof real) =>
      (await getReceipt(service, by, `/${conversionId(reply)}`, HTTPS)).status;
    expect([await status(trial, real), await status(trial, tried)]).toEqual([404, 200]);
    expect([await status(site, real), await status(site, tried)]).toEqual([200, 200]);
  });
});
