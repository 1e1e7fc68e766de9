import { temporaryFolder } from './support/folders.js';
import { spawnService } from './support/service-process.js';
import { eventually } from './support/waiting.js';

const folder = temporaryFolder('cc-sandbox-corrections-');
const PURCHASE = { email: 'jane@example.com', event: 'purchase', value: 129.9, currency: 'EUR', orderId: 'ORD-1' };
const POLL_S = 10;

// The shortest interval that can be set.
const environment = { CONFIRMATION_POLL: `${POLL_S}s`, DELIVERY_RETRY_SCHEDULE: '1s', DEMO_PLATFORMS: 'true' };
const service = await spawnService(folder, environment);
afterAll(() => service.end('SIGTERM'));

async function inbound(path: string, body?: object) {
  const reply = await fetch(`${service.url.replace('127.0.0.1', 'localhost')}/__cc/inbound${path}`, {
    headers: { 'x-cc-api-key': service.key, 'content-type': 'application/json' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  expect(reply.status).toBe(200);
  const { results } = (await reply.json()) as { results: Record<string, { status: string; reason?: string }> };
  return results;
}

const googleOf = (event: string) =>
  eventually(
    async () => (await inbound(`?orderId=ORD-1&event=${event}`))['google_ads'],
    (result) => result?.status !== 'accepted' && result?.status !== 'queued',
    { withinMs: 4 * POLL_S * 1_000 },
  );

describe('the sandbox that the service starts', () => {
  it('confirms a conversion, and then gets its refund, as the demo site is connected', async () => {
    expect(await inbound('', PURCHASE)).toMatchObject({
      ...{ google_ads: { status: 'accepted' }, ga4: { status: 'accepted' }, meta: { status: 'delivered' } },
    });
    expect(await inbound('', { ...PURCHASE, event: 'refund' })).toMatchObject({
      google_ads: { status: 'queued', reason: 'order_pending' },
      ga4: { status: 'accepted' },
      meta: { status: 'skipped', reason: 'correction_not_supported' },
    });
    expect(await googleOf('purchase')).toMatchObject({ status: 'delivered' });
    expect(await googleOf('refund')).toMatchObject({ status: 'delivered' });
  });
});
