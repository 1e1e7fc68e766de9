import { createHmac, hash } from 'node:crypto';
import type { ConversionPersonal } from '../../events/conversion.events.js';
import { canonicalText } from '../../kernel/canonical-text.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import type { Conversion } from '../../platforms/conversion.js';
import { isSelected, mappedEvent } from '../../platforms/event-mapping.js';
import { FIRST_PAYLOAD_VERSION } from '../../platforms/payload-version.js';
import type { Call, Payload, Platform, PlatformRequest, Settings, Skip } from '../../platforms/platform.js';
import { asOfIn, type SettingsAsOf, type SiteConnection, settingsAt } from '../../sites/connections/connection.js';
import { type Account, accountOf } from '../connections/account.js';
import type { DeliveryTerms } from '../delivery.js';
import { ageOf, eventIdOf, type ReceivedConversion, withOptOut } from '../received-conversion.js';
import { correctedOrder } from './order.js';
import { withSentIdentifiers } from './sent-identifiers.js';
import { effectiveConsent, leavingOf, type Withhold, withoutPerson } from './withholding.js';
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
  /** It contains nothing personal, and neither may its request. */
  readonly isAnonymous?: true | undefined;
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
  /** What the site withholds without consent; undefined: the default. */
  readonly withhold?: Withhold | undefined;
}

/** Builds the payload, or returns why the conversion is skipped. Deterministic: the same settings give the same bytes. */
export function buildPayload(
  received: ReceivedConversion,
  platform: Platform,
  settings: Settings,
  requested: RequestedPayload,
): DeliveryPayload | Skip {
  const isCorrection = isCorrectedBy(platform, settings, received);
  const order = isCorrection ? correctedOrder(received, requested.platform ?? platform.name) : undefined;
  const skipped = isCorrection ? order : skipOf(received, platform, settings);
  if (skipped && 'skip' in skipped) return skipped;
  const conversion = leavingConversion(received, platform, settings, requested);
  if ('skip' in conversion) return conversion;
  const payload =
    isCorrection && order && !('skip' in order)
      ? platform.correction(conversion, order, settings)
      : platform.payload(conversion, settings);
  if ('skip' in payload) return payload;
  const body = JSON.stringify(payload.item);
  const { group } = payload;
  return {
    body,
    bodySha256: bodyDigest(body, personalOf(received)),
    group,
    account: accountOf(platform, settings),
    parts: partsOf(payload),
    isAnonymous: conversion.isAnonymous,
  };
}

/**
 * The payload with this digest: as of the receipt, or with less, as of an opt-out or of what the site withheld since. If none has
 * it, that of the receipt.
 */
export function rebuildPayload(
  received: ReceivedConversion,
  platform: Platform,
  settings: Settings,
  requested: RequestedPayload & { readonly bodySha256?: string | undefined },
): DeliveryPayload | Skip {
  const { bodySha256 } = requested;
  const payload = buildPayload(received, platform, settings, requested);
  if (bodySha256 === undefined || 'skip' in payload || payload.bodySha256 === bodySha256) return payload;
  for (const less of [withOptOut(received), received])
    for (const withhold of [requested.withhold, 'personal'] as const) {
      const earlier = buildPayload(less, platform, settings, { ...requested, withhold });
      if ('bodySha256' in earlier && earlier.bodySha256 === bodySha256) return earlier;
    }
  return payload;
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

/** Why the connection gets no such event, whatever the conversion. */
function skipOf(
  { data: { event, correction } }: ReceivedConversion,
  platform: Platform,
  settings: Settings,
): Skip | undefined {
  if (!isSelected(settings, event)) return { skip: 'event_not_selected' };
  // A refund must not become a conversion, unless the connection has a name for it.
  if (!correction || mappedEvent(settings, event) !== undefined) return undefined;
  return platform.correction ? { skip: 'event_not_selected' } : { skip: 'correction_not_supported' };
}

/** What may leave of the conversion, by the person's consent and what the site withholds without it. */
function leavingConversion(
  received: ReceivedConversion,
  platform: Platform,
  settings: Settings,
  requested: RequestedPayload,
): Conversion | Skip {
  const all = withDefaultConsent(toConversion(received, platform, requested), received, settings);
  const conversion = requested.without ? withoutIdentifiers(all, requested.without) : all;
  if (received.data.withheld === undefined && conversion.consent !== 'denied') return conversion;
  const leaving = leavingOf(requested.withhold, () => platform.takesAnonymous?.(settings) === true);
  if (leaving === 'nothing') return { skip: 'consent_denied' };
  return leaving === 'nothing_personal' ? withoutPerson(conversion) : conversion;
}

/** The connection's settings as of what an event names; the current ones if it names nothing, or what precedes all versions. */
export function settingsAsOf(connection: SiteConnection, named: SettingsAsOf): Settings {
  const asOf = asOfIn(named);
  return (asOf && settingsAt(connection, asOf)) ?? connection.settings;
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
    sentConsent: data.sentConsent && effectiveConsent(data.sentConsent, data),
    payloadVersion: payloadVersion ?? data.payloadVersion ?? FIRST_PAYLOAD_VERSION,
  };
}

function personalOf({ personal }: ReceivedConversion): ConversionPersonal {
  if (!personal) throw new TypeError('An erased conversion has no payload');
  return personal;
}
