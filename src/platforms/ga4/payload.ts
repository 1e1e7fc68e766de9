import { hash } from 'node:crypto';
import type { Conversion } from '../conversion.js';
import { customFields, mappedEvent } from '../event-mapping.js';
import { withoutQuery } from '../payload-fields.js';
import type { Payload, Settings, Skip } from '../platform.js';
import { isEventName } from './names.js';

const EVENTS: ReadonlyMap<string, string> = new Map([
  ['purchase', 'purchase'],
  ['lead', 'generate_lead'],
  ['signup', 'sign_up'],
]);

/** Google Analytics drops longer texts. */
const TEXT_MAX = 100;

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const name = eventName(conversion.event, settings);
  if (name === undefined) return { skip: 'event_not_mapped' };
  const cookie = conversion.visit?.cookies._ga;
  const clientId = cookie || syntheticClientId(conversion, settings);
  if (clientId === undefined) return { skip: 'no_client_identifier' };
  const { visit, value } = conversion;
  return {
    item: {
      client_id: clientId,
      timestamp_micros: `${conversion.timeMs}000`,
      consent: consentOf(conversion),
      events: [
        {
          name,
          params: {
            ...shortCustomFields(settings, conversion),
            transaction_id: transactionId(conversion.eventId),
            value,
            currency: value === undefined ? undefined : conversion.currency,
            page_location: unlessTooLong(withoutQuery(visit?.pageUrl)),
            // Both attribute the event to the session of the visit.
            session_id: cookie ? visit?.cookies._ga_session || undefined : undefined,
            engagement_time_msec: cookie ? 100 : undefined,
          },
        },
      ],
    },
  };
}

/** Spaces and dashes become underscores; an event whose name is then still invalid has to be mapped. */
function eventName(event: string, settings: Settings): string | undefined {
  const name = mappedEvent(settings, event) ?? EVENTS.get(event) ?? event.replace(/[\s-]+/g, '_');
  return isEventName(name) ? name : undefined;
}

/** In the format of the cookie's client id: the same for every conversion of a person, and different in every property. */
function syntheticClientId({ hashes }: Conversion, settings: Settings): string | undefined {
  if (settings['synthetic_client_id'] !== 'yes') return undefined;
  const digest = hash('sha256', `${settings['measurement_id']} ${hashes.subject}`);
  return `${Number.parseInt(digest.slice(0, 8), 16)}.${Number.parseInt(digest.slice(8, 16), 16)}`;
}

/** Granted consent does not cover `ad_personalization`: a visitor can decline it separately. */
function consentOf({ consent }: Conversion): object | undefined {
  if (consent === 'granted') return { ad_user_data: 'GRANTED' };
  if (consent === 'denied') return { ad_user_data: 'DENIED', ad_personalization: 'DENIED' };
  return undefined;
}

/** Google deduplicates purchases by it, so an id that is too long is replaced by its hash instead of left out. */
function transactionId(eventId: string): string {
  return unlessTooLong(eventId) ?? hash('sha256', eventId);
}

function shortCustomFields(settings: Settings, conversion: Conversion): Record<string, string | number> {
  const custom = customFields(settings, conversion);
  for (const [name, value] of Object.entries(custom)) {
    if (typeof value === 'string' && unlessTooLong(value) === undefined) delete custom[name];
  }
  return custom;
}

function unlessTooLong(text: string | undefined): string | undefined {
  return text !== undefined && text.length <= TEXT_MAX ? text : undefined;
}
