import { hash } from 'node:crypto';
import { type ConversionData } from '../events/conversion.events.js';

export type DedupFields = Pick<ConversionData, 'trial' | 'event' | 'orderId' | 'value' | 'currency'>;

/**
 * What makes two posts the same conversion: site, event and order; without an order, site, event, person, value and
 * currency. Trial posts have a space of their own. 16 bytes of a digest that begins with the site's own secret, so that
 * a claim tells nobody whose it is. (Half of a SHA-256 cannot be extended, so the plain digest serves as a MAC here; an
 * HMAC object costs six times as much, on every request.)
 */
export function dedupKey(secret: string, conversion: DedupFields, subject: string): string {
  const { trial, event, orderId, value, currency } = conversion;
  const parts =
    orderId === undefined
      ? [trial, event, 'subject', subject, value ?? null, currency]
      : [trial, event, 'order', orderId];
  return hash('sha256', secret + JSON.stringify(parts)).slice(0, 32);
}
