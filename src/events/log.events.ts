import { derivedUuid } from '../kernel/uuid.js';
import { count, position, type SchemasOf, time } from './event-schema.js';

/** Category of the streams about the log itself. */
export const LOG = 'log';

/** These events belong to no site. */
export const NO_SITE = '';

/** The stream of the steps of the database's clock. */
export const CLOCK_STREAM = derivedUuid('log clock');

/** The stream of failovers and restores of the database. */
export const FAILOVER_STREAM = derivedUuid('log failovers');

/** The stream of what retention has removed. */
export const RETENTION_STREAM = derivedUuid('log retention');

/** The stream of the keys that sign checkpoints. */
export const KEY_STREAM = derivedUuid('log keys');

/** The stream of the versions of the product that wrote the log. */
export const VERSION_STREAM = derivedUuid('log versions');

export type LogEvent =
  | {
      type: 'log.clock_stepped.v1';
      data: { before: string; after: string; stepMs: number; followed: boolean; instance: string };
    }
  | {
      type: 'log.failed_over.v1';
      data: {
        lineage: string;
        kept: number;
        continuesAt: number;
        lostEvents: number;
        lost: readonly { first: number; last: number }[];
        instance: string;
        startedAfter?: true;
      };
    }
  | {
      type: 'log.partition_removed.v1';
      data: { first: number; last: number; events: number; digest: string; signature: string };
    }
  | {
      type: 'log.key_rotated.v1';
      data: { keyId: string; publicKey: string; previousKeyId: string; signature: string };
    }
  | {
      type: 'log.version_started.v1';
      data: { version: string };
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
  'log.failed_over.v1': {
    summary:
      'The database was failed over to another server or restored. Each instance that lost events by it records its own.',
    data: {
      type: 'object',
      properties: {
        lineage: {
          type: 'string',
          description:
            'System identifier and timeline of the server, and oids of the database and of `cc.lineage`, separated by blanks.',
        },
        kept: { ...position, description: 'The last position that is left from before.' },
        continuesAt: {
          ...position,
          description: 'Positions of new events start here. What was seen between `kept` and this position is lost.',
        },
        lostEvents: {
          ...count,
          description: 'How many events of the instance are lost, acknowledged ones among them.',
        },
        lost: {
          type: 'array',
          description: 'Their positions, at most 1,000 ranges.',
          items: {
            type: 'object',
            properties: { first: position, last: position },
            required: ['first', 'last'],
            additionalProperties: false,
          },
        },
        instance: { type: 'string', description: 'Host name of the instance.' },
        startedAfter: {
          const: true,
          description: 'The instance started after it, and no other had recorded it: what was lost is not known.',
        },
      },
      required: ['lineage', 'kept', 'continuesAt', 'lostEvents', 'lost', 'instance'],
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
  'log.version_started.v1': {
    summary: 'An instance started with another version than the one recorded before.',
    data: {
      type: 'object',
      properties: { version: { type: 'string', description: 'The version of the product, such as `0.3.0`.' } },
      required: ['version'],
      additionalProperties: false,
    },
  },
};
