import type { IHeaders, KafkaMessage, Message } from 'kafkajs';
import { schemaUri } from '../events/json-schema.js';
import { actorWithoutUser, hasUnpublished, publishedFields } from '../events/unpublished-fields.js';
import type { StoredEvent } from '../log/event.js';
import type { PublicEvent } from '../log/event-reader.js';

/** The data without what does not leave the database, and without the users of the operating system whose imported conversions were refused. */
export function publishedData(type: string, data: string): string {
  // Only these are parsed: all others are published as they are stored.
  if (hasUnpublished(type, data)) return JSON.stringify(publishedFields(type, JSON.parse(data)));
  return type === 'inbound.rejected.v1' && data.includes('"cli:')
    ? JSON.stringify(JSON.parse(data, withoutUser))
    : data;
}

function withoutUser(name: string, value: unknown): unknown {
  return name === 'by' && typeof value === 'string' ? actorWithoutUser(value) : value;
}

/** The extensions of `toMessage`, which versions before 0.3 did not write. */
const EXTENSIONS = ['ce_sequence', 'ce_site', 'ce_version', 'ce_actor', 'ce_dataschema'];

/** Whether the version that wrote the record wrote this header. A version that wrote one extension wrote all of them. */
export function isHeaderOf({ headers }: Pick<KafkaMessage, 'headers'>, name: string): boolean {
  return !EXTENSIONS.includes(name) || EXTENSIONS.some((extension) => headers?.[extension] !== undefined);
}

/**
 * CloudEvents 1.0 in binary mode: the value is the event's data, the envelope is in the headers. Position, site and version
 * are there twice: SDKs only read headers that begin with `ce_`, and existing consumers read `cc_`.
 */
export function toMessage(event: PublicEvent, cell: string, partition: number): Message {
  const position = String(event.position);
  const version = String(event.version);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ce_specversion: '1.0',
    ce_id: event.id,
    ce_type: event.type,
    ce_source: `/clean-conversions/${cell}`,
    ce_subject: event.stream,
    ce_time: event.time,
    ce_dataschema: schemaUri(event.type),
    ce_sequence: position,
    ce_version: version,
    ce_actor: actorWithoutUser(event.actor),
    cc_position: position,
    cc_site: event.site,
    cc_version: version,
  };
  // CloudEvents has no empty attributes.
  if (event.site !== '') headers['ce_site'] = event.site;
  return { key: event.stream, value: publishedData(event.type, event.data), partition, headers };
}

/** NaN for a message that the relay did not write. */
export function positionIn(message: KafkaMessage): number {
  return Number(headerText(message.headers, 'cc_position') ?? Number.NaN);
}

/** Others may be able to write to the topics. What they wrote is reported by `history verify`, and keeps nothing from being published. */
export function isOfRelay(message: KafkaMessage): boolean {
  return Number.isSafeInteger(positionIn(message));
}

export function idIn(message: KafkaMessage): string | undefined {
  return headerText(message.headers, 'ce_id');
}

/** The stored event without `personal`, which is not published, and without `actor`, whose user is not. */
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
