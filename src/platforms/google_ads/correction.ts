import type { Conversion, CorrectedOrder } from '../conversion.js';
import { mappedActions, payloadFor } from '../event-mapping.js';
import type { DeliveryLimits, LimitedConversion, Payload, Settings, Skip } from '../platform.js';
import { eventSourceOf } from './details.js';
import { ACTION_SEPARATOR, actionName, consentOf, identifiersOf, uploadTime, userDataOf } from './payload.js';
import { isUpload } from './settings.js';

/** The group of payloads for the adjustments of the legacy upload. */
export const ADJUSTMENTS = 'adjustments';

const DAY_MS = 24 * 60 * 60 * 1_000;
const ADJUSTABLE_AFTER_MS = DAY_MS;
const ADJUSTABLE_FOR_MS = 54 * DAY_MS;
const NO_LIMITS: DeliveryLimits = {};

export function correction(conversion: Conversion, order: CorrectedOrder, settings: Settings): Payload | Skip {
  const actions = mappedActions(settings, order.event);
  if (actions === undefined) return { skip: 'event_not_mapped' };
  if (conversion.consent === 'denied') return { skip: 'consent_denied' };
  if (isUpload(settings)) return payloadFor(actions, (action) => adjustment(order, action, settings), ADJUSTMENTS);
  const identifiers = identifiersOf(conversion);
  const userData = userDataOf(conversion, identifiers);
  if (identifiers.click === undefined && userData === undefined) return { skip: 'no_identifier' };
  // The Data Manager replaces the value of the conversion with the same transaction id. It cannot retract one.
  return {
    item: {
      eventTimestamp: new Date(order.timeMs).toISOString(),
      transactionId: order.eventId,
      eventSource: eventSourceOf(conversion, settings),
      adIdentifiers: identifiers.click,
      userData,
      consent: consentOf(conversion),
      conversionValue: order.remaining,
      currency: order.currency,
    },
    group: actions.join(ACTION_SEPARATOR),
  };
}

/** The upload refuses adjustments of conversions that it may not have processed yet, and of those older than 54 days. */
export function limits(settings: Settings, { order }: LimitedConversion): DeliveryLimits {
  if (order === undefined || !isUpload(settings)) return NO_LIMITS;
  const { timeMs, settledMs = timeMs } = order;
  return {
    earliestMs: Math.max(timeMs, settledMs) + ADJUSTABLE_AFTER_MS,
    agesFromMs: timeMs,
    ageMaxMs: ADJUSTABLE_FOR_MS,
  };
}

/** A conversion is uploaded with its event id as the order id, so Google requires the order id here too. */
function adjustment(order: CorrectedOrder, action: string, settings: Settings): object {
  const { eventId, remaining, currency, correctedMs } = order;
  return {
    conversionAction: actionName(action, settings),
    adjustmentType: remaining === 0 ? 'RETRACTION' : 'RESTATEMENT',
    orderId: eventId,
    adjustmentDateTime: uploadTime(correctedMs),
    restatementValue: remaining === 0 ? undefined : { adjustedValue: remaining, currencyCode: currency },
  };
}
