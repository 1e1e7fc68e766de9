import { createHmac } from 'node:crypto';
import type { ConversionData } from './conversion.js';

/**
 * What makes two posts the same conversion: site, event and order; without an order, site, event, person, value and
 * currency. 16 bytes of an HMAC under the site's own secret, so that a claim tells nobody whose it is. Trial posts have
 * a space of their own.
 */
export function dedupKey(secret: Buffer, conversion: ConversionData, subject: string): string {
  const { trial, event, orderId, value, currency } = conversion;
  const parts =
    orderId === undefined
      ? [trial, event, 'subject', subject, value ?? null, currency]
      : [trial, event, 'order', orderId];
  return createHmac('sha256', secret).update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
