import { type ConversionEvent, isOpening } from '../conversions/conversion.js';
import { CONVERSION } from '../dispatch/delivery.js';
import { UserError } from '../kernel/errors.js';
import { isUuid } from '../kernel/uuid.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { printable } from './output.js';

/** All that the log knows of one conversion. */
export interface ConversionStory {
  readonly conversion: Record<string, unknown> & { readonly status: string; readonly time: string };
  readonly match: null;
  readonly consent: null;
  readonly deliveries: readonly never[];
  readonly events: readonly StoredEvent[];
}

/** With a host: only if it is that site's. */
export async function findByConversion(
  log: EventLog,
  host: string | undefined,
  conversionId: string,
): Promise<ConversionStory> {
  const events = isUuid(conversionId) ? await log.readStream(CONVERSION, conversionId.toLowerCase()) : [];
  const [opening] = events;
  if (!opening || !isOpening(opening) || opening.site !== (host ?? opening.site)) {
    throw new UserError(`${host ?? 'The log'} has no conversion ${conversionId}. "events tail" shows the newest ones.`);
  }
  return tell(log, opening, events);
}

/** The newest conversion with the order that was not a repeat of another one. */
export async function findByOrder(log: EventLog, host: string, orderId: string): Promise<ConversionStory> {
  const openings = (await log.find(host, orderId)).filter(isOpening);
  const opening = openings.filter((event) => !isDuplicate(event)).at(-1);
  if (!opening) {
    const next = `"events tail --site ${host}" shows the newest ones`;
    throw new UserError(`${host} has no conversion with order ${orderId}. ${next}.`);
  }
  return tell(log, opening, await log.readStream(CONVERSION, opening.data['conversionId'] as string));
}

async function tell(log: EventLog, opening: StoredEvent, own: readonly StoredEvent[]): Promise<ConversionStory> {
  const { conversionId, orderId } = opening.data as unknown as ConversionEvent['data'];
  const sameOrder = orderId === undefined ? [] : await log.find(opening.site, orderId);
  const repeats = sameOrder.filter((event) => isDuplicate(event) && event.data['firstConversionId'] === conversionId);
  return {
    conversion: { ...opening.data, status: statusOf(opening), time: opening.time },
    match: null,
    consent: null,
    deliveries: [],
    events: [...own, ...repeats].sort((one, other) => one.position - other.position),
  };
}

export function storyText({ conversion, events }: ConversionStory): string {
  const [opening] = events as [StoredEvent];
  const lines = [
    `Conversion ${conversion['conversionId']} of ${opening.site}: ${conversion.status}`,
    `  ${whatWasSent(opening)}`,
    '',
  ];
  for (const event of events) lines.push(`  ${event.time}  ${sentence(event, opening)}`);
  return `${lines.map(printable).join('\n')}\n`;
}

function whatWasSent({ data }: StoredEvent): string {
  const { event, value, currency, orderId, trial } = data as unknown as ConversionEvent['data'];
  const amount = value === undefined ? 'no value' : `${value} ${currency}`;
  return [event, amount, orderId === undefined ? 'no order' : `order ${orderId}`, ...(trial ? ['trial'] : [])].join(
    ', ',
  );
}

function sentence(stored: StoredEvent, opening: StoredEvent): string {
  const event = stored as unknown as ConversionEvent & { actor: string };
  switch (event.type) {
    case 'conversion.received.v1':
      return `received from ${event.actor}`;
    case 'conversion.filtered.v1':
      return `filtered, ${event.data.reason}, from ${event.actor}`;
    case 'conversion.deduplicated.v1': {
      const differs = event.data.differs.length === 0 ? 'nothing' : event.data.differs.join(', ');
      const which =
        stored.stream === opening.stream
          ? `a repeat of ${event.data.firstConversionId}`
          : `came again as ${event.data.conversionId}`;
      return `${which} from ${event.actor}; ${differs} differed`;
    }
    default:
      return `${stored.type} ${JSON.stringify(stored.data)}`;
  }
}

function isDuplicate(event: StoredEvent): boolean {
  return event.type === 'conversion.deduplicated.v1';
}

/** `received`, `deduplicated` or `filtered`. */
function statusOf(opening: StoredEvent): string {
  return opening.type.split('.')[1] as string;
}
