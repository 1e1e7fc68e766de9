import type { ConversionEvent } from '../../events/conversion.events.js';
import { type Outcome, outcomeWord } from '../../kernel/outcome-words.js';
import type { DataCondition } from '../../log/data-condition.js';
import { platformNameOf } from '../../platforms/connection-name.js';

export const STATUSES = ['received', 'deduplicated', 'filtered'] as const;
export type ConversionStatus = (typeof STATUSES)[number];

/** The outcome of one delivery, as of now. */
export interface DeliveryState {
  readonly platform: string;
  /** As in the events; `queued` before the first outcome. */
  readonly status: string;
  readonly reason?: string;
}

/** Which conversions are listed or exported. */
export interface ConversionFilter {
  readonly status?: ConversionStatus | undefined;
  /** Of a delivery, or of the conversion where it is not delivered. */
  readonly outcome?: Outcome | undefined;
  /** All connections of a platform. */
  readonly platform?: string | undefined;
  readonly connection?: string | undefined;
  /** In any of the forms in which it may be stored. */
  readonly order?: readonly string[] | undefined;
  readonly event?: readonly string[] | undefined;
  /** Where it happened, or the source whose webhook it was made of. */
  readonly source?: string | undefined;
}

/** The types of the events that open the streams of matching conversions. */
export function openingTypes({ status, outcome, platform, connection }: ConversionFilter): ConversionEvent['type'][] {
  const ofOutcome = outcome === 'filtered' ? 'filtered' : outcome === 'duplicate' ? 'deduplicated' : 'received';
  const isDelivered = outcome !== undefined || platform !== undefined || connection !== undefined;
  const isPossible = (one: ConversionStatus) =>
    (status ?? one) === one &&
    (!isDelivered || one === ofOutcome) &&
    // Only what was received is delivered.
    (one === 'received' || (platform ?? connection) === undefined);
  return STATUSES.filter(isPossible).map((one): ConversionEvent['type'] => `conversion.${one}.v1`);
}

/** What the data of these events has. */
export function openingConditions({ order, event, source }: ConversionFilter): DataCondition[] {
  return [
    ...(order ? [{ anyOf: [['orderId']], is: order }] : []),
    ...(event ? [{ anyOf: [['event']], is: event }] : []),
    ...(source === undefined ? [] : [{ anyOf: [['source'], ['delivery', 'source']], is: [source] }]),
  ];
}

/** Whether deliveries must be read to know which conversions match. */
export function dependsOnDeliveries({ outcome, platform, connection }: ConversionFilter): boolean {
  const isOfDelivery = outcome !== undefined && outcome !== 'filtered' && outcome !== 'duplicate';
  return isOfDelivery || platform !== undefined || connection !== undefined;
}

/** Whether one delivery matches all that is asked of deliveries. */
export function matchesDeliveries(filter: ConversionFilter, deliveries: readonly DeliveryState[]): boolean {
  if (!dependsOnDeliveries(filter)) return true;
  const { outcome, platform, connection } = filter;
  const word = outcome?.replace('_', ' ');
  return deliveries.some(
    (delivery) =>
      (connection ?? delivery.platform) === delivery.platform &&
      (platform === undefined || platformNameOf(delivery.platform) === platform) &&
      (word === undefined || outcomeWord(delivery.status, delivery.reason) === word),
  );
}
