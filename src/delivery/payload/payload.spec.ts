import { hash } from 'node:crypto';
import type { ConversionData, ConversionPersonal } from '../../events/conversion.events.js';
import type { Conversion } from '../../platforms/conversion.js';
import { PLATFORMS } from '../../platforms/index.js';
import type { Platform, Settings } from '../../platforms/platform.js';
import { eventIdOf, type ReceivedConversion, withOptOut } from '../received-conversion.js';
import { buildPayload, type DeliveryPayload } from './payload.js';

const RECEIVED: ReceivedConversion = {
  site: 'shop.example',
  position: 7,
  time: '2026-03-01T10:15:30.123Z',
  data: {
    conversionId: '019535d0-6b10-7000-8000-000000001001',
    event: 'purchase',
    value: 129.9,
    currency: 'EUR',
    orderId: 'ORD-1',
    keyId: '019535d0-6b10-7000-8000-000000002001',
    trial: false,
    platforms: ['meta'],
    settings: 3,
    instance: 'i1',
  },
  personal: {
    subject: hash('sha256', 'jane@example.com'),
    firstNameBare: hash('sha256', 'jane'),
    visit: { pageUrl: 'https://shop.example/', clicks: { gclid: { id: 'G1', timeMs: 5 } }, cookies: {}, utm: {} },
  },
};

/** Its payload contains the arguments. */
const echo = {
  account: ['pixel_id'],
  payload: (conversion: Conversion, settings: Settings) => ({ item: { conversion, settings }, group: 'g' }),
} as unknown as Platform;

describe('buildPayload', () => {
  it('passes all data of the conversion and its time of receipt to the platform', () => {
    const payload = buildPayload(RECEIVED, echo, { pixel_id: '1' }, {});
    if ('skip' in payload) throw new Error(payload.skip);
    const { conversion, settings } = JSON.parse(payload.body);
    expect(settings).toEqual({ pixel_id: '1' });
    expect(conversion).toMatchObject({
      id: RECEIVED.data.conversionId,
      eventId: 'ORD-1',
      timeMs: Date.parse(RECEIVED.time),
      consent: 'unknown',
      hashes: { subject: RECEIVED.personal?.subject, firstNameBare: hash('sha256', 'jane') },
      visit: { pageUrl: 'https://shop.example/' },
    });
    expect(conversion.hashes.visit).toBeUndefined();
    expect(payload.group).toBe('g');
  });

  it('has a digest that tells whose payload it is only with the key in the personal part', () => {
    const payloadWith = (payloadKey?: string) => {
      const personal = { ...(RECEIVED.personal as ConversionPersonal), payloadKey };
      const payload = buildPayload({ ...RECEIVED, personal }, echo, {}, {}) as DeliveryPayload;
      return { ...payload, plain: hash('sha256', payload.body) };
    };
    const [one, other, earlier] = [payloadWith('k1'), payloadWith('k2'), payloadWith()];
    expect([other.body, earlier.body]).toEqual([one.body, one.body]);
    expect(one.bodySha256).toMatch(/^[\w-]{43}$/);
    expect(one.bodySha256).not.toBe(other.bodySha256);
    expect(payloadWith('k1').bodySha256).toBe(one.bodySha256);
    // This conversion was received by an earlier version.
    expect(earlier.bodySha256).toBe(earlier.plain);
  });

  it('passes the optional fields of the sender to the platform', () => {
    const occurredAt = '2026-02-27T08:00:00.000Z';
    const items = [{ id: 'SKU-1', quantity: 2, price: 5 }];
    const address = { city: 'Berlin', country: 'DE' };
    const received: ReceivedConversion = {
      ...RECEIVED,
      data: { ...RECEIVED.data, occurredAt, items, source: 'phone_call' },
      personal: { subject: 's', externalId: 'C-1', address, clickIds: { ttclid: 'T1' }, ipAddress: '203.0.113.10' },
    };
    const payload = buildPayload(received, echo, {}, {});
    if ('skip' in payload) throw new Error(payload.skip);
    expect(JSON.parse(payload.body).conversion).toMatchObject({
      timeMs: Date.parse(occurredAt),
      source: 'phone_call',
      items,
      externalId: 'C-1',
      address,
      hashes: { subject: 's' },
      visit: { ip: '203.0.113.10', clicks: { ttclid: { id: 'T1', timeMs: Date.parse(occurredAt) } } },
    });
    expect(JSON.parse(payload.body).conversion.hashes).toEqual({ subject: 's' });
  });

  it('passes what else the sender stated, with none of it among the hashes', () => {
    const sentConsent = { ad_user_data: 'granted' } as const;
    const stated = {
      custom: { profit: 3 },
      clickIds: { lead_id: '123456789012345' },
      pageUrl: 'https://shop.example/thanks',
      referrer: 'https://www.google.com/',
      cookies: { _ga: '1.2' },
      utm: { source: 'news' },
    };
    const personal = { subject: 's', city: 'c', ...stated };
    const received: ReceivedConversion = { ...RECEIVED, data: { ...RECEIVED.data, sentConsent }, personal };
    const payload = buildPayload(received, echo, {}, {});
    const { conversion } = JSON.parse('body' in payload ? payload.body : '{}');
    const { pageUrl, referrer, cookies, utm, ...others } = stated;
    expect(conversion).toMatchObject({ ...others, sentConsent, visit: { pageUrl, referrer, cookies, utm } });
    expect(conversion.hashes).toEqual({ subject: 's', city: 'c' });
    const denied = buildPayload(withOptOut(received), echo, {}, {});
    const left = JSON.parse('body' in denied ? denied.body : '{}').conversion;
    expect([left.visit, left.clickIds]).toEqual([undefined, undefined]);
    const { visit, clickIds } = JSON.parse(
      (buildPayload(received, echo, { default_consent: 'denied' }, {}) as DeliveryPayload).body,
    ).conversion;
    expect([visit, clickIds]).toEqual([undefined, undefined]);
  });

  it.each([
    [
      'the event id of the sender, where the pixel is deduplicated',
      { deduplicatesPixel: true },
      { eventId: 'evt' },
      'evt',
    ],
    ['the order, where no pixel is deduplicated', {}, { eventId: 'evt' }, 'O'],
    ['the order, without an event id', { deduplicatesPixel: true }, {}, 'O'],
    ['the conversion, without either', { deduplicatesPixel: true }, { orderId: undefined }, 'conversion'],
    ['a correction by its own id', { deduplicatesPixel: true }, { eventId: 'evt', correction: true }, 'conversion'],
  ] as const)('identifies %s', (_, platform, over, expected) => {
    const data = { ...RECEIVED.data, orderId: 'O', ...over };
    const ids: Record<string, string> = { conversion: data.conversionId };
    expect(eventIdOf(data as ConversionData, platform)).toBe(ids[expected] ?? expected);
  });

  it('gives platforms of one conversion different event ids', () => {
    const received = { ...RECEIVED, data: { ...RECEIVED.data, orderId: 'O', eventId: 'evt' } };
    const idAt = (deduplicatesPixel: true | undefined) => {
      const payload = buildPayload(received, { ...echo, ...(deduplicatesPixel && { deduplicatesPixel }) }, {}, {});
      return JSON.parse('body' in payload ? payload.body : '{}').conversion.eventId;
    };
    expect([idAt(undefined), idAt(true), idAt(undefined)]).toEqual(['O', 'evt', 'O']);
  });

  it('sends a stated click id in place of the stored ones of the platform', () => {
    const google = PLATFORMS.find(({ name }) => name === 'google_ads') as Platform;
    const personal = { ...RECEIVED.personal, subject: 's', clickIds: { gbraid: 'B1' } };
    const payload = buildPayload({ ...RECEIVED, personal }, google, { 'event.purchase': '1' }, {});
    expect(JSON.parse('body' in payload ? payload.body : '{}').adIdentifiers).toEqual({ gbraid: 'B1' });
  });

  it('passes a time ahead of the receipt as the time of receipt', () => {
    const data = { ...RECEIVED.data, occurredAt: '2026-03-01T10:20:00.000Z' };
    const payload = buildPayload({ ...RECEIVED, data }, echo, {}, {});
    if ('skip' in payload) throw new Error(payload.skip);
    expect(JSON.parse(payload.body).conversion.timeMs).toBe(Date.parse(RECEIVED.time));
  });

  it.each([
    ['order id', {}, undefined, 'ORD-1'],
    ['conversion id if there is no order id', { orderId: undefined }, undefined, RECEIVED.data.conversionId],
    ['id of a forced delivery', {}, 'ORD-1-r2', 'ORD-1-r2'],
  ])('sends as event id the %s', (_, data, eventId, expected) => {
    const payload = buildPayload({ ...RECEIVED, data: { ...RECEIVED.data, ...data } }, echo, {}, { eventId });
    if ('skip' in payload) throw new Error(payload.skip);
    expect(JSON.parse(payload.body).conversion.eventId).toBe(expected);
  });

  it.each([
    ['1 if the receipt has none', undefined, undefined, 1],
    ['that of the receipt', 2, undefined, 2],
    ['the one that an operator requested', 1, 2, 2],
  ])('builds as version %s', (_, payloadVersion, requested, expected) => {
    const received = { ...RECEIVED, data: { ...RECEIVED.data, payloadVersion } };
    const payload = buildPayload(received, echo, {}, { payloadVersion: requested });
    if ('skip' in payload) throw new Error(payload.skip);
    expect(JSON.parse(payload.body).conversion.payloadVersion).toBe(expected);
  });

  it.each(PLATFORMS.map((platform) => [platform.name, platform] as const))(
    'builds the same bytes for %s from memory and from the log',
    (_, platform) => {
      const settings = { 'event.purchase': 'p111', pixel_id: '1', synthetic_client_id: 'yes' };
      const first = buildPayload(RECEIVED, platform, settings, {});
      const fromLog: ReceivedConversion = JSON.parse(JSON.stringify(RECEIVED));
      expect(buildPayload(fromLog, platform, { ...settings }, {})).toEqual(first);
      expect(first).toHaveProperty('bodySha256');
    },
  );

  it.each<[string, object, string, string]>([
    ['grants where nothing is known', {}, 'granted', 'granted'],
    ['denies where nothing is known', {}, 'denied', 'denied'],
    ['does not replace a denial', { consent: 'denied' }, 'granted', 'denied'],
    ['does not replace consent', { consent: 'granted' }, 'denied', 'granted'],
    ['grants nothing that is withheld', { withheld: 'consent_missing' }, 'granted', 'unknown'],
    ['denies what is withheld', { withheld: 'consent_unreadable' }, 'denied', 'denied'],
  ])('with a default consent %s', (_, data, consent, expected) => {
    const received = { ...RECEIVED, data: { ...RECEIVED.data, ...data } };
    const payload = buildPayload(received, echo, { default_consent: consent }, {});
    if ('skip' in payload) throw new Error(payload.skip);
    const { conversion } = JSON.parse(payload.body);
    expect(conversion.consent).toBe(expected);
    // Withheld visits are not in the event.
    expect('visit' in conversion).toBe(expected !== 'denied' || 'consent' in data);
  });

  it('skips an event that the connection does not select', () => {
    expect(buildPayload(RECEIVED, echo, { events: 'lead,signup' }, {})).toEqual({ skip: 'event_not_selected' });
  });

  it('refuses an erased conversion', () => {
    expect(() => buildPayload({ ...RECEIVED, personal: null }, echo, {}, {})).toThrow('erased');
  });
});
