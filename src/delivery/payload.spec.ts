import { hash } from 'node:crypto';
import type { Conversion } from '../platforms/conversion.js';
import { PLATFORMS } from '../platforms/index.js';
import type { Platform, Settings } from '../platforms/platform.js';
import { buildPayload } from './payload.js';
import type { ReceivedConversion } from './received-conversion.js';

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
    const payload = buildPayload(RECEIVED, echo, { pixel_id: '1' }, undefined);
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
    expect(payload).toMatchObject({ bodySha256: hash('sha256', payload.body), group: 'g' });
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
    const payload = buildPayload(received, echo, {}, undefined);
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

  it('sends a stated click id in place of the stored ones of the platform', () => {
    const google = PLATFORMS.find(({ name }) => name === 'google_ads') as Platform;
    const personal = { ...RECEIVED.personal, subject: 's', clickIds: { gbraid: 'B1' } };
    const payload = buildPayload({ ...RECEIVED, personal }, google, { 'event.purchase': '1' }, undefined);
    expect(JSON.parse('body' in payload ? payload.body : '{}').adIdentifiers).toEqual({ gbraid: 'B1' });
  });

  it('passes a time ahead of the receipt as the time of receipt', () => {
    const data = { ...RECEIVED.data, occurredAt: '2026-03-01T10:20:00.000Z' };
    const payload = buildPayload({ ...RECEIVED, data }, echo, {}, undefined);
    if ('skip' in payload) throw new Error(payload.skip);
    expect(JSON.parse(payload.body).conversion.timeMs).toBe(Date.parse(RECEIVED.time));
  });

  it.each([
    ['order id', {}, undefined, 'ORD-1'],
    ['conversion id if there is no order id', { orderId: undefined }, undefined, RECEIVED.data.conversionId],
    ['id of a forced delivery', {}, 'ORD-1-r2', 'ORD-1-r2'],
  ])('sends as event id the %s', (_, data, eventId, expected) => {
    const payload = buildPayload({ ...RECEIVED, data: { ...RECEIVED.data, ...data } }, echo, {}, eventId);
    if ('skip' in payload) throw new Error(payload.skip);
    expect(JSON.parse(payload.body).conversion.eventId).toBe(expected);
  });

  it.each(PLATFORMS.map((platform) => [platform.name, platform] as const))(
    'builds the same bytes for %s from memory and from the log',
    (_, platform) => {
      const settings = { 'event.purchase': 'p111', pixel_id: '1', synthetic_client_id: 'yes' };
      const first = buildPayload(RECEIVED, platform, settings, undefined);
      const fromLog: ReceivedConversion = JSON.parse(JSON.stringify(RECEIVED));
      expect(buildPayload(fromLog, platform, { ...settings }, undefined)).toEqual(first);
      expect(first).toHaveProperty('bodySha256');
    },
  );

  it('skips an event that the connection does not select', () => {
    expect(buildPayload(RECEIVED, echo, { events: 'lead,signup' }, undefined)).toEqual({ skip: 'event_not_selected' });
  });

  it('refuses an erased conversion', () => {
    expect(() => buildPayload({ ...RECEIVED, personal: null }, echo, {}, undefined)).toThrow('erased');
  });
});
