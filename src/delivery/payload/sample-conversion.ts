import { hash } from 'node:crypto';
import { IMPORT_KEY_ID } from '../../events/conversion.events.js';
import { uuidv7 } from '../../kernel/uuid.js';
import { FIRST_CLICK_KINDS } from '../../platforms/click-ids.js';
import { CONSENT_FIELDS } from '../../platforms/conversion.js';
import { PAYLOAD_VERSION } from '../../platforms/payload-version.js';
import type { ReceivedConversion } from '../received-conversion.js';

const CLICK_AGE_MS = 60 * 60 * 1_000;

/** A purchase by a fictitious person with a visit, an order and all optional fields: what platforms can get at most. */
export function sampleReceived(nowMs: number): ReceivedConversion {
  const conversionId = uuidv7();
  const time = new Date(nowMs).toISOString();
  const digest = (text: string) => hash('sha256', text);
  const clicks = FIRST_CLICK_KINDS.map((kind) => [kind, { id: `sample-${kind}`, timeMs: nowMs - CLICK_AGE_MS }]);
  const granted = Object.fromEntries(CONSENT_FIELDS.map((field) => [field, 'granted' as const]));
  return {
    position: 0,
    site: 'shop.example',
    time,
    data: {
      conversionId,
      event: 'purchase',
      value: 129.9,
      currency: 'EUR',
      orderId: 'ORD-1',
      source: 'website',
      items: [{ id: 'SKU-1', name: 'Sample', quantity: 1, price: 129.9, category: 'Samples' }],
      keyId: IMPORT_KEY_ID,
      trial: false,
      matched: true,
      consent: 'granted',
      personalization: 'granted',
      sentConsent: { ...granted },
      payloadVersion: PAYLOAD_VERSION,
    },
    personal: {
      subject: digest('jane@example.com'),
      firstName: digest('jane'),
      lastName: digest('doe'),
      phone: digest('+15555550100'),
      phoneDigits: digest('15555550100'),
      externalId: 'customer-1',
      custom: { profit: 30, tax: 20.74, shipping: 4.9, coupon: 'SPRING', brand: 'Acme', customer_type: 'new' },
      address: { city: 'Berlin', region: 'BE', postalCode: '10115', country: 'DE' },
      visit: {
        pageUrl: 'https://shop.example/thanks',
        referrer: 'https://shop.example/checkout',
        ip: '192.0.2.1',
        userAgent: 'Mozilla/5.0 (sample)',
        visitorId: '01980000-0000-7000-8000-000000000000',
        clicks: Object.fromEntries(clicks),
        cookies: {
          _fbp: `fb.1.${nowMs}.1`,
          _ga: '1111111111.2222222222',
          _ga_session: String(Math.floor((nowMs - CLICK_AGE_MS) / 1_000)),
          _ttp: 'sample-ttp',
          _uetvid: 'sample-uetvid',
          _scid: 'sample-scid',
          _rdt_uuid: `${nowMs}.sample-rdt-uuid`,
        },
        utm: { source: 'google', medium: 'cpc', campaign: 'sample', term: 'shoes', content: 'ad', id: '1' },
      },
    },
  };
}
