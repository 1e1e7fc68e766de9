import { type JsonSchema, type SchemasOf } from './event-schema.js';

/** Category of the streams that hold failed authentication attempts of one site. */
export const AUTH = 'auth';

export type AuthFailure = 'missing' | 'malformed' | 'unknown' | 'revoked' | 'expired';

export type AuthEvent =
  /** A request had no key, or one that does not belong to the site. `instance` has counted it already. */
  | { type: 'auth.failed.v1'; data: { reason: AuthFailure; instance: string } }
  /** Number of failures past the limit since the last such event. */
  | { type: 'auth.throttled.v1'; data: { count: number; instance: string } };

const instance: JsonSchema = { type: 'string', description: 'The instance that counted the failure.' };

export const authSchemas: SchemasOf<AuthEvent> = {
  'auth.failed.v1': {
    summary: 'A request had no key, or one that does not belong to the site.',
    data: {
      type: 'object',
      properties: {
        reason: { type: 'string', enum: ['missing', 'malformed', 'unknown', 'revoked', 'expired'] },
        instance,
      },
      required: ['reason', 'instance'],
      additionalProperties: false,
    },
  },
  'auth.throttled.v1': {
    summary: 'Number of failures past the limit.',
    data: {
      type: 'object',
      properties: { count: { type: 'integer', minimum: 1 }, instance },
      required: ['count', 'instance'],
      additionalProperties: false,
    },
  },
};
