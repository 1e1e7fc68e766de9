import type { Schemas } from '../api.js';

type DeliveryRequest = Schemas['DeliveryRequest'];

/** The requests of a delivery for a shell, one after the other. */
export function requestText({ requests }: Pick<DeliveryRequest, 'requests'>): string {
  return requests.map(({ curl }) => curl).join('\n\n');
}

/** What has to be known before the text is pasted into a shell. */
export function requestNote(
  { exact, refused, requests }: Pick<DeliveryRequest, 'exact' | 'refused' | 'requests'>,
  platform: string,
): string {
  const payload = exact
    ? 'The payload is exactly as sent.'
    : 'The payload was rebuilt; what was sent differed in a detail.';
  const several = requests.length > 1 ? ` ${platform} gets it in ${requests.length} requests.` : '';
  const refusal = refused === undefined ? '' : ` The service would not send it now: ${REFUSALS[refused]}.`;
  return `${payload}${several}${refusal} Running it sends the conversion to ${platform} once more.`;
}

const REFUSALS = {
  consent_denied: 'there is no consent, and the site sends nothing then',
  too_old: 'it is too old, and the platform may refuse it or count it twice',
} as const satisfies Record<NonNullable<DeliveryRequest['refused']>, string>;

/** Where a placeholder is in a URL, its value has to be encoded. */
export function placeholderText(
  { name, description }: DeliveryRequest['placeholders'][number],
  { requests }: Pick<DeliveryRequest, 'requests'>,
): string {
  const isInUrl = requests.some(({ url }) => new RegExp(`\\$${name}(?!\\w)`).test(url));
  return isInUrl ? `${description} Encoded for a URL.` : description;
}
