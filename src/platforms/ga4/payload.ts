import { hash } from 'node:crypto';
import type { Conversion, CorrectedOrder } from '../conversion.js';
import { customFields, mappedEvent } from '../event-mapping.js';
import { externalIdOf } from '../external-id.js';
import { isGranted, unlessEmpty, withoutQuery } from '../payload-fields.js';
import { CAMPAIGN_VERSION } from '../payload-version.js';
import type { Payload, Settings, Skip } from '../platform.js';
import { isEventName } from './names.js';
import { isApp } from './settings.js';

export const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'purchase'],
  ['lead', 'generate_lead'],
  ['signup', 'sign_up'],
]);

const REFUND = 'refund';

/** Google Analytics drops longer texts. */
const TEXT_MAX = 100;

/** The id that Firebase gives an installation of an app. */
const APP_INSTANCE = /^[0-9A-Fa-f]{32}$/;

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const name = eventName(conversion.event, settings);
  return name === undefined ? { skip: 'event_not_mapped' } : eventPayload(conversion, name, settings);
}

/** Google Analytics adds up refunds, so each contains its own amount. */
export function correction(conversion: Conversion, order: CorrectedOrder, settings: Settings): Payload | Skip {
  const { eventId, refunded, currency } = order;
  return eventPayload({ ...conversion, eventId, value: refunded, currency }, REFUND, settings);
}

function eventPayload(conversion: Conversion, name: string, settings: Settings): Payload | Skip {
  // Google Analytics has no field for it.
  if (conversion.sentConsent?.analytics_storage === 'denied') return { skip: 'consent_denied' };
  const cookie = isApp(settings) ? undefined : conversion.visit?.cookies._ga;
  const client = clientOf(conversion, cookie, settings);
  if (client === undefined) return { skip: 'no_client_identifier' };
  const { visit, value } = conversion;
  const items = itemsOf(conversion);
  const sessionId = cookie ? visit?.cookies._ga_session || undefined : undefined;
  return {
    item: {
      ...client,
      user_id: settings['external_id'] === 'user_id' ? externalIdOf(conversion) : undefined,
      timestamp_micros: `${conversion.timeMs}000`,
      consent: consentOf(conversion),
      events: [
        ...(name === REFUND ? [] : campaignEvents(conversion, sessionId)),
        {
          name,
          params: {
            ...shortCustomFields(settings, conversion),
            transaction_id: transactionId(conversion.eventId),
            value,
            currency: value === undefined && items === undefined ? undefined : conversion.currency,
            page_location: unlessTooLong(withoutQuery(visit?.pageUrl)),
            // Both attribute the event to the session of the visit.
            session_id: sessionId,
            engagement_time_msec: cookie ? 100 : undefined,
            ...(items && { items }),
          },
        },
      ],
    },
  };
}

/**
 * The campaign of a visit that only the sender knows, in the session of that visit, if it states one. Of a visit that the tag recorded
 * Google's own tag has reported the campaign.
 */
function campaignEvents({ visit, payloadVersion }: Conversion, sessionId: string | undefined): object[] {
  if (!visit || visit.visitorId !== undefined || payloadVersion < CAMPAIGN_VERSION) return [];
  const { source, medium, campaign, term, content, id } = visit.utm;
  const details = unlessEmpty({
    campaign_id: unlessTooLong(id),
    campaign: unlessTooLong(campaign),
    source: unlessTooLong(source),
    medium: unlessTooLong(medium),
    term: unlessTooLong(term),
    content: unlessTooLong(content),
  });
  return details ? [{ name: 'campaign_details', params: { ...details, session_id: sessionId } }] : [];
}

/** Spaces and dashes become underscores; an event whose name is then still invalid has to be mapped. */
function eventName(event: string, settings: Settings): string | undefined {
  const name = mappedEvent(settings, event) ?? EVENT_NAMES.get(event) ?? event.replace(/[\s-]+/g, '_');
  return isEventName(name) ? name : undefined;
}

function clientOf(conversion: Conversion, cookie: string | undefined, settings: Settings): object | undefined {
  if (isApp(settings)) {
    const id = externalIdOf(conversion);
    return id !== undefined && APP_INSTANCE.test(id) ? { app_instance_id: id } : undefined;
  }
  const clientId = cookie || syntheticClientId(conversion, settings);
  return clientId === undefined ? undefined : { client_id: clientId };
}

/** An item without an id or a name of a valid length is left out. */
function itemsOf({ items }: Conversion): object[] | undefined {
  const sent = items?.flatMap(({ id, name, quantity, price, category }) => {
    const [item_id, item_name] = [unlessTooLong(id), unlessTooLong(name)];
    if (item_id === undefined && item_name === undefined) return [];
    return [{ item_id, item_name, quantity, price, item_category: unlessTooLong(category) }];
  });
  return sent === undefined || sent.length === 0 ? undefined : sent;
}

/**
 * In the format of the cookie's client id: the same for every conversion of a person, and different in every property. Without the
 * person, each conversion has its own.
 */
function syntheticClientId({ id, hashes, isAnonymous }: Conversion, settings: Settings): string | undefined {
  const owner = isAnonymous ? id : hashes.subject;
  if (settings['synthetic_client_id'] !== 'yes' || !owner) return undefined;
  const digest = hash('sha256', `${settings['measurement_id']} ${owner}`);
  return `${Number.parseInt(digest.slice(0, 8), 16)}.${Number.parseInt(digest.slice(8, 16), 16)}`;
}

/** Granted consent does not cover `ad_personalization`, which a visitor can decline separately. An opt-out covers both. */
function consentOf(conversion: Conversion): object | undefined {
  const { consent, personalization } = conversion;
  if (consent === 'denied') return { ad_user_data: 'DENIED', ad_personalization: 'DENIED' };
  const hasUserData = isGranted(conversion, 'ad_user_data');
  if (!hasUserData && personalization === undefined) return undefined;
  return {
    ad_user_data: hasUserData ? 'GRANTED' : undefined,
    ad_personalization: personalization?.toUpperCase(),
  };
}

/** Google deduplicates purchases by it, so an id that is too long is replaced by its hash instead of left out. */
function transactionId(eventId: string): string {
  return unlessTooLong(eventId) ?? hash('sha256', eventId);
}

function shortCustomFields(settings: Settings, conversion: Conversion): Record<string, string | number> {
  const custom: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(customFields(settings, conversion))) {
    // Google Analytics has no truth values.
    const param = typeof value === 'boolean' ? String(value) : value;
    if (typeof param === 'number' || unlessTooLong(param) !== undefined) custom[name] = param;
  }
  return custom;
}

function unlessTooLong(text: string | undefined): string | undefined {
  return text !== undefined && text.length <= TEXT_MAX ? text : undefined;
}
