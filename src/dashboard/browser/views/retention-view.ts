import type { Schemas } from '../api.js';

/** How long each kind of data is stored, with the setting that says so. */
export function retentionRows({
  events,
  identifiers,
  unidentifiedVisits,
  topics,
}: Schemas['Installation']['retention']): (readonly [title: string, value: string, setting: string])[] {
  return [
    ['Events', events ?? 'kept forever', 'LOG_RETENTION'],
    ['Click ids and visits of known people', identifiers, 'IDENTIFIER_TTL'],
    ['Personal part of other visits', unidentifiedVisits, 'UNIDENTIFIED_TTL'],
    ...(topics === undefined ? [] : ([['Events on Kafka topics', topics, 'KAFKA_RETENTION']] as const)),
  ];
}
