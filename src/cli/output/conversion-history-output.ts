import type { StoredOpening } from '../../conversions/conversion.js';
import { isOutcome } from '../../delivery/delivery.js';
import type { DeliveryHistory } from '../../delivery/delivery-history.js';
import type { ConversionHistory } from '../../history/conversion-history.js';
import { outcomeWord } from '../../kernel/outcome-words.js';
import type { StoredEvent } from '../../log/event.js';
import { printable } from './table.js';

/** The request and its events, followed by the deliveries of each platform. */
export function historyText({ conversion, deliveries, events }: ConversionHistory): string {
  const [opening] = events as [StoredOpening];
  const { conversionId, status, key } = conversion;
  const lines = [
    `Conversion ${conversionId} of ${opening.site}: ${outcomeWord(status)}`,
    `  ${requestText(opening)}`,
    ...(key ? [`  key ${key.name}, ${key.prefix}…`] : []),
    '',
    // Outcomes are printed with their delivery.
    ...events.filter((event) => !isOutcome(event)).map((event) => `  ${event.time}  ${eventText(event, opening)}`),
    ...deliveries.flatMap(deliveryLines),
  ];
  return `${lines.map(printable).join('\n')}\n`;
}

function requestText({ data }: Pick<StoredOpening, 'data'>): string {
  const { event, value, currency, orderId, occurredAt, source, items, trial, correction } = data;
  const parts = [
    correction ? `${event}, a correction` : event,
    value === undefined ? 'no value' : `${value} ${currency}`,
    orderId === undefined ? 'no order' : `order ${orderId}`,
    items && `${items.length} ${items.length === 1 ? 'item' : 'items'}`,
    source && `from ${source}`,
    occurredAt && `occurred at ${occurredAt}`,
    trial ? 'trial' : undefined,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}

function eventText(event: StoredEvent, opening: StoredEvent): string {
  switch (event.type) {
    case 'conversion.received.v1':
      return event.stream === opening.stream
        ? `received from ${event.actor}`
        : `correction ${event.data.conversionId} received from ${event.actor}: ${requestText(event)}`;
    case 'conversion.filtered.v1':
      return `filtered, ${event.data.reason}, from ${event.actor}`;
    case 'conversion.deduplicated.v1': {
      const differs = event.data.differs.length === 0 ? 'no field' : event.data.differs.join(', ');
      const duplicate =
        event.stream === opening.stream
          ? `duplicate of ${event.data.firstConversionId}`
          : `duplicate ${event.data.conversionId}`;
      return `${duplicate} received from ${event.actor}; ${differs} differed`;
    }
    case 'conversion.send_requested.v1': {
      const { platform, eventId } = event.data;
      return `${event.actor} requested delivery to ${platform}${eventId === undefined ? '' : ` as ${eventId}`}`;
    }
    default:
      return `${event.type} ${JSON.stringify(event.data)}`;
  }
}

function deliveryLines({ platform, status, reason, attempts, payload, payloadIsExact }: DeliveryHistory): string[] {
  const heading = payloadIsExact ? 'payload' : 'payload as built today, which differs from the one that was sent';
  return [
    '',
    `${platform}: ${outcomeWord(status, reason)}${reason === undefined ? '' : `, ${reason}`}`,
    ...attempts.map((attempt) => `  ${attempt.time}  ${attemptText(attempt)}`),
    ...(payload === undefined
      ? []
      : [
          `  ${heading}:`,
          ...JSON.stringify(payload, null, 2)
            .split('\n')
            .map((line) => `    ${line}`),
        ]),
  ];
}

function attemptText(attempt: DeliveryHistory['attempts'][number]): string {
  const { attempt: number, status, reason, httpStatus, durationMs, requestId, eventId, nextTry } = attempt;
  const parts = [
    `attempt ${number}: ${outcomeWord(status, reason)}`,
    reason,
    httpStatus === undefined ? undefined : `HTTP ${httpStatus}`,
    durationMs === undefined ? undefined : `${durationMs} ms`,
    eventId === undefined ? undefined : `as ${eventId}`,
    requestId === undefined ? undefined : `request ${requestId}`,
    nextTry === undefined
      ? undefined
      : `${status === 'accepted' ? 'confirmation check' : 'next attempt'} at ${nextTry}`,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}
