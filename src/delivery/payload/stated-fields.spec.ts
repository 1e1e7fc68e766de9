import { PLATFORM_CASES } from '../../../test/support/platform-cases.js';
import type { ConversionPersonal } from '../../events/conversion.events.js';
import { PAYLOAD_VERSION } from '../../platforms/payload-version.js';
import { type ReceivedConversion, withOptOut } from '../received-conversion.js';
import { buildPayload } from './payload.js';

const LEAD_ID = '1234567890123456';
const PERSONAL: ConversionPersonal = {
  ...{ subject: 'a'.repeat(64), pageUrl: 'https://shop.example/thanks', referrer: 'https://shop.example/cart' },
  ...{ ipAddress: '203.0.113.10', userAgent: 'UA', utm: { source: 'newsletter', campaign: 'spring' } },
  cookies: { _ga: '123456.7654321', _scid: 'scid-1', _ttp: 'ttp-1' },
  externalId: 'Customer-42',
};

/** A purchase of a shop without the tag. */
function purchase(data: object = {}, personal: object = {}): ReceivedConversion {
  return {
    ...{ site: 'shop.example', position: 1, time: '2026-03-01T10:15:31.000Z' },
    data: {
      ...{ conversionId: '019535d0-6b10-7000-8000-000000001001', event: 'purchase', value: 5, currency: 'EUR' },
      ...{ orderId: 'ORD-1', keyId: 'k', trial: false, payloadVersion: PAYLOAD_VERSION, ...data },
    },
    personal: { ...PERSONAL, ...personal },
  } as ReceivedConversion;
}

function bodyFor(name: string, received: ReceivedConversion, settings = {}) {
  const found = PLATFORM_CASES.find((candidate) => candidate.name === name);
  const { platform, connection } = found as NonNullable<typeof found>;
  const payload = buildPayload(received, platform, { ...connection.settings, ...settings }, {});
  return 'skip' in payload ? payload : JSON.parse(payload.body);
}

describe('what a sender without the tag states', () => {
  it('makes a purchase one of the website', () => {
    const page = { event_source_url: 'https://shop.example/thanks' };
    expect(bodyFor('meta', purchase())).toMatchObject({ action_source: 'website', ...page });
    expect(bodyFor('snapchat', purchase())).toMatchObject({
      ...{ action_source: 'WEB', ...page, user_data: { sc_cookie1: 'scid-1' } },
    });
    expect(bodyFor('pinterest', purchase())).toMatchObject({ action_source: 'web', ...page });
    expect(bodyFor('reddit', purchase())).toMatchObject({ action_source: 'WEBSITE', ...page });
    expect(bodyFor('google_ads', purchase())).toMatchObject({ eventSource: 'WEB' });
    expect(bodyFor('tiktok', purchase())).toMatchObject({
      ...{ page: { url: 'https://shop.example/thanks' }, user: { ttp: 'ttp-1' } },
    });
    expect(bodyFor('ga4 with cookies only', purchase())).toMatchObject({ client_id: '123456.7654321' });
    expect(bodyFor('segment', purchase()).context).toMatchObject({
      page: { url: 'https://shop.example/thanks', referrer: 'https://shop.example/cart' },
      campaign: { source: 'newsletter', name: 'spring' },
    });
    expect(bodyFor('webhook', purchase()).data).toMatchObject({ utm: { source: 'newsletter', campaign: 'spring' } });
  });

  it('leaves the UTM fields of a matched visit as they are', () => {
    const visit = { visitorId: 'v', clicks: {}, cookies: {}, utm: { source: 'google' } };
    expect(bodyFor('segment', purchase({}, { visit })).context.campaign).toEqual({ source: 'google' });
  });

  it('is sent to no platform after an opt-out', () => {
    for (const { name } of PLATFORM_CASES) {
      const sent = JSON.stringify(bodyFor(name, withOptOut(purchase({}, { clickIds: { lead_id: LEAD_ID } }))));
      expect([name, sent]).toEqual([
        ...[
          name,
          expect.not.stringMatching(/thanks|cart|203\.0\.113|"UA"|newsletter|7654321|scid-1|ttp-1|12345678901/),
        ],
      ]);
    }
  });

  it.each(PLATFORM_CASES.map(({ name }) => name))(
    '%s gets custom values only where the connection maps them',
    (name) => {
      const custom = { margin: 'margin-42' };
      const received = purchase({ items: [{ id: 'SKU-1' }] }, { custom });
      expect(JSON.stringify(bodyFor(name, received)).includes('margin-42')).toBe(name === 'webhook');
      const mapped = JSON.stringify(bodyFor(name, received, { 'field.content_name': 'custom.margin' }));
      const never = ['google_ads with upload', 'google_ads with click ids only', 'microsoft_ads offline'];
      const hasFields = !/^(linkedin|x|quora)\b/.test(name) && !never.includes(name);
      expect([name, mapped.includes('margin-42')]).toEqual([name, hasFields]);
    },
  );
});

describe.each(PLATFORM_CASES)('the event id at $name', ({ name, platform }) => {
  it('is that of the pixel where the platform deduplicates, otherwise that of the order', () => {
    const sent = (data: object) => JSON.stringify(bodyFor(name, purchase(data, { clickIds: { gclid: 'G' } })));
    // They are sent other ids, which may be derived from it.
    if (['microsoft_ads offline', 'segment', 'hubspot'].includes(name))
      return expect(sent({ eventId: 'px-42' })).not.toContain('px-42');
    expect(sent({ eventId: 'px-42' }).includes('px-42')).toBe(platform.deduplicatesPixel === true);
    expect(sent({})).toContain('ORD-1');
    expect(sent({ orderId: undefined })).toContain('019535d0-6b10-7000-8000-000000001001');
    if (platform.deduplicatesPixel) expect(sent({ orderId: undefined, eventId: 'px-42' })).toContain('px-42');
  });
});
