import type { Schemas } from '../api.js';

/** How long each kind of data is stored, with the setting that says so. */
export function retentionRows({
  events,
  personalParts,
  identifiers,
  unidentifiedVisits,
  topics,
}: Schemas['Installation']['retention']): (readonly [title: string, value: string, setting: string])[] {
  return [
    ['Events', events ?? 'kept forever', 'LOG_RETENTION'],
    ['Personal parts of events', personalParts ?? 'kept as long as the events', 'PERSONAL_RETENTION'],
    ['Click ids and visits of known people', identifiers, 'IDENTIFIER_TTL'],
    ['Personal part of other visits', unidentifiedVisits, 'UNIDENTIFIED_TTL'],
    ...(topics === undefined ? [] : ([['Events on Kafka topics', topics, 'KAFKA_RETENTION']] as const)),
  ];
}
