import { z } from 'zod';
import { ATTENTION_KINDS, type AttentionItem, SEVERITIES } from '../../app/attention/attention-item.js';
import { host, time } from '../schemas.js';
import { asOfSchema } from '../statistics.schema.js';

const attentionItemSchema = z
  .object({
    kind: z.enum(ATTENTION_KINDS),
    severity: z.enum(SEVERITIES).meta({
      description: 'error: something is not sent, or not up to date, until a person acts.',
    }),
    site: host.optional(),
    platform: z.string().optional().meta({ description: 'Name of the connection.' }),
    subject: z.string().optional().meta({ description: 'Id of the key or token, or name of the projection.' }),
    time: time.optional().meta({ description: 'Since when, or when it expires.' }),
    count: z.int().optional().meta({
      description:
        'Deliveries that wait (up to 10,000), failed or became too old, conversions that usually come in the time of a silence, or whose match rate fell, events without a mapping, failed pushes, denials of the last 30 days, or events that are not folded.',
    }),
    detail: z.string(),
    action: z
      .object({
        label: z.string(),
        method: z.enum(['GET', 'POST', 'PUT']),
        route: z.string(),
        body: z.record(z.string(), z.boolean()).optional().meta({
          description:
            'Of the request. Without it there is none, or it has to be chosen, such as the settings of a connection.',
        }),
      })
      .meta({ description: 'The request that leads to the fix. The route is below /api/v1.' }),
  })
  .meta({ id: 'AttentionItem' }) satisfies z.ZodType<AttentionItem>;

export const attentionSchema = z
  .object({
    asOf: asOfSchema,
    health: z.enum(['ok', ...SEVERITIES]).meta({ description: 'The severity of the worst item.' }),
    items: z.array(attentionItemSchema).meta({ description: 'Errors before warnings.' }),
  })
  .meta({ id: 'Attention' });
