import { hash } from 'node:crypto';
import { type ConversionData } from '../events/conversion.events.js';
import { type SiteSettings } from '../events/site.events.js';
import { parseDurationMs } from '../kernel/durations.js';

type DedupFields = Pick<
  ConversionData,
  'trial' | 'event' | 'orderId' | 'value' | 'currency' | 'occurredAt' | 'correction'
>;

/**
 * Two posts with the same key are the same conversion: same site, event and order; without an order, same site, event,
 * person, value, currency and time of occurrence, if it is stated. An order can have several partial refunds, so of a correction
 * these must be the same too, besides the order. Trial posts have separate keys. The key is the first 16 bytes
 * of a SHA-256 that starts with the site's secret, so a claim does not reveal the person. (A truncated SHA-256 is not open to
 * length extension, so the plain digest serves as a MAC; an HMAC object would cost six times as much on every request.)
 */
export function dedupKey(secret: string, conversion: DedupFields, subject: string): string {
  const { trial, event, orderId, value, currency, occurredAt, correction } = conversion;
  const parts: (string | number | boolean | null)[] =
    orderId === undefined ? [trial, event, 'subject', subject] : [trial, event, 'order', orderId];
  if (orderId === undefined || correction) {
    parts.push(value ?? null, currency);
    if (occurredAt !== undefined) parts.push(occurredAt);
  }
  return hash('sha256', secret + JSON.stringify(parts)).slice(0, 32);
}

/** How long a repeat counts as a duplicate: the site's window, or the default of the service. */
export function dedupWindowOf(settings: SiteSettings, defaultMs: number): number {
  return settings.dedupWindow === null ? defaultMs : parseDurationMs(settings.dedupWindow);
}
