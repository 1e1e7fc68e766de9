import { z } from 'zod';
import type { OutcomeStatus } from '../../events/delivery.events.js';
import { SYNC_STATUSES } from '../../kernel/sync-statuses.js';
import { PLATFORM_NAMES } from '../../platforms/platform.js';
import { pageQuery } from '../events/event-pages.js';
import { bound, connectionName, time } from '../schemas.js';

/** How attempts are selected. */
export const attemptFields = {
  conversion: z.uuid().toLowerCase().optional().meta({ description: 'Id of a conversion.' }),
  order: z.string().min(1).max(1_000).optional().meta({ description: "The sender's order id." }),
  event: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'The event of the conversion, such as `purchase`.' }),
  reason: z.string().min(1).max(200).optional().meta({
    description: 'A part of the reason or of the HTTP status, in any case, such as `expired` or `HTTP 5`.',
  }),
  platform: z.enum(PLATFORM_NAMES).optional().meta({ description: 'All connections of a platform.' }),
  connection: connectionName.optional(),
  from: bound.optional().meta({ description: 'A time or a position, inclusive.' }),
  to: bound.optional().meta({ description: 'A time or a position, exclusive.' }),
};

export const syncQuery = pageQuery
  .extend({
    ...attemptFields,
    kind: z.enum(['delivery', 'push', 'inbound']).optional(),
    status: z.enum(SYNC_STATUSES satisfies readonly OutcomeStatus[]).optional(),
  })
  .strict();

export const syncLineSchema = z
  .object({
    position: z.int(),
    time,
    kind: z.enum(['delivery', 'push', 'inbound']),
    platform: z.string().optional(),
    conversionId: z.uuid().optional(),
    orderId: z.string().optional().meta({ description: "The sender's order id, of a delivery." }),
    event: z.string().optional().meta({ description: 'The event of the conversion, of a delivery.' }),
    attempt: z.int(),
    status: z.string(),
    reason: z.string().optional(),
    fix: z.string().optional().meta({ description: 'What a person can do about the reason, if its code is known.' }),
    httpStatus: z.int().optional(),
    durationMs: z.int(),
    nextTry: time.optional(),
    resolved: z
      .object({ time, status: z.string() })
      .optional()
      .meta({ description: 'The later attempt of the same delivery that the platform accepted.' }),
    window: z.record(z.string(), z.unknown()).optional(),
    payload: z.object({ conversions: z.int(), bot_traffic_removed: z.int() }).optional(),
    since: time.optional(),
    count: z.int().optional(),
    reasons: z.record(z.string(), z.int()).optional(),
    sample: z.array(z.object({ time, reason: z.string(), by: z.string() })).optional(),
  })
  .meta({ id: 'SyncLine' });
