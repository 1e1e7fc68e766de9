import type { Schemas } from './api.js';

type DeliveryRequest = Schemas['DeliveryRequest'];

/** The requests of a delivery for a shell, one after the other. */
export function requestText({ requests }: Pick<DeliveryRequest, 'requests'>): string {
  return requests.map(({ curl }) => curl).join('\n\n');
}

/** What has to be known before the text is pasted into a shell. */
export function requestNote(
  { exact, requests }: Pick<DeliveryRequest, 'exact' | 'requests'>,
  platform: string,
): string {
  const payload = exact
    ? 'The payload is exactly as sent.'
    : 'The payload was rebuilt; what was sent differed in a detail.';
  const several = requests.length > 1 ? ` ${platform} gets it in ${requests.length} requests.` : '';
  return `${payload}${several} Running it sends the conversion to ${platform} once more.`;
}

/** Where a placeholder is in a URL, its value has to be encoded. */
export function placeholderText(
  { name, description }: DeliveryRequest['placeholders'][number],
  { requests }: Pick<DeliveryRequest, 'requests'>,
): string {
  const isInUrl = requests.some(({ url }) => new RegExp(`\\$${name}(?!\\w)`).test(url));
  return isInUrl ? `${description} Encoded for a URL.` : description;
}
