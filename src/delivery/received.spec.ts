import { hash } from 'node:crypto';
import type { Conversion } from '../platforms/conversion.js';
import { PLATFORMS } from '../platforms/index.js';
import type { Platform, Settings } from '../platforms/platform.js';
import { type ReceivedConversion, spell } from './received.js';

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

/** Shows what it was given. */
const mirror = {
  payload: (conversion: Conversion, settings: Settings) => ({ item: { conversion, settings }, group: 'g' }),
} as unknown as Platform;

describe('spelling a conversion', () => {
  it('tells the platform all that is known of it, and when it came in', () => {
    const spelled = spell(RECEIVED, mirror, { pixel_id: '1' }, undefined);
    if ('skip' in spelled) throw new Error(spelled.skip);
    const { conversion, settings } = JSON.parse(spelled.body);
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
    expect(spelled).toMatchObject({ bodySha256: hash('sha256', spelled.body), group: 'g' });
  });

  it.each([
    ['the order', {}, undefined, 'ORD-1'],
    ['the conversion, where there is no order', { orderId: undefined }, undefined, RECEIVED.data.conversionId],
    ['what an operator gave it', {}, 'ORD-1-r2', 'ORD-1-r2'],
  ])('is known by %s', (_, data, eventId, expected) => {
    const spelled = spell({ ...RECEIVED, data: { ...RECEIVED.data, ...data } }, mirror, {}, eventId);
    if ('skip' in spelled) throw new Error(spelled.skip);
    expect(JSON.parse(spelled.body).conversion.eventId).toBe(expected);
  });

  it.each(PLATFORMS.map((platform) => [platform.name, platform] as const))(
    'gives %s the same bytes from memory and from the log, now and later',
    (_, platform) => {
      const settings = { 'event.purchase': 'p111', pixel_id: '1', synthetic_client_id: 'yes' };
      const first = spell(RECEIVED, platform, settings, undefined);
      const fromLog: ReceivedConversion = JSON.parse(JSON.stringify(RECEIVED));
      expect(spell(fromLog, platform, { ...settings }, undefined)).toEqual(first);
      expect(first).toHaveProperty('bodySha256');
    },
  );

  it('skips what the connection does not want', () => {
    expect(spell(RECEIVED, mirror, { events: 'lead,signup' }, undefined)).toEqual({ skip: 'event_not_selected' });
  });

  it('cannot spell what was erased', () => {
    expect(() => spell({ ...RECEIVED, personal: null }, mirror, {}, undefined)).toThrow('erased');
  });
});
