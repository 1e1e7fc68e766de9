import { sampleReceived } from '../../delivery/payload/sample-conversion.js';
import { type ReceivedConversion, withOptOut } from '../../delivery/received-conversion.js';
import type { SiteSettings } from '../../events/site.events.js';
import type { StoredEvent } from '../../log/event.js';
import { ShadowDeliveries } from './delivery-outcomes.js';
import { NO_CHANGES, type ShadowRules, SiteTimeline } from './shadow-rules.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const NOW_MS = Date.parse('2026-03-10T12:00:00Z');
const GA4 = { measurement_id: 'G-ABC1234', synthetic_client_id: 'yes' };

const timelineOf = (connections: Record<string, object>, ...changes: readonly object[]) =>
  new SiteTimeline(
    [
      { type: 'site.registered.v1', data: { host: 'shop.example', aliases: [] } },
      ...Object.entries(connections).map(([platform, settings]) => ({
        ...{ type: 'site.platform_connected.v1', data: { platform, settings, secretNames: [] } },
      })),
      ...changes,
    ].map(
      (event, index) =>
        ({
          ...{ position: index + 1, version: index + 1, stream: 'site-1', time: '2026-03-01T00:00:00Z', ...event },
        }) as unknown as StoredEvent,
    ),
  );
const withholding = (withhold: SiteSettings['withhold']) => ({
  ...{ type: 'site.settings_changed.v1', data: { settings: { withhold } } },
});

const received = (platforms: readonly string[], data: object = {}): ReceivedConversion => {
  const { personal, ...sample } = sampleReceived(0);
  const time = new Date(NOW_MS).toISOString();
  return { ...sample, position: 100, time, personal, data: { ...sample.data, platforms, ...data } } as never;
};
const opening = (conversion: ReceivedConversion) =>
  ({ type: 'conversion.received.v1', version: 1, ...conversion }) as unknown as StoredEvent;
const outcome = (position: number, data: { status: string } & Record<string, unknown>, time = NOW_MS) =>
  ({
    ...{ type: `conversion.${data.status}.v1`, position, version: position - 99, time: new Date(time).toISOString() },
    data: { attempt: position - 100, ...data },
  }) as unknown as StoredEvent;

describe('the deliveries of a shadow replay', () => {
  const compare = (
    timeline: SiteTimeline,
    conversion: ReceivedConversion,
    outcomes: readonly StoredEvent[],
    rules: Partial<ShadowRules> = {},
  ) => {
    const shadow = new ShadowDeliveries(timeline, { ...NO_CHANGES, ...rules }, { giveUpMs: 3 * DAY_MS });
    const deliveries = shadow.compare(conversion, [opening(conversion), ...outcomes]);
    return Object.fromEntries(
      [...deliveries].map(([name, { was, would }]) => [name, `${was?.status} → ${would?.status}`]),
    );
  };

  it.each<[SiteSettings['withhold'], string, string]>([
    ['identifiers', 'sent → sent', 'sent → sent'],
    ['personal', 'skipped: consent_denied → skipped: consent_denied', 'sent → sent'],
    [
      ...(['everything', 'skipped: consent_denied → skipped: consent_denied'] as const),
      'skipped: consent_denied → skipped: consent_denied',
    ],
  ])('follow what the site withheld without consent: %s', (withhold, meta, webhook) => {
    const timeline = timelineOf({ meta: {}, webhook: {} }, withholding(withhold));
    expect(compare(timeline, withOptOut(received(['meta', 'webhook'])), [])).toEqual({ meta, webhook });
  });

  it('follow what the site would withhold', () => {
    const timeline = timelineOf({ meta: {}, webhook: {} });
    const rules = { site: { withhold: 'personal' as const } };
    expect(compare(timeline, withOptOut(received(['meta', 'webhook'])), [], rules)).toEqual({
      ...{ meta: 'sent → skipped: consent_denied', webhook: 'sent → sent' },
    });
  });

  it('are too old where they were, and not as of today', () => {
    const timeline = timelineOf({ ga4: GA4 });
    const occurred = (days: number) =>
      received(['ga4'], { occurredAt: new Date(NOW_MS - days * DAY_MS).toISOString() });
    const tooOld = outcome(101, { platform: 'ga4', status: 'skipped', reason: 'too_old' });
    expect(compare(timeline, occurred(6), [tooOld])).toEqual({ ga4: 'skipped: too_old → skipped: too_old' });
    const sent = outcome(101, { platform: 'ga4', status: 'accepted' });
    expect(compare(timeline, occurred(1), [sent])).toEqual({ ga4: 'sent → sent' });
    // The first attempt was made two days later.
    const later = outcome(101, { platform: 'ga4', status: 'skipped', reason: 'too_old' }, NOW_MS + 2 * DAY_MS);
    expect(compare(timeline, occurred(1.5), [later])).toEqual({ ga4: 'skipped: too_old → skipped: too_old' });
  });

  it('end where the connection had been removed before the attempt', () => {
    const disconnected = { type: 'site.platform_disconnected.v1', position: 150, data: { platform: 'meta' } };
    const timeline = timelineOf({ meta: {} }, disconnected);
    const failed = outcome(160, { platform: 'meta', status: 'failed', reason: 'disconnected' }, NOW_MS + DAY_MS);
    expect(compare(timeline, received(['meta']), [failed])).toEqual({
      ...{ meta: 'failed: disconnected → failed: disconnected' },
    });
  });

  it('are those of a person who opted out later', () => {
    const timeline = timelineOf({ meta: {} }, withholding('everything'));
    const denied = outcome(101, { platform: 'meta', status: 'skipped', reason: 'consent_denied' });
    expect(compare(timeline, received(['meta']), [denied])).toEqual({
      ...{ meta: 'skipped: consent_denied → skipped: consent_denied' },
    });
    const rules = { site: { withhold: 'identifiers' as const } };
    expect(compare(timeline, received(['meta']), [denied], rules)).toEqual({ meta: 'skipped: consent_denied → sent' });
  });

  it('are also those of connections that were made after the conversion', () => {
    const timeline = timelineOf({ meta: {} });
    const requested = {
      ...{ type: 'conversion.send_requested.v1', position: 101, version: 2, time: new Date(NOW_MS).toISOString() },
      data: { platform: 'meta', attempt: 0, siteVersion: 2 },
    } as unknown as StoredEvent;
    const delivered = outcome(102, { platform: 'meta', status: 'delivered' });
    expect(compare(timeline, received([]), [requested, delivered])).toEqual({ meta: 'sent → sent' });
  });

  it('end with the first attempt that the rules skip', () => {
    const timeline = timelineOf({ meta: {} });
    const deferred = outcome(101, { platform: 'meta', status: 'deferred', reason: 'throttled', bodySha256: 'x' });
    const gaveUp = outcome(102, { platform: 'meta', status: 'failed', reason: 'gave_up' }, NOW_MS + 9 * DAY_MS);
    expect(compare(timeline, received(['meta']), [deferred, gaveUp])).toEqual({ meta: 'sent → sent' });
    const rules = { settings: { meta: { events: 'lead' } } };
    expect(compare(timeline, received(['meta']), [deferred, gaveUp], rules)).toEqual({
      ...{ meta: 'sent → skipped: event_not_selected' },
    });
  });

  it('leave out what the platform refused, and keep the event id that an operator forced', () => {
    const timeline = timelineOf({ meta: {} });
    const conversion = received(['meta']);
    const requested = {
      ...{ type: 'conversion.send_requested.v1', position: 101, version: 2, time: new Date(NOW_MS).toISOString() },
      data: { platform: 'meta', attempt: 1, eventId: 'ORD-1-r2' },
    } as unknown as StoredEvent;
    const delivered = (terms: object) => outcome(102, { platform: 'meta', status: 'delivered', ...terms });
    const shadow = new ShadowDeliveries(timeline, NO_CHANGES, { giveUpMs: 3 * DAY_MS });
    const digests = [[delivered({})], [delivered({ without: ['address'] })], [requested]].map(
      (events) => shadow.compare(conversion, [opening(conversion), ...events]).get('meta')?.would?.bodySha256,
    );
    expect(digests[0]).toBeDefined();
    expect(new Set(digests).size).toBe(3);
  });
});
