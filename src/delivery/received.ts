import { hash } from 'node:crypto';
import type { StoredEvent } from '../log/event.js';
import type { Conversion } from '../platforms/conversion.js';
import { isSelected } from '../platforms/event-mapping.js';
import type { Platform, Settings, SkipReason } from '../platforms/platform.js';

/** What the delivery of a received conversion needs of its event. */
export type ReceivedConversion = Pick<
  StoredEvent<'conversion.received.v1'>,
  'site' | 'position' | 'time' | 'data' | 'personal'
>;

/** As a later event of its stream has completed it: with the visit that was identified after it. */
export function reopenedBy(
  received: ReceivedConversion,
  events: readonly StoredEvent[],
  version: number | undefined,
): ReceivedConversion {
  const later = version === undefined ? undefined : events.find((event) => event.version === version);
  if (later?.type !== 'conversion.reopened.v1') return received;
  const { consent } = later.data;
  const visit = later.personal?.visit;
  const personal = received.personal && visit ? { ...received.personal, visit } : received.personal;
  return { ...received, data: { ...received.data, consent }, personal };
}

/** A payload as it goes out, and its digest. */
export interface Spelled {
  readonly body: string;
  readonly bodySha256: string;
  readonly group: string | undefined;
}

/** The conversion in a platform's own words, or why it is not sent. The same whenever, and wherever, it is asked. */
export function spell(
  received: ReceivedConversion,
  platform: Platform,
  settings: Settings,
  eventId: string | undefined,
): Spelled | { readonly skip: SkipReason } {
  if (!isSelected(settings, received.data.event)) return { skip: 'event_not_selected' };
  const payload = platform.payload(toConversion(received, eventId), settings);
  if ('skip' in payload) return payload;
  const body = JSON.stringify(payload.item);
  return { body, bodySha256: hash('sha256', body), group: payload.group };
}

/** The last one: several platforms ask for the same conversion, one after the other. */
let known: { received: ReceivedConversion; eventId: string | undefined; conversion: Conversion } | undefined;

function toConversion(received: ReceivedConversion, eventId: string | undefined): Conversion {
  if (known?.received === received && known.eventId === eventId) return known.conversion;
  known = { received, eventId, conversion: makeConversion(received, eventId) };
  return known.conversion;
}

function makeConversion({ data, personal, time }: ReceivedConversion, eventId: string | undefined): Conversion {
  if (!personal) throw new TypeError('What was erased cannot be sent');
  const { visit, ...hashes } = personal;
  return {
    id: data.conversionId,
    eventId: eventId ?? data.orderId ?? data.conversionId,
    event: data.event,
    value: data.value,
    currency: data.currency,
    orderId: data.orderId,
    timeMs: Date.parse(time),
    hashes,
    visit,
    consent: data.consent ?? 'unknown',
  };
}
