import { CONVERSION } from '../../events/conversion.events.js';
import type { StoredEvent } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import { scopeStartAt } from '../../sites/site-repository.js';
import type { OrderEntry, OrderHistory, ReceivedConversion } from '../received-conversion.js';

/** Bounds the work for one correction. Later ones of the order are not sent. */
const CORRECTIONS_MAX = 100;
/** Conversions and corrections that are read of an order: any number of them can be sent, each with other values. */
const OLDEST = { types: ['conversion.received.v1', 'conversion.filtered.v1'], limit: 2 * CORRECTIONS_MAX };
/** Event that is refunded, if an order has several conversions. */
const PURCHASE = 'purchase';

type ReadableLog = Pick<EventLog, 'find' | 'readStreams'>;

/** A correction with its order; any other conversion as it is. */
export async function withOrder<Conversion extends ReceivedConversion>(
  log: ReadableLog,
  received: Conversion,
): Promise<Conversion & Pick<ReceivedConversion, 'order'>> {
  return received.data.correction ? { ...received, order: await readOrder(log, received) } : received;
}

/** Reads only this site's events. Trial conversions and real ones have separate orders. */
async function readOrder(
  log: ReadableLog,
  { site, position, data: { orderId, trial } }: ReceivedConversion,
): Promise<OrderHistory> {
  if (orderId === undefined) return { corrections: [] };
  const sameOrder = await log.find(site, orderId, { ...OLDEST, after: await scopeStartAt(log, site, position) });
  const received = sameOrder.filter(isReceived).filter(({ data }) => data.trial === trial);
  const corrections = received.filter(({ data }) => data.correction).slice(0, CORRECTIONS_MAX);
  if (!corrections.some((correction) => correction.position === position)) return { corrections: [], isTooLarge: true };
  const before = received.filter((event) => !event.data.correction && event.position < position);
  const conversion = before.find(({ data }) => data.event === PURCHASE) ?? before[0];
  const openings = conversion ? [conversion, ...corrections] : corrections;
  const events = await log.readStreams(
    CONVERSION,
    openings.map(({ data }) => data.conversionId),
  );
  const toEntry = (opening: StoredEvent<'conversion.received.v1'>): OrderEntry => ({
    opening,
    events: events.filter(({ stream }) => stream === opening.stream),
  });
  return {
    conversion: conversion && toEntry(conversion),
    corrections: corrections.map(toEntry),
    isFiltered: sameOrder.some((event) => event.type === 'conversion.filtered.v1' && event.position < position),
  };
}

function isReceived(event: StoredEvent): event is StoredEvent<'conversion.received.v1'> {
  return event.type === 'conversion.received.v1';
}
