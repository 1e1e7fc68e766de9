import type { Outcome } from '../events/delivery.events.js';
import type { Logger } from '../kernel/logger.js';
import type { Settings } from '../kernel/settings.js';
import type { Platform, PlatformResponse, Verdict } from '../platforms/platform.js';
import type { AccessTokens } from './access-tokens.js';
import type { Connections, Destination } from './connections.js';
import type { DeliveryMetrics } from './delivery-metrics.js';
import type { PlatformClient } from './platform-client.js';
import { type DeliveryRequest, PlatformDelivery } from './platform-delivery.js';
import type { ReceivedConversion } from './received-conversion.js';

const HOUR_MS = 3_600_000;

describe('PlatformDelivery', () => {
  let verdict: Verdict;
  let sent: string[];
  let errors: string[];
  let payload: Platform['payload'];
  let destination: Destination | undefined;
  let deliveries: PlatformDelivery;

  beforeEach(() => {
    verdict = { kind: 'delivered', requestId: 'r1' };
    sent = [];
    errors = [];
    payload = (_, settings) => ({ item: { pixel: settings['pixel_id'] } });
    const platform = {
      name: 'meta',
      batchMax: 10,
      dedupWindowMs: 48 * HOUR_MS,
      payload: (...args: Parameters<Platform['payload']>) => payload(...args),
      request: (items: readonly string[]) => {
        sent.push(...items);
        return { method: 'POST', url: 'https://platform.example', headers: {} };
      },
      verdict: () => verdict,
    } as unknown as Platform;
    const versions = [
      { position: 1, settings: { pixel_id: 'first' } },
      { position: 8, settings: { pixel_id: 'second' } },
    ];
    destination = {
      site: { settings: { withhold: 'identifiers' }, host: 'shop.example' },
      platform,
      siteConnection: { state: 'active', settings: {}, versions },
      connection: { settings: {}, secrets: {} },
      state: 'active',
    } as unknown as Destination;
    deliveries = new PlatformDelivery(
      { find: () => destination } as unknown as Connections,
      { get: async () => undefined } as unknown as AccessTokens,
      {
        request: async () => ({ status: 200, headers: {}, text: '', json: {} }) satisfies PlatformResponse,
      } as unknown as PlatformClient,
      { count: () => {} } as unknown as DeliveryMetrics,
      { error: (_: string, { error }: { error: string }) => errors.push(error) } as unknown as Logger,
      {
        deliveryRetryScheduleMs: [30_000],
        deliveryGiveUpMs: 168 * HOUR_MS,
        confirmationPollMs: 1_800_000,
      } as unknown as Settings,
    );
  });

  const deliver = (request: Partial<DeliveryRequest> = {}, received: object = {}, data: object = {}) =>
    new Promise<Outcome | undefined>((resolve) =>
      deliveries.deliver(
        {
          received: {
            ...{ site: 'shop.example', position: 5, time: new Date().toISOString(), personal: { subject: 's' } },
            data: { conversionId: 'c1', event: 'purchase', currency: 'EUR', trial: false, settings: 5, ...data },
            ...received,
          } as unknown as ReceivedConversion,
          platform: 'meta',
          attempt: 1,
          mayDeliver: () => true,
          ...request,
        },
        resolve,
      ),
    );
  const hoursAgo = (hours: number) => ({ time: new Date(Date.now() - hours * HOUR_MS).toISOString() });

  it('builds the payload with the settings as of the conversion, or as of the operator’s request', async () => {
    const outcome = await deliver();
    expect(outcome).toMatchObject({ conversionId: 'c1', platform: 'meta', attempt: 1, status: 'delivered' });
    await deliver({ settingsPosition: 9, eventId: 'e2' });
    expect(sent).toEqual(['{"pixel":"first"}', '{"pixel":"second"}']);
  });

  it.each<[string, object, object, Partial<DeliveryRequest>, object]>([
    ['of an erased person', { personal: null }, {}, {}, { status: 'failed', reason: 'erased' }],
    ['that is too old', hoursAgo(48), {}, {}, { status: 'skipped', reason: 'too_old' }],
    ['that was retried for too long', hoursAgo(47.1), {}, { attempt: 2 }, { status: 'failed', reason: 'gave_up' }],
    ['whose payload has changed', {}, {}, { bodySha256: 'x' }, { status: 'failed', reason: 'body_changed' }],
    ['of a trial key', {}, { trial: true }, {}, { status: 'validated', bodySha256: expect.any(String) }],
  ])('does not send a conversion %s', async (_, received, data, request, outcome) => {
    expect(await deliver(request, received, data)).toMatchObject(outcome);
    expect(sent).toEqual([]);
  });

  it('does not send to a disconnected platform, nor against an opt-out that the site honours', async () => {
    Object.assign(destination?.site.settings as object, { withhold: 'everything' });
    expect(await deliver({}, {}, { consent: 'denied', withheld: 'opted_out' })).toMatchObject({
      status: 'skipped',
      reason: 'consent_denied',
    });
    destination = undefined;
    expect(await deliver()).toMatchObject({ status: 'failed', reason: 'disconnected' });
    expect(sent).toEqual([]);
  });

  it('defers a conversion whose payload cannot be built because of a bug', async () => {
    payload = () => {
      throw new TypeError('cannot read x of undefined');
    };
    const outcome = await deliver({ attempt: 2, bodySha256: 'b' });
    expect(outcome).toMatchObject({ status: 'deferred', reason: 'server_error', bodySha256: 'b' });
    expect(Date.parse(outcome?.nextTry as string)).toBeGreaterThan(Date.now());
    expect(errors).toEqual(['cannot read x of undefined']);
  });

  it('reports the time of the next attempt, which stays alone if this one was', async () => {
    verdict = { kind: 'retry', reason: 'server_error', afterMs: HOUR_MS };
    const outcome = await deliver({ alone: true });
    expect(outcome).toMatchObject({ status: 'deferred', reason: 'server_error', alone: true });
    expect(Math.abs(Date.parse(outcome?.nextTry as string) - Date.now() - HOUR_MS)).toBeLessThan(1_000);
    verdict = { kind: 'retry', reason: 'server_error' };
    const late = await deliver({ attempt: 2 }, hoursAgo(46.9995));
    expect(late).toMatchObject({ status: 'failed', reason: 'gave_up' });
  });

  it('reports no outcome for a conversion it may not deliver', async () => {
    expect(await deliver({ mayDeliver: () => false })).toBeUndefined();
  });
});
