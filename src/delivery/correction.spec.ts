import { Orders } from '../../test/support/orders.js';
import type { Outcome } from '../events/delivery.events.js';
import type { Logger } from '../kernel/logger.js';
import type { Settings as ServiceSettings } from '../kernel/settings/settings.js';
import { platform as ga4 } from '../platforms/ga4/index.js';
import { platform as googleAds } from '../platforms/google_ads/index.js';
import { platform as meta } from '../platforms/meta/index.js';
import type { Platform, PlatformRequest, Settings } from '../platforms/platform.js';
import { NO_TRACING } from '../tracing/tracing.js';
import type { AccessTokens } from './connections/access-tokens.js';
import type { Connections, Destination } from './connections/connections.js';
import type { PlatformClient } from './connections/platform-client.js';
import type { DeliveryMetrics } from './delivery-metrics.js';
import { type DeliveryRequest, PlatformDelivery } from './platform-delivery.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const GOOGLE: Settings = { customer_id: '1234567890', refund_event: 'refund', 'event.purchase': '987', mode: 'upload' };
const ACCEPTED = { results: [{ conversionAction: 'customers/1234567890/conversionActions/987' }] };

describe('the delivery of a correction', () => {
  let orders: Orders;
  let sent: PlatformRequest[];
  beforeEach(() => {
    orders = new Orders();
    sent = [];
  });

  const deliver = async (
    id: string,
    settings: Settings = GOOGLE,
    platform: Platform = googleAds,
    request: Partial<DeliveryRequest> = {},
  ): Promise<Outcome> => {
    const connection = { settings, secrets: { developer_token: 'token', api_secret: 'secret', access_token: 'token' } };
    const destination = {
      site: { settings: { withhold: 'identifiers' }, host: 'shop.example' },
      ...{ platform, connection, state: 'active' },
      siteConnection: { state: 'active', settings, position: 1, versions: [{ position: 1, settings }] },
    };
    const deliveries = new PlatformDelivery(
      { find: () => destination as unknown as Destination } as unknown as Connections,
      { get: async () => 'token' } as unknown as AccessTokens,
      {
        request: async (_: Platform, sending: PlatformRequest) => {
          sent.push(sending);
          return { status: 200, headers: {}, text: JSON.stringify(ACCEPTED), json: ACCEPTED };
        },
      } as unknown as PlatformClient,
      { count: () => {} } as unknown as DeliveryMetrics,
      { error: () => {} } as unknown as Logger,
      { nowMs: () => orders.nowMs },
      { deliveryRetryScheduleMs: [30_000], deliveryGiveUpMs: 7 * DAY_MS } as unknown as ServiceSettings,
      NO_TRACING,
      async () => ({ optedOut: new Set(), erased: new Set() }),
    );
    const received = await orders.read(id);
    const first = { received, platform: platform.name, attempt: 1, mayDeliver: () => true };
    return (await deliveries.deliver({ ...first, ...request })) as Outcome;
  };
  const bodies = () => sent.map(({ body }) => JSON.parse(body as string));

  it('waits until the conversion is delivered, and a day longer, because Google refuses it before', async () => {
    const purchase = await orders.receive();
    const refund = await orders.refund(30);
    expect(await deliver(refund)).toMatchObject({ status: 'deferred', reason: 'order_pending', unknown: false });
    orders.nowMs += HOUR_MS;
    await orders.record(purchase, 'delivered');
    const acceptedMs = orders.nowMs;
    const { reason, nextTry } = await deliver(refund, GOOGLE, googleAds, { attempt: 2 });
    expect([reason, nextTry]).toEqual(['order_pending', new Date(acceptedMs + DAY_MS).toISOString()]);
    expect(sent).toEqual([]);
    orders.nowMs = acceptedMs + DAY_MS;
    expect(await deliver(refund, GOOGLE, googleAds, { attempt: 3 })).toMatchObject({ status: 'delivered' });
    expect(sent[0]?.url).toMatch(/customers\/1234567890:uploadConversionAdjustments$/);
    expect(bodies()).toMatchObject([
      { conversionAdjustments: [{ orderId: 'A', restatementValue: { adjustedValue: 70 } }] },
    ]);
  });

  it('has outcomes that statistics do not count, as those of a trial conversion', async () => {
    const platforms = ['meta'];
    const [purchase, trial] = [await orders.receive({ platforms }), await orders.receive({ platforms, trial: true })];
    const settings = { pixel_id: '1', 'event.purchase': 'Purchase' };
    const outcomes = [await deliver(purchase, settings, meta), await deliver(trial, settings, meta)];
    outcomes.push(await deliver(await orders.refund(), settings, meta));
    expect(outcomes.map(({ uncounted }) => uncounted)).toEqual([undefined, true, true]);
  });

  it('gives up when the conversion is not delivered', async () => {
    const purchase = await orders.receive();
    const refund = await orders.refund();
    await deliver(refund);
    await orders.record(purchase, 'failed', { reason: 'gave_up' });
    orders.nowMs += 2 * DAY_MS;
    expect(await deliver(refund, GOOGLE, googleAds, { attempt: 2 })).toMatchObject({
      ...{ status: 'skipped', reason: 'order_not_sent' },
    });
  });

  it('is too old 54 days after the conversion', async () => {
    await orders.record(await orders.receive(), 'delivered');
    orders.nowMs += 54 * DAY_MS - 2 * HOUR_MS;
    const refund = await orders.refund();
    expect(await deliver(refund)).toMatchObject({ status: 'delivered' });
    orders.nowMs += 2 * HOUR_MS;
    expect(await deliver(refund)).toMatchObject({ status: 'skipped', reason: 'too_old' });
    expect(await deliver(refund, GOOGLE, googleAds, { attempt: 2 })).toMatchObject({ reason: 'gave_up' });
  });

  it('sends several refunds of an order one after the other', async () => {
    await orders.record(await orders.receive(), 'delivered');
    orders.nowMs += 2 * DAY_MS;
    const [first, second] = [await orders.refund(30), await orders.refund(30)];
    expect(await deliver(second)).toMatchObject({ reason: 'order_pending' });
    await orders.record(first, (await deliver(first)).status);
    await orders.record(second, (await deliver(second)).status);
    expect(await deliver(first)).toMatchObject({ status: 'skipped', reason: 'superseded' });
    const values = bodies().map(({ conversionAdjustments: [item] }) => item.restatementValue.adjustedValue);
    expect(values).toEqual([70, 40]);
  });

  it('sends the same payload in every attempt, and nothing of a trial', async () => {
    await orders.record(await orders.receive(), 'delivered');
    orders.nowMs += 2 * DAY_MS;
    const refund = await orders.refund(30);
    const first = await deliver(refund);
    await orders.refund(5);
    orders.nowMs += DAY_MS;
    const bound = { attempt: 2, bodySha256: first.bodySha256, unknownSince: new Date(orders.nowMs).toISOString() };
    expect(await deliver(refund, GOOGLE, googleAds, bound)).toMatchObject({ status: 'delivered' });
    await orders.record(await orders.receive({ trial: true }), 'validated');
    sent = [];
    expect(await deliver(await orders.refund(5, { trial: true }))).toMatchObject({ status: 'validated' });
    expect(sent).toEqual([]);
  });

  it('is sent to the Data Manager without a wait, with the remaining value of the same transaction', async () => {
    const settings = { ...GOOGLE, mode: 'data_manager' };
    await orders.record(await orders.receive(), 'confirmed');
    await deliver(await orders.refund(), settings);
    expect(bodies()).toMatchObject([{ events: [{ transactionId: 'A', conversionValue: 0, currency: 'EUR' }] }]);
  });

  it('is sent to Google Analytics with its own amount', async () => {
    const settings = { measurement_id: 'G-1', refund_event: 'refund', synthetic_client_id: 'yes', events: 'purchase' };
    const platforms = ['ga4'];
    await orders.record(await orders.receive({ platforms }), 'accepted', { platform: 'ga4' });
    await deliver(await orders.refund(30, { platforms }), settings, ga4);
    expect(bodies()).toMatchObject([
      { events: [{ name: 'refund', params: { transaction_id: 'A', value: 30, currency: 'EUR' } }] },
    ]);
  });

  it('is skipped by a platform without corrections, unless the connection maps the event', async () => {
    const settings = { pixel_id: '1' };
    const refund = await orders.refund(30, { platforms: ['meta'] });
    expect(await deliver(refund, settings, meta)).toMatchObject({ reason: 'correction_not_supported' });
    expect(sent).toEqual([]);
    await deliver(refund, { ...settings, 'event.refund': 'Refund' }, meta);
    // Two refunds of one order are two events.
    expect(bodies()).toMatchObject([{ data: [{ event_name: 'Refund', event_id: refund }] }]);
  });

  it('is skipped by a connection that does not select it, although another one does', async () => {
    const { refund_event: _, ...settings } = GOOGLE;
    const refund = await orders.refund();
    expect(await deliver(refund, settings)).toMatchObject({ status: 'skipped', reason: 'event_not_selected' });
  });

  it('corrects only what the same connection has sent', async () => {
    const platforms = ['google_ads', 'google_ads:second'] as const;
    const purchase = await orders.receive({ platforms });
    await orders.record(purchase, 'skipped', { reason: 'event_not_selected' });
    await orders.record(purchase, 'delivered', { platform: 'google_ads:second' });
    orders.nowMs += 2 * DAY_MS;
    const refund = await orders.refund(30, { platforms });
    expect(await deliver(refund)).toMatchObject({ status: 'skipped', reason: 'order_not_sent' });
    const named = { platform: 'google_ads:second' } as const;
    expect(await deliver(refund, GOOGLE, googleAds, named)).toMatchObject({ status: 'delivered' });
  });

  it('is skipped after an opt-out', async () => {
    await orders.record(await orders.receive(), 'delivered');
    orders.nowMs += 2 * DAY_MS;
    const refund = await orders.refund(30, { consent: 'denied' });
    expect(await deliver(refund)).toMatchObject({ status: 'skipped', reason: 'consent_denied' });
  });

  it('is retried if its order was not read', async () => {
    const refund = await orders.refund();
    const { order: _, ...received } = await orders.read(refund);
    expect(await deliver(refund, GOOGLE, googleAds, { received })).toMatchObject({ reason: 'server_error' });
    expect(sent).toEqual([]);
  });
});
