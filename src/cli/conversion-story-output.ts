import type { StoredOpening } from '../conversions/conversion.js';
import { isOutcome } from '../delivery/delivery.js';
import type { DeliveryHistory } from '../delivery/delivery-history.js';
import type { StoredEvent } from '../log/event.js';
import type { ConversionStory } from './conversion-story.js';
import { printable } from './output.js';

/** For people: what was sent, what happened to it, and then platform by platform. */
export function storyText({ conversion, deliveries, events }: ConversionStory): string {
  const [opening] = events as [StoredOpening];
  const { conversionId, status, key } = conversion;
  const lines = [
    `Conversion ${conversionId} of ${opening.site}: ${status}`,
    `  ${whatWasSent(opening)}`,
    ...(key ? [`  key ${key.name}, ${key.prefix}…`] : []),
    '',
    // Outcomes stand with the delivery they belong to.
    ...events.filter((event) => !isOutcome(event)).map((event) => `  ${event.time}  ${sentence(event, opening)}`),
    ...deliveries.flatMap(deliveryLines),
  ];
  return `${lines.map(printable).join('\n')}\n`;
}

function whatWasSent({ data }: StoredOpening): string {
  const { event, value, currency, orderId, trial } = data;
  const amount = value === undefined ? 'no value' : `${value} ${currency}`;
  return [event, amount, orderId === undefined ? 'no order' : `order ${orderId}`, ...(trial ? ['trial'] : [])].join(
    ', ',
  );
}

function sentence(event: StoredEvent, opening: StoredEvent): string {
  switch (event.type) {
    case 'conversion.received.v1':
      return `received from ${event.actor}`;
    case 'conversion.filtered.v1':
      return `filtered, ${event.data.reason}, from ${event.actor}`;
    case 'conversion.deduplicated.v1': {
      const differs = event.data.differs.length === 0 ? 'nothing' : event.data.differs.join(', ');
      const which =
        event.stream === opening.stream
          ? `a repeat of ${event.data.firstConversionId}`
          : `came again as ${event.data.conversionId}`;
      return `${which} from ${event.actor}; ${differs} differed`;
    }
    case 'conversion.send_requested.v1': {
      const { platform, eventId } = event.data;
      return `${event.actor} asked to send it to ${platform}${eventId === undefined ? '' : ` as ${eventId}`}`;
    }
    default:
      return `${event.type} ${JSON.stringify(event.data)}`;
  }
}

function deliveryLines({ platform, status, reason, attempts, payload, payloadIsExact }: DeliveryHistory): string[] {
  const heading = payloadIsExact ? 'its payload' : 'its payload as it is spelled now, which is not as it was sent';
  return [
    '',
    `${platform}: ${status}${reason === undefined ? '' : `, ${reason}`}`,
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
    `attempt ${number}: ${status}`,
    reason,
    httpStatus === undefined ? undefined : `HTTP ${httpStatus}`,
    durationMs === undefined ? undefined : `${durationMs} ms`,
    eventId === undefined ? undefined : `as ${eventId}`,
    requestId === undefined ? undefined : `request ${requestId}`,
    nextTry === undefined ? undefined : `${status === 'accepted' ? 'asked about' : 'again'} at ${nextTry}`,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}
