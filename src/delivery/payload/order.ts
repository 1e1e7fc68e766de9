import type { Outcome } from '../../events/delivery.events.js';
import type { CorrectedOrder } from '../../platforms/conversion.js';
import type { Skip } from '../../platforms/platform.js';
import { type Delivery, foldDeliveries, isOutcome } from '../delivery.js';
import { type OrderEntry, type OrderHistory, occurredMsOf, type ReceivedConversion } from '../received-conversion.js';

type ConnectionKey = Delivery['platform'];

/** The platform did not accept the conversion and will not get it again without intervention. */
const REFUSED: readonly Outcome['status'][] = ['rejected', 'skipped', 'failed'];

/** The order as the platform must know it after this correction, or why the correction is not sent. */
export function correctedOrder(received: ReceivedConversion, connection: ConnectionKey): CorrectedOrder | Skip {
  const { conversion, isFiltered, isTooLarge } = orderOf(received);
  if (isTooLarge) return { skip: 'too_many_corrections' };
  if (!conversion && !isFiltered) return { skip: 'order_unknown' };
  const delivery = conversion && deliveryOf(conversion, connection);
  if (!delivery || (delivery.last && REFUSED.includes(delivery.last.status))) return { skip: 'order_not_sent' };
  const amounts = amountsAfter(received, conversion);
  if ('skip' in amounts) return amounts;
  const { event, currency, orderId } = conversion.opening.data;
  return {
    eventId: delivery.eventId ?? (orderId as string),
    event,
    currency,
    timeMs: occurredMsOf(conversion.opening),
    settledMs: settledMsOf(conversion, connection),
    ...amounts,
  };
}

/**
 * Whether a correction has to wait: for the conversion, which it must not overtake, and for earlier corrections, because the
 * last one that the platform gets determines the value.
 */
export function orderState(received: ReceivedConversion, connection: ConnectionKey): 'ready' | 'pending' | Skip {
  const { conversion, corrections } = orderOf(received);
  const isLater = ({ opening }: OrderEntry) => opening.position > received.position;
  const isAccepted = (entry: OrderEntry) => {
    const last = deliveryOf(entry, connection)?.last;
    return last !== undefined && isFinal(last) && !REFUSED.includes(last.status);
  };
  if (corrections.some((entry) => isLater(entry) && isAccepted(entry))) return { skip: 'superseded' };
  const earlier = corrections.filter(({ opening }) => opening.position < received.position);
  const isWaiting = (entry: OrderEntry) => {
    const delivery = deliveryOf(entry, connection);
    return delivery !== undefined && !(delivery.last && isFinal(delivery.last));
  };
  return [...(conversion ? [conversion] : []), ...earlier].some(isWaiting) ? 'pending' : 'ready';
}

/** Sums up the refunds in log order, in which every attempt finds the same ones before this one. */
function amountsAfter(
  received: ReceivedConversion,
  { opening }: OrderEntry,
): Pick<CorrectedOrder, 'refunded' | 'remaining' | 'correctedMs'> | Skip {
  const { value, currency } = opening.data;
  let left = value;
  let isRefunded = false;
  let second = Math.floor(occurredMsOf(opening) / 1_000);
  for (const { opening: correction } of orderOf(received).corrections) {
    if (correction.position > received.position) break;
    // By the time of receipt, which grows with the position. The platform ignores a second correction of the same second.
    second = Math.max(Math.floor(Date.parse(correction.time) / 1_000), second + 1);
    const { data } = correction;
    const remaining = data.value === undefined ? 0 : difference(left, data.currency === currency ? data.value : 0);
    if (correction.position === received.position) {
      if (isRefunded) return { skip: 'already_refunded' };
      if (remaining === undefined) return { skip: 'value_required' };
      if (data.value !== undefined && data.currency !== currency) return { skip: 'currency_differs' };
      return { refunded: difference(left, remaining), remaining, correctedMs: second * 1_000 };
    }
    isRefunded ||= remaining === 0;
    left = remaining;
  }
  throw new TypeError('The order does not contain its correction');
}

/** At least 0, in millionths; undefined if the minuend is not known. */
function difference(from: number | undefined, amount: number): number | undefined {
  return from === undefined ? undefined : Math.max(0, Math.round((from - amount) * 1e6) / 1e6);
}

function orderOf({ order }: ReceivedConversion): OrderHistory {
  if (!order) throw new TypeError('The order of the correction was not read');
  return order;
}

function deliveryOf({ events }: OrderEntry, connection: ConnectionKey): Delivery | undefined {
  return foldDeliveries(events).find(({ platform }) => platform === connection);
}

/** `accepted` is final when no confirmation is awaited. */
function isFinal({ status, nextTry }: Outcome): boolean {
  return status !== 'deferred' && (status !== 'accepted' || nextTry === undefined);
}

function settledMsOf({ events }: OrderEntry, connection: ConnectionKey): number | undefined {
  const last = events.findLast((event) => isOutcome(event) && event.data.platform === connection);
  return last && Date.parse(last.time);
}
