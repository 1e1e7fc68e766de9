import * as z from 'zod/mini';
import { derivedUuid } from '../kernel/uuid.js';
import {
  amount,
  count,
  described,
  type EventsOf,
  event,
  position,
  sha256,
  strings,
  text,
  time,
  uuid,
} from './event-declaration.js';

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

/** The stream of the definitions of platforms. */
export const DEFINITIONS_STREAM = derivedUuid('log platform definitions');

/** The stream of the rules by which alerts start. */
export const ALERT_RULES_STREAM = derivedUuid('log alert rules');

/** The stream of the channels that alerts are sent to. */
export const ALERT_CHANNELS_STREAM = derivedUuid('log alert channels');

const channelId = described(uuid, 'Id of the channel.');

export const logEvents = {
  'log.clock_stepped.v1': event("The database's clock stepped by more than 5 s.", {
    before: described(time, 'The time that the database was expected to have.'),
    after: described(time, 'The time that it had.'),
    stepMs: described(z.int(), '`after` minus `before`.'),
    followed: described(
      z.boolean(),
      'Whether the new time was followed at once. Otherwise appends were refused until the clock had stepped back, or had been steady for 30 s.',
    ),
    instance: text('Host name of the instance that noticed it first.'),
  }),
  'log.failed_over.v1': event(
    'The database was failed over to another server or restored. Each instance that lost events by it records its own.',
    {
      lineage: text(
        'System identifier and timeline of the server, and oids of the database and of `cc.lineage`, separated by blanks.',
      ),
      kept: described(position, 'The last position that is left from before.'),
      continuesAt: described(
        position,
        'Positions of new events start here. What was seen between `kept` and this position is lost.',
      ),
      lostEvents: described(count, 'How many events of the instance are lost, acknowledged ones among them.'),
      lost: described(
        z.array(z.strictObject({ first: position, last: position })),
        'Their positions, at most 1,000 ranges.',
      ),
      instance: text('Host name of the instance.'),
      startedAfter: z.exactOptional(
        described(
          z.literal(true),
          'The instance started after it, and no other had recorded it: what was lost is not known.',
        ),
      ),
    },
  ),
  'log.partition_removed.v1': event(
    'Retention removed a partition of the log, except the events of categories that it keeps.',
    {
      first: described(position, 'Position of the first event that was removed.'),
      last: described(position, 'Position of the last one.'),
      events: described(count, 'How many were removed.'),
      digest: described(
        sha256,
        'SHA-256 over the heads of the batches of which nothing is left but their seal, in order.',
      ),
      signature: text('JWS of the key that signs checkpoints, over the four other fields.'),
    },
  ),
  'log.key_rotated.v1': event('Checkpoints of the log are signed by another key from now on.', {
    keyId: text('Thumbprint of the new public key (RFC 7638).'),
    publicKey: text('The new public key in PEM.'),
    previousKeyId: text('Thumbprint of the key before.'),
    signature: text('JWS of the key before, over the three other fields.'),
  }),
  'log.platform_defined.v1': event('A platform was defined, or its definition replaced. Connections hold their own.', {
    name: text('The name that it is connected by.'),
    definition: text('The definition as JSON, without secrets.'),
  }),
  'log.alert_channel_added.v1': event('Alerts are sent to another channel. Its address is not part of the event.', {
    channelId,
    kind: z.enum(['email', 'slack', 'webhook']),
    sites: described(z.nullable(strings), 'Hosts; null: all sites, and what concerns none.'),
    kinds: described(z.nullable(strings), 'Of what needs attention; null: the default ones.'),
    severity: described(z.enum(['error', 'warning']), 'The least severe that it is told of.'),
  }),
  'log.alert_channel_paused.v1': event('The channel is told of nothing until it is resumed.', {
    channelId: described(z.nullable(uuid), 'Null: all channels, because the database was restored.'),
  }),
  'log.alert_channel_resumed.v1': event('The channel is told of alerts again.', { channelId }),
  'log.alert_channel_removed.v1': event('Alerts are no longer sent to the channel.', { channelId }),
  'log.alert_rules_changed.v1': event('The rules by which things need attention, and alerts start, were changed.', {
    refusedPercent: described(amount, 'Refused conversions of a connection in a day, in percent.'),
    silentGaps: described(amount, 'How many times the usual gap between conversions a site may be silent.'),
    matchRateDropPercent: described(amount, 'How much less than usual is matched, in percent of the usual share.'),
    connectionExpiryDays: described(amount, 'Before the end of the access token of a platform.'),
    tokenExpiryDays: described(amount, 'Before the end of an API token.'),
  }),
  'log.version_started.v1': event('An instance started with another version than the one recorded before.', {
    version: text('The version of the product, such as `0.3.0`.'),
  }),
};
export type LogEvent = EventsOf<typeof logEvents>;
