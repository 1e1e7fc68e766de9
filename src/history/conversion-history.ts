import { isOpening, type StoredOpening } from '../conversions/conversion.js';
import { findOrder } from '../conversions/find-order.js';
import { type DeliveryHistory, deliveryHistories } from '../delivery/delivery-history.js';
import { withOrder } from '../delivery/payload/read-order.js';
import { type AdConsent, CONVERSION } from '../events/conversion.events.js';
import { UserError } from '../kernel/errors.js';
import { isUuid } from '../kernel/uuid.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Visit } from '../platforms/conversion.js';
import { type SiteScope, scopeStart } from '../sites/site.js';
import type { SiteRepository } from '../sites/site-repository.js';
import type { SiteSecrets } from '../sites/site-secrets.js';

/** What is read of an order: a sender can repeat it any number of times. */
const RELATED = { types: ['conversion.received.v1', 'conversion.deduplicated.v1'], limit: 1_000, newest: true };
const ORIGINALS = { types: ['conversion.received.v1', 'conversion.filtered.v1'], limit: 1_000, newest: true };

export interface HistoryDependencies {
  readonly log: EventLog;
  readonly sites: SiteRepository;
  readonly secrets: SiteSecrets;
}

/** A conversion's stream, which starts with the result of the request. */
export type ConversionStream = readonly [opening: StoredOpening, ...more: StoredEvent[]];

/** Everything the log contains about one conversion. */
export interface ConversionHistory {
  readonly conversion: Record<string, unknown> & {
    readonly status: string;
    readonly time: string;
    /** The API key of the request. */
    readonly key?: { readonly name: string; readonly prefix: string };
  };
  /** The matched visit. */
  readonly match: Visit | null;
  readonly consent: AdConsent | null;
  readonly deliveries: readonly DeliveryHistory[];
  /** The events of the conversion, and the receipt of its duplicates and corrections. */
  readonly events: readonly StoredEvent[];
}

/** Undefined if there is no such conversion, with a site only of that one. */
export async function readConversion(
  log: EventLog,
  site: SiteScope | undefined,
  conversionId: string,
): Promise<ConversionStream | undefined> {
  const events = isUuid(conversionId) ? await log.readStream(CONVERSION, conversionId.toLowerCase()) : [];
  const [opening, ...more] = events;
  if (!opening || !isOpening(opening)) return undefined;
  if (site && (opening.site !== site.host || opening.position <= scopeStart(site))) return undefined;
  return [opening, ...more];
}

/** With a site, only of that one. */
export async function requireConversion(
  log: EventLog,
  site: SiteScope | undefined,
  conversionId: string,
): Promise<ConversionStream> {
  const own = await readConversion(log, site, conversionId);
  if (own) return own;
  throw new UserError(
    `${site?.host ?? 'The log'} has no conversion ${conversionId}. "events tail" shows the newest events.`,
  );
}

/** The newest conversion with the order id that is not a duplicate, nor a correction if there is another one. */
export async function readOrderedConversion(
  { log, secrets }: HistoryDependencies,
  site: SiteScope,
  orderId: string,
): Promise<ConversionStream | undefined> {
  const originals = await findOrder(log, site, await secrets.dedupSecret(site.host), orderId, ORIGINALS);
  const opening = originals.findLast(({ data }) => !data.correction) ?? originals.at(-1);
  return opening && readConversion(log, site, opening.data.conversionId);
}

export async function conversionHistory(
  { log, sites }: HistoryDependencies,
  own: ConversionStream,
): Promise<ConversionHistory> {
  const [opening] = own;
  const { conversionId, orderId, keyId, trial } = opening.data;
  // The visit may have been identified after the conversion.
  const reopened = own.findLast((event) => event.type === 'conversion.reopened.v1');
  const sameOrder = orderId === undefined ? [] : await log.find(opening.site, orderId, RELATED);
  const site = await sites.get(opening.site);
  const isEarlier = ({ position }: StoredEvent) => position <= scopeStart(site);
  const related = sameOrder.filter((event) => {
    if (isEarlier(event) !== isEarlier(opening)) return false;
    if (isDuplicate(event)) return event.data.firstConversionId === conversionId;
    const isCorrection = event.type === 'conversion.received.v1' && event.data.correction;
    return isCorrection && !opening.data.correction && event.data.trial === trial;
  });
  const { keys, connections } = site;
  const key = keys.find(({ id }) => id === keyId);
  const { order } = await withOrder(log, opening);
  return {
    conversion: {
      ...opening.data,
      status: statusOf(opening),
      time: opening.time,
      ...(key && { key: { name: key.name, prefix: key.prefix } }),
    },
    match: reopened?.personal?.visit ?? opening.personal?.visit ?? null,
    consent: reopened?.data.consent ?? opening.data.consent ?? null,
    deliveries: deliveryHistories(own, connections, order),
    events: [...own, ...related].sort((one, other) => one.position - other.position),
  };
}

function isDuplicate(event: StoredEvent): event is StoredEvent<'conversion.deduplicated.v1'> {
  return event.type === 'conversion.deduplicated.v1';
}

/** `received`, `deduplicated` or `filtered`. */
export function statusOf(opening: StoredEvent): string {
  return opening.type.split('.')[1] as string;
}
