import { createHmac, hash } from 'node:crypto';
import type { ConversionPersonal } from '../../events/conversion.events.js';
import { canonicalText } from '../../kernel/canonical-text.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import type { Conversion } from '../../platforms/conversion.js';
import { isSelected, mappedEvent } from '../../platforms/event-mapping.js';
import { FIRST_PAYLOAD_VERSION } from '../../platforms/payload-version.js';
import type { Call, Payload, Platform, PlatformRequest, Settings, Skip } from '../../platforms/platform.js';
import { type SiteConnection, settingsAt } from '../../sites/connections/connection.js';
import { type Account, accountOf } from '../connections/account.js';
import type { DeliveryTerms } from '../delivery.js';
import { ageOf, eventIdOf, type ReceivedConversion, withOptOut } from '../received-conversion.js';
import { correctedOrder } from './order.js';
import { withSentIdentifiers } from './sent-identifiers.js';
import { withoutIdentifiers } from './without-identifiers.js';

export interface DeliveryPayload {
  /** JSON; with `parts` the list of them. */
  readonly body: string;
  /** See `bodyDigest`. */
  readonly bodySha256: string;
  /** Payloads of different groups cannot share a request. */
  readonly group: string | undefined;
  /** Where it is sent. */
  readonly account: Account;
  /** One for each conversion action, if there are several. */
  readonly parts?: readonly PayloadPart[] | undefined;
}

export interface PayloadPart {
  readonly action: string;
  /** JSON. */
  readonly body: string;
}

/** Whose payload it is, and what an operator's request changes in it. */
export interface RequestedPayload extends Pick<DeliveryTerms, 'eventId' | 'payloadVersion' | 'without'> {
  /** The connection; undefined: the platform's first one. */
  readonly platform?: ConnectionName | undefined;
}

/** Builds the payload, or returns why the conversion is skipped. Deterministic: the same settings give the same bytes. */
export function buildPayload(
  received: ReceivedConversion,
  platform: Platform,
  settings: Settings,
  requested: RequestedPayload,
): DeliveryPayload | Skip {
  const payload = isCorrectedBy(platform, settings, received)
    ? correctionPayload(received, platform, settings, requested)
    : conversionPayload(received, platform, settings, requested);
  if ('skip' in payload) return payload;
  const body = JSON.stringify(payload.item);
  const { group } = payload;
  return {
    body,
    bodySha256: bodyDigest(body, personalOf(received)),
    group,
    account: accountOf(platform, settings),
    parts: partsOf(payload),
  };
}

/** The payload with this digest: as of the receipt, or as of an opt-out since. If neither has it, that of the receipt. */
export function rebuildPayload(
  received: ReceivedConversion,
  platform: Platform,
  settings: Settings,
  requested: RequestedPayload & { readonly bodySha256?: string | undefined },
): DeliveryPayload | Skip {
  const { bodySha256 } = requested;
  const payload = buildPayload(received, platform, settings, requested);
  if (bodySha256 === undefined || 'skip' in payload || payload.bodySha256 === bodySha256) return payload;
  const afterOptOut = buildPayload(withOptOut(received), platform, settings, requested);
  return 'bodySha256' in afterOptOut && afterOptOut.bodySha256 === bodySha256 ? afterOptOut : payload;
}

/**
 * Tells whether two attempts sent the same body. A payload may hold little more than the hash of an address, so the digest is keyed with
 * a random key in the personal part: without it, a list of addresses does not tell whose payload it is, and an erasure deletes it. Conversions that
 * were received before there was a key have a plain digest, which is not published (`unpublished-fields.ts`).
 */
function bodyDigest(body: string, { payloadKey }: Pick<ConversionPersonal, 'payloadKey'>): string {
  if (payloadKey === undefined) return hash('sha256', body);
  return createHmac('sha256', payloadKey).update(body).digest('base64url');
}

/** The request with these payloads of one group. What is sent and what is shown are built here. */
export function deliveryRequest(platform: Platform, bodies: readonly string[], call: Call): PlatformRequest {
  const { connection, group, accessToken, nowMs, traceparent } = call;
  // Never to an ad platform, which could link its requests to others of the sender.
  const trace = platform.customerAddress ? traceparent : undefined;
  return platform.request(bodies, { connection, group, accessToken, nowMs, traceparent: trace });
}

/** Undefined if the payload is for one action, or the platform has no actions. */
export function partsOf({ item, actions }: Payload): PayloadPart[] | undefined {
  const items = item as readonly object[];
  return actions?.map((action, index) => ({ action, body: JSON.stringify(items[index]) }));
}

/** Whether the connection sends the event as a correction. Otherwise it is sent under a mapped name, or not at all. */
export function isCorrectedBy(
  platform: Platform,
  settings: Settings,
  { data }: ReceivedConversion,
): platform is CorrectingPlatform {
  return (
    data.correction === true &&
    platform.correction !== undefined &&
    settings['refund_event'] === canonicalText(data.event)
  );
}

type CorrectingPlatform = Platform & Required<Pick<Platform, 'correction'>>;

function correctionPayload(
  received: ReceivedConversion,
  platform: CorrectingPlatform,
  settings: Settings,
  requested: RequestedPayload,
): Payload | Skip {
  const order = correctedOrder(received, requested.platform ?? platform.name);
  if ('skip' in order) return order;
  const conversion = requestedConversion(received, platform, settings, requested);
  return platform.correction(conversion, order, settings);
}

function conversionPayload(
  received: ReceivedConversion,
  platform: Platform,
  settings: Settings,
  requested: RequestedPayload,
): Payload | Skip {
  const { event, correction } = received.data;
  if (!isSelected(settings, event)) return { skip: 'event_not_selected' };
  // A refund must not become a conversion, unless the connection has a name for it.
  if (correction && mappedEvent(settings, event) === undefined)
    return platform.correction ? { skip: 'event_not_selected' } : { skip: 'correction_not_supported' };
  return platform.payload(requestedConversion(received, platform, settings, requested), settings);
}

function requestedConversion(
  received: ReceivedConversion,
  platform: Platform,
  settings: Settings,
  requested: RequestedPayload,
): Conversion {
  const conversion = withDefaultConsent(toConversion(received, platform, requested), received, settings);
  return requested.without ? withoutIdentifiers(conversion, requested.without) : conversion;
}

/** The connection's settings as of a position; the current ones if the position is undefined or precedes all versions. */
export function settingsAsOf(connection: SiteConnection, position: number | undefined): Settings {
  return settingsAt(connection, position ?? Number.MAX_SAFE_INTEGER) ?? connection.settings;
}

/** `default_consent` applies where nothing is known: `denied` like an opt-out, `granted` only where the site withholds nothing. */
function withDefaultConsent(
  conversion: Conversion,
  { data: { withheld } }: ReceivedConversion,
  { default_consent: consent }: Settings,
): Conversion {
  if (consent === undefined || conversion.consent !== 'unknown') return conversion;
  if (consent === 'denied') return { ...conversion, consent, visit: undefined, clickIds: undefined };
  return withheld === undefined ? { ...conversion, consent: 'granted' } : conversion;
}

/** Caches the last conversion: the payloads of all its platforms are built one after the other. */
let cached:
  | (Pick<RequestedPayload, 'payloadVersion'> & { received: ReceivedConversion; conversion: Conversion })
  | undefined;

function toConversion(
  received: ReceivedConversion,
  platform: Platform,
  { eventId = eventIdOf(received.data, platform), payloadVersion }: RequestedPayload,
): Conversion {
  if (cached?.received === received && cached.payloadVersion === payloadVersion) {
    const { conversion } = cached;
    return conversion.eventId === eventId ? conversion : { ...conversion, eventId };
  }
  const conversion = createConversion(received, eventId, payloadVersion);
  cached = { received, payloadVersion, conversion };
  return conversion;
}

function createConversion(
  received: ReceivedConversion,
  eventId: string,
  payloadVersion: RequestedPayload['payloadVersion'],
): Conversion {
  const { data } = received;
  const {
    visit,
    externalId,
    address,
    clickIds,
    ipAddress,
    userAgent,
    pageUrl,
    referrer,
    cookies,
    utm,
    custom,
    person: _,
    traceparent: __,
    payloadKey: ___,
    ...hashes
  } = personalOf(received);
  const timeMs = ageOf(received).occurredMs;
  return {
    id: data.conversionId,
    eventId,
    event: data.event,
    value: data.value,
    currency: data.currency,
    orderId: data.orderId,
    timeMs,
    source: data.source,
    items: data.items,
    hashes,
    externalId,
    address,
    custom,
    visit: withSentIdentifiers(visit, { clickIds, ipAddress, userAgent, pageUrl, referrer, cookies, utm }, timeMs),
    clickIds,
    consent: data.consent ?? 'unknown',
    personalization: data.personalization,
    sentConsent: data.sentConsent,
    payloadVersion: payloadVersion ?? data.payloadVersion ?? FIRST_PAYLOAD_VERSION,
  };
}

function personalOf({ personal }: ReceivedConversion): ConversionPersonal {
  if (!personal) throw new TypeError('An erased conversion has no payload');
  return personal;
}
