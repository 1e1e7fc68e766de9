import { type DataSchema, type JsonSchema, position, type SchemasOf, time, uuid } from '../log/event-schema.js';
import type { FailedTry, OutboundEvent, Stretch, Try } from './stretch.js';

const count: JsonSchema = { type: 'integer', minimum: 0 };

const stretch: DataSchema<Stretch>['properties'] = {
  stretchId: { ...uuid, description: 'The webhook-id of every push of it.' },
  fromPosition: { ...position, description: 'Exclusive: where the one before ended.' },
  toPosition: { ...position, description: 'Inclusive.' },
  windowStart: time,
  windowEnd: time,
  body: {
    type: 'object',
    description: 'What is pushed.',
    properties: { conversions: count, bot_traffic_removed: count },
    required: ['conversions', 'bot_traffic_removed'],
    additionalProperties: false,
  },
};
const ofStretch = ['stretchId', 'fromPosition', 'toPosition', 'windowStart', 'windowEnd', 'body'] as const;

const tried: DataSchema<Try>['properties'] = {
  attempt: { type: 'integer', minimum: 1, description: 'Counts the tries of this stretch.' },
  durationMs: { type: 'number', minimum: 0 },
  httpStatus: { type: 'integer' },
};
const failed: DataSchema<FailedTry>['properties'] = {
  ...tried,
  reason: { type: 'string' },
  failures: { ...count, description: 'How many in a row.' },
  failingSince: time,
  nextTry: { ...time, description: 'Absent where none follows until somebody enables the webhook again.' },
};
const common = { type: 'object', additionalProperties: false } as const;

export const outboundSchemas: SchemasOf<OutboundEvent> = {
  'outbound.closed.v1': {
    summary: 'A stretch of the log was counted and closed. Nothing about it ever changes.',
    data: { ...common, properties: stretch, required: ofStretch },
  },
  'outbound.delivered.v1': {
    summary: 'The receiver took the totals: the next stretch begins where this one ends.',
    data: { ...common, properties: { ...stretch, ...tried }, required: [...ofStretch, 'attempt', 'durationMs'] },
  },
  'outbound.failed.v1': {
    summary: 'The receiver did not take the totals.',
    data: {
      ...common,
      properties: { ...stretch, ...failed },
      required: [...ofStretch, 'attempt', 'durationMs', 'reason', 'failures', 'failingSince'],
    },
  },
};
