import { count, type DataSchema, position, type SchemasOf, time, uuid } from './event-schema.js';

/** Category of the streams that hold one site's reporting windows, in order, and all attempts to push them. */
export const OUTBOUND = 'outbound';

/** The body of a push. */
export interface Totals {
  readonly conversions: number;
  readonly bot_traffic_removed: number;
}

/** A position range of the log that was counted and closed. It never changes. */
export interface ReportingWindow {
  readonly stretchId: string;
  /** Exclusive: the end of the previous window. */
  readonly fromPosition: number;
  /** Inclusive. */
  readonly toPosition: number;
  readonly windowStart: string;
  readonly windowEnd: string;
  readonly body: Totals;
  /** Where the log continued after the last restore or failover before the window was closed; absent if there was none. */
  readonly series?: number | undefined;
  /** With `series`: windows of earlier ones that end beyond this position are void. */
  readonly seriesStart?: number | undefined;
}

export interface PushAttempt {
  /** Number of this attempt for the window, from 1. */
  readonly attempt: number;
  readonly durationMs: number;
  readonly httpStatus?: number | undefined;
}

export interface FailedPushAttempt extends PushAttempt {
  readonly reason: string;
  /** Consecutive failures since the webhook was last set or enabled, and the time of the first. */
  readonly failures: number;
  readonly failingSince: string;
  /** Absent when no attempt follows until the webhook is enabled again. */
  readonly nextTry?: string | undefined;
}

/** Each event holds the whole window, so the last event of a stream alone gives the state of the site. */
export type OutboundEvent =
  /** Counted, not pushed yet. `removedUntil`: retention had removed the events up to there, so they are not counted. */
  | { type: 'outbound.closed.v1'; data: ReportingWindow & { readonly removedUntil?: number | undefined } }
  /** The receiver accepted the push: the next window starts where this one ends. */
  | { type: 'outbound.delivered.v1'; data: ReportingWindow & PushAttempt }
  | { type: 'outbound.failed.v1'; data: ReportingWindow & FailedPushAttempt };

const window: DataSchema<ReportingWindow>['properties'] = {
  stretchId: { ...uuid, description: 'Id of the reporting window: the webhook-id of every push of it.' },
  fromPosition: { ...position, description: 'Exclusive: the end of the previous window.' },
  toPosition: { ...position, description: 'Inclusive.' },
  windowStart: time,
  windowEnd: time,
  body: {
    type: 'object',
    description: 'The body of the push.',
    properties: { conversions: count, bot_traffic_removed: count },
    required: ['conversions', 'bot_traffic_removed'],
    additionalProperties: false,
  },
  series: {
    ...position,
    description:
      'Windows up to the next restore or failover of the log have it in common, and later ones have a higher one. Absent before the first.',
  },
  seriesStart: {
    ...position,
    description:
      'With `series`: windows of earlier series that end beyond this position are void. What they counted is lost, or counted again.',
  },
};
const ofWindow = ['stretchId', 'fromPosition', 'toPosition', 'windowStart', 'windowEnd', 'body'] as const;

const attempt: DataSchema<PushAttempt>['properties'] = {
  attempt: { type: 'integer', minimum: 1, description: 'Number of this attempt for the window, from 1.' },
  durationMs: { type: 'number', minimum: 0 },
  httpStatus: { type: 'integer' },
};
const failedAttempt: DataSchema<FailedPushAttempt>['properties'] = {
  ...attempt,
  reason: { type: 'string' },
  failures: { ...count, description: 'Consecutive failures.' },
  failingSince: time,
  nextTry: { ...time, description: 'Absent when no attempt follows until the webhook is enabled again.' },
};
const common = { type: 'object', additionalProperties: false } as const;

export const outboundSchemas: SchemasOf<OutboundEvent> = {
  'outbound.closed.v1': {
    summary: 'A reporting window was counted and closed. It never changes.',
    data: {
      ...common,
      properties: {
        ...window,
        removedUntil: {
          ...position,
          description:
            'Retention had removed the events up to there while the webhook was disabled: they are not counted.',
        },
      },
      required: ofWindow,
    },
  },
  'outbound.delivered.v1': {
    summary: 'The receiver accepted the totals: the next window starts where this one ends.',
    data: { ...common, properties: { ...window, ...attempt }, required: [...ofWindow, 'attempt', 'durationMs'] },
  },
  'outbound.failed.v1': {
    summary: 'The push of the totals failed.',
    data: {
      ...common,
      properties: { ...window, ...failedAttempt },
      required: [...ofWindow, 'attempt', 'durationMs', 'reason', 'failures', 'failingSince'],
    },
  },
};
