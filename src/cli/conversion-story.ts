import { isOpening, type StoredOpening } from '../conversions/conversion.js';
import { type DeliveryHistory, deliveryHistories } from '../delivery/delivery-history.js';
import { type AdConsent, CONVERSION } from '../events/conversion.events.js';
import { UserError } from '../kernel/errors.js';
import { isUuid } from '../kernel/uuid.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Visit } from '../platforms/conversion.js';
import { platformOf } from '../platforms/index.js';
import type { Opened } from './session.js';

/** All that the log knows of one conversion. */
export interface ConversionStory {
  readonly conversion: Record<string, unknown> & {
    readonly status: string;
    readonly time: string;
    /** The one it came with. */
    readonly key?: { readonly name: string; readonly prefix: string };
  };
  /** The visit that brought it. */
  readonly match: Visit | null;
  readonly consent: AdConsent | null;
  readonly deliveries: readonly DeliveryHistory[];
  /** Its own, and its repeats. */
  readonly events: readonly StoredEvent[];
}

/** A conversion's stream, which begins with the event that says what became of the request. With a host: only that site's. */
export async function readConversion(
  log: EventLog,
  host: string | undefined,
  conversionId: string,
): Promise<[opening: StoredOpening, ...more: StoredEvent[]]> {
  const events = isUuid(conversionId) ? await log.readStream(CONVERSION, conversionId.toLowerCase()) : [];
  const [opening, ...more] = events;
  if (!opening || !isOpening(opening) || opening.site !== (host ?? opening.site)) {
    throw new UserError(`${host ?? 'The log'} has no conversion ${conversionId}. "events tail" shows the newest ones.`);
  }
  return [opening, ...more];
}

export async function findByConversion(
  opened: Opened,
  host: string | undefined,
  conversionId: string,
): Promise<ConversionStory> {
  return tell(opened, await readConversion(opened.log, host, conversionId));
}

/** The newest conversion with the order that was not a repeat of another one. */
export async function findByOrder(opened: Opened, host: string, orderId: string): Promise<ConversionStory> {
  const { log } = opened;
  const openings = (await log.find(host, orderId)).filter(isOpening);
  const opening = openings.filter((event) => !isDuplicate(event)).at(-1);
  if (!opening) {
    const next = `"events tail --site ${host}" shows the newest ones`;
    throw new UserError(`${host} has no conversion with order ${orderId}. ${next}.`);
  }
  return tell(opened, await readConversion(log, host, opening.data.conversionId));
}

async function tell({ log, sites }: Opened, own: [StoredOpening, ...StoredEvent[]]): Promise<ConversionStory> {
  const [opening] = own;
  const { conversionId, orderId, keyId, consent } = opening.data;
  const sameOrder = orderId === undefined ? [] : await log.find(opening.site, orderId);
  const repeats = sameOrder.filter((event) => isDuplicate(event) && event.data.firstConversionId === conversionId);
  const { keys, connections } = await sites.get(opening.site);
  const key = keys.find(({ id }) => id === keyId);
  return {
    conversion: {
      ...opening.data,
      status: statusOf(opening),
      time: opening.time,
      ...(key && { key: { name: key.name, prefix: key.prefix } }),
    },
    match: opening.personal?.visit ?? null,
    consent: consent ?? null,
    deliveries: deliveryHistories(own, connections, platformOf),
    events: [...own, ...repeats].sort((one, other) => one.position - other.position),
  };
}

function isDuplicate(event: StoredEvent): event is StoredEvent<'conversion.deduplicated.v1'> {
  return event.type === 'conversion.deduplicated.v1';
}

/** `received`, `deduplicated` or `filtered`. */
export function statusOf(opening: StoredEvent): string {
  return opening.type.split('.')[1] as string;
}
