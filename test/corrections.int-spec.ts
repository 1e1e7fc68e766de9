import { sandboxConnection } from '../src/app/demo-sandbox.js';
import { findByOrder } from '../src/cli/arguments/conversion-argument.js';
import type { CliDependencies } from '../src/cli/session.js';
import { dedupProjection } from '../src/conversions/dedup.projection.js';
import { shadowReplay } from '../src/history/shadow/shadow-replay.js';
import { Sealer } from '../src/kernel/sealing.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { totalsProjection } from '../src/outbound/totals.projection.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform, PlatformName } from '../src/platforms/platform.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { matchRateProjection } from '../src/visitors/match-rate.projection.js';
import { unmatchedProjection } from '../src/visitors/unmatched.projection.js';
import { loosely } from './support/loose-event.js';
import { totalsOf } from './support/outbound.js';
import { SECRET_KEY } from './support/secret-key.js';
import { conversionId, getReceipt, metrics, post, useService } from './support/service.js';
import { eventually } from './support/waiting.js';

const CONNECTED: readonly PlatformName[] = ['google_ads', 'meta', 'ga4'];
const PURCHASE = { email: 'jane.doe@example.com', event: 'purchase', value: 100, currency: 'EUR', orderId: 'A' };
const REFUND = { ...PURCHASE, event: 'refund', value: 30 };

const { operator, service, openSite } = await useService(
  { DELIVERY_RETRY_SCHEDULE: '1s' },
  { shorter: { confirmationPollMs: 1_000 } },
);
const sandbox = await new Sandbox().start();
const site = await openSite();
for (const name of CONNECTED) {
  // As the demo site is connected.
  const { set, endpoint } = sandboxConnection(platformOf(name) as Platform, sandbox.url);
  await operator.connect(site.host, name, set, endpoint);
}
await service.refreshSites();
afterAll(() => sandbox.stop());

describe('corrections', () => {
  const send = async (body: object) => {
    const reply = await post(service, site, body);
    return { status: reply.status, id: conversionId(reply), json: JSON.parse(reply.body) };
  };
  const behave = async (behaviour: object) => {
    const body = JSON.stringify({ platform: 'google_ads', ...behaviour });
    expect((await fetch(`${sandbox.url}/behave`, { method: 'POST', body })).status).toBe(200);
  };
  const resultAt = (platform: string) => (id: string) =>
    eventually(
      async () => JSON.parse((await getReceipt(service, site, `/${id}`)).body).results[platform],
      ({ status }) => status !== 'queued' && status !== 'accepted',
    );

  it('follow the conversion to the platforms, and count in no total', async () => {
    await behave({ mode: 'status', status: 'PROCESSING' });
    const purchase = await send(PURCHASE);
    expect(purchase.json.results).toMatchObject({ google_ads: { status: 'accepted' }, ga4: { status: 'accepted' } });
    expect(await send({ ...REFUND, orderId: undefined })).toMatchObject({
      ...{ status: 400, json: { ok: false, error: 'orderId is required for refund' } },
    });
    const batch = await post(service, site, [{ ...REFUND, orderId: undefined }], { path: '/__cc/inbound/batch' });
    expect(JSON.parse(batch.body).results).toEqual([
      { ok: false, error: 'orderId is required for refund', status: 400 },
    ]);

    const first = await send(REFUND);
    expect(first.json).toMatchObject({
      event: 'refund',
      results: {
        google_ads: { status: 'queued', reason: 'order_pending' },
        meta: { status: 'skipped', reason: 'correction_not_supported' },
        ga4: { status: 'accepted' },
      },
    });
    expect((await send(REFUND)).json).toEqual({ ok: true, deduped: true });
    const second = await send({ ...REFUND, value: undefined });
    await behave({ mode: 'ok' });

    expect(await resultAt('google_ads')(second.id)).toMatchObject({ status: 'delivered' });
    expect(await resultAt('google_ads')(first.id)).toMatchObject({ status: 'delivered' });
    const { log, postgres } = operator;
    const confirmed = loosely(await log.read({ site: site.host, types: ['conversion.confirmed.v1'] }));
    expect(confirmed.map(({ data }) => data['conversionId'])).toEqual([purchase.id, first.id, second.id]);

    const head = await log.head();
    expect(await totalsOf(log, site.host, 0, head)).toEqual({ conversions: 1, bot_traffic_removed: 0 });
    const secrets = new SiteSecrets(postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
    const all = [totalsProjection, matchRateProjection, unmatchedProjection, dedupProjection(secrets)];
    const projections = new ProjectionRunner(postgres, all);
    for (const { name } of all) {
      await projections.catchUp(name);
      await projections.rebuild(name);
    }
    const count = async (query: string) => Number((await postgres.pool.query(query)).rows[0].count);
    expect(await count('SELECT sum(conversions) AS count FROM cc.totals')).toBe(1);
    expect(await count('SELECT sum(conversions) AS count FROM cc.match_rate')).toBe(1);
    // The rebuilt claims still make a repeat a duplicate.
    expect((await send(REFUND)).json).toEqual({ ok: true, deduped: true });
    await projections.stop();

    const counted = await metrics(service);
    expect(counted.get('cc_inbound_requests_total{outcome="received"}')).toBe(1);
    expect(counted.get('cc_inbound_requests_total{outcome="corrected"}')).toBe(2);
    const receipt = await getReceipt(service, site, '?orderId=A');
    expect(conversionId(receipt)).toBe(purchase.id);
    expect(conversionId(await getReceipt(service, site, '?orderId=A&event=refund'))).toBe(second.id);
  });

  it('are shown with their order, and replayed as they were', async () => {
    const { log, postgres } = operator;
    const sites = new SiteRepository(log);
    const secrets = new SiteSecrets(postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
    const dependencies = { log, sites, secrets } as unknown as CliDependencies;
    const { conversion, events } = await findByOrder(dependencies, site.host, 'A');
    expect(conversion).toMatchObject({ event: 'purchase' });
    const corrections = loosely(events).filter(({ data }) => data['correction']);
    expect(corrections.map(({ data }) => data['value'])).toEqual([30, undefined]);

    const client = await postgres.connect('test');
    const request = {
      ...{ site: await sites.get(site.host), rules: { settings: {} }, after: 0, until: await log.head() },
      ...{ dedupSecret: await secrets.dedupSecret(site.host), defaultWindowMs: 86_400_000, giveUpMs: 86_400_000 },
    };
    const { conversions, platforms } = await shadowReplay(log, client, request).finally(() => client.end());
    expect(conversions.changes).toEqual([]);
    for (const { changes, payloadsChanged } of Object.values(platforms))
      expect([changes, payloadsChanged]).toEqual([[], 0]);
    expect(platforms['meta']?.was).toEqual({ sent: 1, 'skipped: correction_not_supported': 2 });
  });
});
