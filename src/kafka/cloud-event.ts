import type { IHeaders, KafkaMessage, Message } from 'kafkajs';
import { publishedFields, UNPUBLISHED_FIELDS } from '../events/unpublished-fields.js';
import type { StoredEvent } from '../log/event.js';
import type { PublicEvent } from '../log/event-reader.js';

/** The data without what does not leave the database: the hash of an API key, which only authentication needs. */
export function publishedData(type: string, data: string): string {
  // Only these are parsed: all others are published as they are stored.
  return type in UNPUBLISHED_FIELDS ? JSON.stringify(publishedFields(type, JSON.parse(data))) : data;
}

/** CloudEvents 1.0 in binary mode: the value is the event's data, the envelope is in the headers. */
export function toMessage(event: PublicEvent, cell: string, partition: number): Message {
  return {
    key: event.stream,
    value: publishedData(event.type, event.data),
    partition,
    headers: {
      'content-type': 'application/json',
      ce_specversion: '1.0',
      ce_id: event.id,
      ce_type: event.type,
      ce_source: `/clean-conversions/${cell}`,
      ce_subject: event.stream,
      ce_time: event.time,
      cc_position: String(event.position),
      cc_site: event.site,
      cc_version: String(event.version),
    },
  };
}

/** NaN for a message that the relay did not write. */
export function positionIn(message: KafkaMessage): number {
  return Number(headerText(message.headers, 'cc_position') ?? Number.NaN);
}

export function idIn(message: KafkaMessage): string | undefined {
  return headerText(message.headers, 'ce_id');
}

/** The stored event, except for `personal` and `actor`, which are never published. */
export function fromMessage(message: KafkaMessage): StoredEvent {
  const header = (name: string) => headerText(message.headers, name) ?? '';
  return {
    position: positionIn(message),
    id: header('ce_id'),
    type: header('ce_type'),
    stream: header('ce_subject'),
    version: Number(header('cc_version')),
    site: header('cc_site'),
    time: header('ce_time'),
    actor: '',
    data: JSON.parse(String(message.value)),
    personal: null,
  } as StoredEvent;
}

function headerText(headers: IHeaders | undefined, name: string): string | undefined {
  const value = headers?.[name];
  return value === undefined ? undefined : String(value);
}
