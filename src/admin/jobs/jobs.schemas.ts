import { z } from 'zod';
import { REPLAY_STATUSES } from '../../delivery/replay-deliveries.command.js';
import { EVENT_SCHEMAS } from '../../events/index.js';
import { JOB_KINDS } from '../../events/site.events.js';
import { FORMATS, type FormatName } from '../../history/export-formats.js';
import { JOB_STATES } from '../../jobs/job.js';
import { conversionFields } from '../conversions/conversions.schemas.js';
import { bound, connectionName, host, time } from '../schemas.js';

const from = bound.optional();
const to = bound.optional().meta({ description: 'Exclusive. Default: now.' });
export const newJobSchema = z
  .union([
    z
      .object({
        kind: z.literal('export'),
        format: z.enum(Object.keys(FORMATS) as [FormatName, ...FormatName[]]).default('ndjson'),
        types: z
          .array(z.enum(Object.keys(EVENT_SCHEMAS) as [string, ...string[]]))
          .min(1)
          .max(100)
          .optional(),
        from,
        to,
      })
      .strict(),
    z
      .object({
        kind: z.literal('export'),
        table: z.literal('conversions'),
        format: z.enum(Object.keys(FORMATS) as [FormatName, ...FormatName[]]).default('csv'),
        ...conversionFields,
        from,
        to,
      })
      .strict()
      .meta({ description: 'One row per matching conversion and one column per connection, as of now.' }),
    z
      .object({
        kind: z.literal('replay'),
        platform: connectionName,
        from,
        to,
        conversion: z.uuid().optional().meta({ description: 'One conversion instead of a range.' }),
        status: z.enum(REPLAY_STATUSES).optional().meta({ description: 'Default: failed and skipped.' }),
        force: z.boolean().default(false).meta({ description: 'Also if accepted, so that it counts twice.' }),
      })
      .strict()
      .meta({ description: 'A dry run: counts what would be sent.' }),
    z
      .object({ kind: z.literal('replay'), dryRun: z.uuid().meta({ description: 'The job of the dry run.' }) })
      .strict()
      .meta({ description: 'Sends what the dry run has counted.' }),
    z
      .object({
        kind: z.literal('shadow'),
        from: bound,
        to: bound,
        dedupWindow: z.string().max(20).optional(),
        botThreshold: z.int().min(0).max(100).optional(),
        settings: z.record(connectionName, z.record(z.string().max(100), z.string().max(4_096))).optional(),
      })
      .strict(),
  ])
  .meta({ id: 'NewJob' });

export const jobsQuery = z
  .object({
    site: host.optional().meta({ description: 'Only jobs of this site.' }),
    cursor: z.uuid().optional().meta({ description: '`next` of the page before.' }),
    limit: z.coerce.number().int().min(1).max(100).default(50),
  })
  .strict();

export const jobSchema = z
  .object({
    id: z.uuid(),
    site: host,
    kind: z.enum(JOB_KINDS),
    state: z.enum(JOB_STATES),
    actor: z.string(),
    request: z.record(z.string(), z.unknown()).meta({ description: 'With the positions of the range.' }),
    createdAt: time,
    startedAt: time.optional(),
    finishedAt: time.optional(),
    progress: z
      .object({
        done: z.number().meta({ description: 'From 0 to 1.' }),
        position: z.int(),
        items: z.int().meta({ description: 'Events or conversions so far.' }),
        perSecond: z.int(),
      })
      .optional(),
    result: z.record(z.string(), z.unknown()).optional(),
    reason: z.string().optional().meta({ description: 'Why it failed or was interrupted, or why its file is gone.' }),
    file: z.object({ bytes: z.int(), expiresAt: time }).optional(),
  })
  .meta({ id: 'Job' });

export const jobPageSchema = z.object({
  items: z.array(jobSchema),
  next: z.uuid().optional().meta({ description: 'Cursor of the next page. Without it there is none.' }),
});
