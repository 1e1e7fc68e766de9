import type { Schemas } from './api.js';

/** A sample conversion to send to a site with its key, for a shell. */
export function curlLine(site: string, key: string, localUrl: string | undefined): string {
  // The shell puts the time into the order id, so that a second paste is not a duplicate.
  const body = `{"email":"jane@example.com","event":"purchase","value":129.9,"currency":"EUR","orderId":"ORD-'$(date +%s)'"}`;
  return requestLine(site, key, localUrl, body);
}

type History = Pick<Schemas['ConversionHistory'], 'conversion' | 'events'>;

/** Stored as hashes: a request needs the values themselves. */
const HASHED = ['firstName', 'lastName', 'phone'] as const;

/**
 * A conversion as it was sent, with placeholders for what is not stored: the key, the email address, names and the phone number.
 * Other personal fields are included if the reader may see them.
 */
export function repeatedCurlLine(site: string, { conversion, events }: History, localUrl: string | undefined): string {
  const { event, value, currency, orderId, eventId, occurredAt, source, items, sentConsent: consent } = conversion;
  const personal = events.find(({ data }) => data['conversionId'] === conversion.conversionId)?.personal ?? {};
  const hashed = HASHED.filter((name) => name in personal).map((name) => [name, `<${name}>`]);
  const {
    city: hashed_city,
    region: hashed_region,
    postalCode: hashed_postal_code,
    country: hashed_country,
  } = personal;
  const { externalId, address, clickIds, ipAddress, userAgent, pageUrl, referrer, cookies, utm, custom } = personal;
  const body = JSON.stringify({
    // Stored under the key of something else: the person has no email.
    ...(!('person' in personal) && { email: '<email>' }),
    ...{ event, value, currency, orderId, eventId, occurredAt, source, items, consent },
    ...Object.fromEntries(hashed),
    ...{ hashed_city, hashed_region, hashed_postal_code, hashed_country },
    ...{ externalId, ...(address as object | undefined), clickIds, ipAddress, userAgent },
    ...{ pageUrl, referrer, cookies: sentCookies(cookies), utm, custom },
  });
  return requestLine(site, '<key>', localUrl, escapeJson(body).replaceAll("'", "'\\''"));
}

/** Of the cookies of Google Analytics only a part is stored. */
function sentCookies(stored: unknown): object | undefined {
  if (typeof stored !== 'object' || stored === null) return undefined;
  const { _ga_session: session, ...cookies } = stored as Record<string, unknown>;
  return { ...cookies, ...(session !== undefined && { _ga_SESSION: `GS1.1.${session}` }) };
}

/** The same JSON without characters that a terminal obeys or hides: pasted, a DEL would remove the quote before it. */
function escapeJson(json: string): string {
  return json.replace(/[\x7f-\x9f\u2028\u2029\p{Cf}]/gu, (character) =>
    // Characters beyond U+FFFF: each half.
    character
      .split('')
      .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

function requestLine(site: string, key: string, localUrl: string | undefined, body: string): string {
  const address = localUrl ?? `https://${site}`;
  // On the machine of the service the site is named in the request: its own name may lead elsewhere.
  const isNamed = new URL(address).hostname === site;
  return [
    `curl ${address}/__cc/inbound`,
    ...(isNamed ? [] : [`-H 'Host: ${site}'`]),
    `-H 'X-CC-Api-Key: ${key}'`,
    `-H 'Content-Type: application/json'`,
    `-d '${body}'`,
  ].join(' ');
}

/** Where browsers reach a site: a site such as localhost on the service's own port. */
export function siteUrl(host: string, localUrl: string | undefined): string {
  return localUrl !== undefined && new URL(localUrl).hostname === host ? localUrl : `https://${host}`;
}

/** What goes into the head of every page of the shop. */
export function tagSnippet(host: string, localUrl: string | undefined): string {
  return `<script>
  window.cc = window.cc || function () { (cc.q = cc.q || []).push(arguments) };
  cc.identifyEmail = cc.identifyEmail || function (email) { cc('identifyEmail', email) };
</script>
<script async src="${siteUrl(host, localUrl)}/__cc/tag.js"></script>`;
}
