import { hash } from 'node:crypto';
import type { Conversion } from '../conversion.js';
import { customFields, mappedEvent } from '../event-mapping.js';
import { pageAddress } from '../page-address.js';
import type { Payload, Settings, Skip } from '../platform.js';
import { isEventName } from './names.js';

const EVENTS: ReadonlyMap<string, string> = new Map([
  ['purchase', 'purchase'],
  ['lead', 'generate_lead'],
  ['signup', 'sign_up'],
]);

/** A longer text makes Google Analytics drop it. */
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
            ...fittingFields(settings, conversion),
            transaction_id: transactionId(conversion.eventId),
            value,
            currency: value === undefined ? undefined : conversion.currency,
            page_location: fitting(pageAddress(visit?.pageUrl)),
            // Both put the event into the reports of the visit's own session.
            session_id: cookie ? visit?.cookies._ga_session || undefined : undefined,
            engagement_time_msec: cookie ? 100 : undefined,
          },
        },
      ],
    },
  };
}

/** Spaces and dashes become underscores; what is then still no name for Google Analytics has to be mapped. */
function eventName(event: string, settings: Settings): string | undefined {
  const name = mappedEvent(settings, event) ?? EVENTS.get(event) ?? event.replace(/[\s-]+/g, '_');
  return isEventName(name) ? name : undefined;
}

/** One per person, in the form of the cookie's, and another one in every property. */
function syntheticClientId({ hashes }: Conversion, settings: Settings): string | undefined {
  if (settings['synthetic_client_id'] !== 'yes') return undefined;
  const digest = hash('sha256', `${settings['measurement_id']} ${hashes.subject}`);
  return `${Number.parseInt(digest.slice(0, 8), 16)}.${Number.parseInt(digest.slice(8, 16), 16)}`;
}

/** Of a consent that was given only this is known: personalised advertising can have been declined on its own. */
function consentOf({ consent }: Conversion): object | undefined {
  if (consent === 'granted') return { ad_user_data: 'GRANTED' };
  if (consent === 'denied') return { ad_user_data: 'DENIED', ad_personalization: 'DENIED' };
  return undefined;
}

/** It tells repeats of a purchase apart: one that is too long is replaced, not left out. */
function transactionId(eventId: string): string {
  return fitting(eventId) ?? hash('sha256', eventId);
}

function fittingFields(settings: Settings, conversion: Conversion): Record<string, string | number> {
  const custom = customFields(settings, conversion);
  for (const [name, value] of Object.entries(custom)) {
    if (typeof value === 'string' && fitting(value) === undefined) delete custom[name];
  }
  return custom;
}

function fitting(text: string | undefined): string | undefined {
  return text !== undefined && text.length <= TEXT_MAX ? text : undefined;
}
