import { count, type SchemasOf, time } from './event-schema.js';

/** Category of the streams about conversions that were refused. */
export const INBOUND = 'inbound';

export interface RejectedConversions {
  /** When the first of them was refused; the last one was refused just before the event was appended. */
  readonly since: string;
  readonly count: number;
  /** How many were refused for each reason. */
  readonly reasons: Readonly<Record<string, number>>;
  /** Some of them, without any value that was sent. `by` is an actor, such as `key:<id>`. */
  readonly sample: readonly { readonly time: string; readonly reason: string; readonly by: string }[];
}

export type InboundEvent =
  /** Conversions of a site that were refused since the last such event of the same instance. */
  { type: 'inbound.rejected.v1'; data: RejectedConversions };

const reason = {
  type: 'string',
  description: 'The invalid field, such as email; or what was wrong with the body, such as syntax.',
} as const;

export const inboundSchemas: SchemasOf<InboundEvent> = {
  'inbound.rejected.v1': {
    summary: 'Conversions of the site were refused, because a field was invalid or the body could not be read.',
    data: {
      type: 'object',
      properties: {
        since: { ...time, description: 'When the first of them was refused.' },
        count: { ...count, minimum: 1 },
        reasons: { type: 'object', additionalProperties: count, description: 'How many for each reason.' },
        sample: {
          type: 'array',
          description: 'Some of them, without any value that was sent.',
          items: {
            type: 'object',
            properties: { time, reason, by: { type: 'string', description: 'Who sent it: key:<id>, or cli:<user>.' } },
            required: ['time', 'reason', 'by'],
            additionalProperties: false,
          },
        },
      },
      required: ['since', 'count', 'reasons', 'sample'],
      additionalProperties: false,
    },
  },
};
