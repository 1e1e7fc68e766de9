import { derivedUuid } from '../kernel/uuid.js';
import { count, position, type SchemasOf, time } from './event-schema.js';

/** Category of the streams about the log itself. */
export const LOG = 'log';

/** These events belong to no site. */
export const NO_SITE = '';

/** The stream of the steps of the database's clock. */
export const CLOCK_STREAM = derivedUuid('log clock');

/** The stream of what retention has removed. */
export const RETENTION_STREAM = derivedUuid('log retention');

/** The stream of the keys that sign checkpoints. */
export const KEY_STREAM = derivedUuid('log keys');

export type LogEvent =
  | {
      type: 'log.clock_stepped.v1';
      data: { before: string; after: string; stepMs: number; followed: boolean; instance: string };
    }
  | {
      type: 'log.partition_removed.v1';
      data: { first: number; last: number; events: number; digest: string; signature: string };
    }
  | {
      type: 'log.key_rotated.v1';
      data: { keyId: string; publicKey: string; previousKeyId: string; signature: string };
    };

export const logSchemas: SchemasOf<LogEvent> = {
  'log.clock_stepped.v1': {
    summary: "The database's clock stepped by more than 5 s.",
    data: {
      type: 'object',
      properties: {
        before: { ...time, description: 'The time that the database was expected to have.' },
        after: { ...time, description: 'The time that it had.' },
        stepMs: { type: 'integer', description: '`after` minus `before`.' },
        followed: {
          type: 'boolean',
          description:
            'Whether the new time was followed at once. Otherwise appends were refused until the clock had stepped back, or had been steady for 30 s.',
        },
        instance: { type: 'string', description: 'Host name of the instance that noticed it first.' },
      },
      required: ['before', 'after', 'stepMs', 'followed', 'instance'],
      additionalProperties: false,
    },
  },
  'log.partition_removed.v1': {
    summary: 'Retention removed a partition of the log, except the events of categories that it keeps.',
    data: {
      type: 'object',
      properties: {
        first: { ...position, description: 'Position of the first event that was removed.' },
        last: { ...position, description: 'Position of the last one.' },
        events: { ...count, description: 'How many were removed.' },
        digest: {
          type: 'string',
          pattern: '^[0-9a-f]{64}$',
          description: 'SHA-256 over the heads of the batches of which nothing is left but their seal, in order.',
        },
        signature: {
          type: 'string',
          description: 'JWS of the key that signs checkpoints, over the four other fields.',
        },
      },
      required: ['first', 'last', 'events', 'digest', 'signature'],
      additionalProperties: false,
    },
  },
  'log.key_rotated.v1': {
    summary: 'Checkpoints of the log are signed by another key from now on.',
    data: {
      type: 'object',
      properties: {
        keyId: { type: 'string', description: 'Thumbprint of the new public key (RFC 7638).' },
        publicKey: { type: 'string', description: 'The new public key in PEM.' },
        previousKeyId: { type: 'string', description: 'Thumbprint of the key before.' },
        signature: { type: 'string', description: 'JWS of the key before, over the three other fields.' },
      },
      required: ['keyId', 'publicKey', 'previousKeyId', 'signature'],
      additionalProperties: false,
    },
  },
};
