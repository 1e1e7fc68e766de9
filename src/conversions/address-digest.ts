import { createHmac } from 'node:crypto';
import { canonicalText } from '../kernel/canonical-text.js';
import { containsEmail } from '../kernel/email.js';
import type { Custom, Item } from '../platforms/conversion.js';

/**
 * The order id or event name as it is stored and sent. One that contains an email address is replaced by its digest, keyed with
 * the site's secret: it is in the part of an event that erasure cannot change. The result fits the event names of all platforms.
 */
export function storedText(secret: string, text: string): string {
  if (!containsEmail(text)) return text;
  return `hmac_${createHmac('sha256', secret).update(text).digest('hex').slice(0, 32)}`;
}

/** The items with such digests in place of texts that contain an email address; the same list if none does. */
export function storedItems(secret: string, items: readonly Item[]): readonly Item[] {
  const texts = (item: Item) => [item.id, item.name ?? '', item.category ?? ''];
  if (!items.some((item) => texts(item).some(containsEmail))) return items;
  return items.map((item) => ({
    ...item,
    id: storedText(secret, item.id),
    ...(item.name !== undefined && { name: storedText(secret, item.name) }),
    ...(item.category !== undefined && { category: storedText(secret, item.category) }),
  }));
}

/** The values with such digests in place of texts that contain an email address; the same object if none does. */
export function storedCustom(secret: string, custom: Custom): Custom {
  const isAddress = (value: unknown) => typeof value === 'string' && containsEmail(value);
  if (!Object.values(custom).some(isAddress)) return custom;
  const entries = Object.entries(custom).map(
    ([key, value]) => [key, typeof value === 'string' ? storedText(secret, value) : value] as const,
  );
  return Object.fromEntries(entries);
}

/** Every form in which an order or event may be stored: earlier versions stored it as it was sent. */
export function storedForms(secret: string, text: string): readonly string[] {
  return [...new Set([canonicalText(text), text].flatMap((form) => [storedText(secret, form), form]))];
}

/** The warning to the sender; undefined if no address was replaced. Contains none itself. */
export function addressWarning(
  sent: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>>,
): string | undefined {
  const names = Object.keys(stored).filter((name) => sent[name] !== stored[name]);
  if (names.length === 0) return undefined;
  const verb = names.length === 1 ? 'contains' : 'contain';
  return `${names.join(' and ')} ${verb} an email address; stored and sent as a keyed digest. Send values without personal data.`;
}
