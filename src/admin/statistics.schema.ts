import { z } from 'zod';
import { UserError } from '../kernel/errors.js';
import { STANDARD_EVENTS } from '../platforms/standard-event.js';
import { CONNECTION_CHANGES } from '../statistics/annotations.js';
import { INTERVALS, isTimeZone, type Period } from '../statistics/buckets.js';
import { EVENT_ROUTES } from '../statistics/received-events.js';
import { GROUPINGS } from '../statistics/sources.js';
import { connectionName, host, time } from './schemas.js';

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;

/** Beyond, neither dates nor the sums of a request are of any use. */
const moment = z.iso.datetime({ offset: true }).regex(/^(?:20|21)\d\d-/, 'is not between the years 2000 and 2199');

export const periodQuery = z
  .object({
    from: moment.optional().meta({ description: 'Default: seven days before `to`.' }),
    to: moment.optional().meta({ description: 'Exclusive. Default: now.' }),
  })
  .strict();

export const seriesQuery = periodQuery
  .extend({
    interval: z.enum(INTERVALS).default('day'),
    timeZone: z
      .string()
      .max(64)
      .refine(isTimeZone, 'is not the name of a time zone, such as Europe/Berlin')
      .default('UTC')
      .meta({ description: 'IANA name. Days begin and end by its clock.', example: 'Europe/Berlin' }),
  })
  .strict();

export const sourcesQuery = periodQuery
  .extend({
    by: z.enum(GROUPINGS).default('source'),
    limit: z.coerce.number().int().min(1).max(100).default(20),
  })
  .strict();

export function toPeriod({ from, to }: z.output<typeof periodQuery>, nowMs: number): Period {
  const toMs = to === undefined ? nowMs : Date.parse(to);
  const fromMs = from === undefined ? toMs - WEEK_MS : Date.parse(from);
  if (fromMs >= toMs) throw new UserError('The period ends before it begins: `from` must be before `to`.');
  return { fromMs, toMs };
}

const count = z.int().min(0);
const share = z.number().min(0).max(1).nullable();

export const asOfSchema = z
  .object({
    position: z.int().meta({ description: 'Every event of the log up to this position is counted.' }),
    time: time.meta({ description: 'Every event before this time is counted.' }),
  })
  .meta({ id: 'AsOf' });

const counts = {
  conversions: count.meta({
    description: 'As the webhook pushes it: without duplicates, filtered ones and corrections.',
  }),
  botTrafficRemoved: count.meta({ description: 'As the webhook pushes it: filtered conversions, and visits of bots.' }),
  filtered: count.meta({ description: 'Filtered conversions.' }),
  duplicates: count,
  changedDuplicates: count.meta({ description: 'Duplicates with a field that differs from the first conversion.' }),
  matched: count.meta({ description: 'Conversions that were matched to a visit.' }),
  matchRate: share.meta({ description: 'Null without conversions.' }),
  refused: count.meta({ description: 'Conversions with an invalid field or body.' }),
  authenticationFailures: count,
};

const currencyValue = z.object({ currency: z.string(), conversions: count, value: z.number() });

const siteTotals = z.object({ site: host, ...counts, values: z.array(currencyValue) }).meta({ id: 'Totals' });

const totalsFields = {
  asOf: asOfSchema,
  from: time.meta({ description: 'The period that is counted: whole quarters of an hour.' }),
  to: time,
};

export const siteTotalsSchema = siteTotals.extend(totalsFields).meta({ id: 'SiteTotals' });
export const allTotalsSchema = z.object({ ...totalsFields, items: z.array(siteTotals) }).meta({ id: 'AllTotals' });

const deliveryCounts = z
  .object({
    delivered: count,
    accepted: count,
    confirmed: count,
    rejected: count,
    failed: count,
    skipped: count,
    acceptance: share.meta({ description: 'Share that the platform accepted; null if nothing was sent.' }),
  })
  .meta({ id: 'DeliveryCounts', description: 'Final outcomes, by the time of the outcome.' });

const bucket = z
  .object({
    start: time,
    end: time.meta({ description: 'Exclusive.' }),
    ...counts,
    platforms: z.record(z.string(), deliveryCounts).meta({ description: 'By the name of the connection.' }),
  })
  .meta({ id: 'Bucket' });

const annotation = z
  .union([
    z
      .object({
        time,
        kind: z.enum(CONNECTION_CHANGES),
        site: host,
        platform: z.string(),
        reason: z.string().optional(),
      })
      .meta({ description: 'What happened to a connection.' }),
    z
      .object({ time, kind: z.literal('version'), version: z.string() })
      .meta({ description: 'The service was started with another version, for all sites.' }),
  ])
  .meta({ id: 'Annotation' });

export const seriesSchema = z
  .object({
    asOf: asOfSchema,
    buckets: z.array(bucket),
    annotations: z.array(annotation).meta({ description: 'The newest 200, oldest first.' }),
  })
  .meta({ id: 'Series' });

const group = { conversions: count, values: z.array(currencyValue) };

export const sourcesSchema = z
  .object({
    ...totalsFields,
    items: z
      .array(
        z.object({
          source: z.string().nullable(),
          medium: z.string().nullable(),
          campaign: z.string().nullable().meta({ description: 'Null unless `by` is `campaign`.' }),
          click: z
            .string()
            .nullable()
            .meta({ description: 'Kind of the newest click id. Null unless `by` is `click`.' }),
          ...group,
        }),
      )
      .meta({ description: 'The largest groups.' }),
    other: z.object(group).meta({ description: 'All other groups together.' }),
    notMatched: z.object(group).meta({
      description: 'Without a visit. With `by` = `click`: without a visit, and without a click id of the sender.',
    }),
    unknown: count.meta({ description: 'Of erased people, or older than IDENTIFIER_TTL.' }),
    unknownMatched: count.meta({ description: 'Of the unknown ones, those that were matched to a visit.' }),
    matched: count.meta({
      description:
        'As in the totals of the same period. Unless `by` is `click` it is the sum of the items, `other` and `unknownMatched`.',
    }),
  })
  .meta({ id: 'Sources' });

const platformQuality = z.object({
  platform: z.string().meta({ description: 'Name of the connection.' }),
  conversions: count,
  matched: count.meta({ description: 'Of these, matched to a visit.' }),
  matchRate: share,
  identifiers: z
    .array(z.object({ identifier: z.string(), carried: count, share }))
    .meta({ description: 'Those that the connection sends, and how many conversions carried them.' }),
  helpsMost: z
    .object({ identifier: z.string(), missing: count })
    .nullable()
    .meta({ description: 'The identifier whose absence costs most; null if none is missing.' }),
});

export const matchQualitySchema = z
  .object({ ...totalsFields, items: z.array(platformQuality) })
  .meta({ id: 'MatchQuality' });

export const unusedFieldsSchema = z
  .object({
    ...totalsFields,
    items: z.array(
      z.object({
        field: z.string().meta({
          description: 'Of an unknown field a common misspelling; `other` stands for all other unknown names.',
        }),
        dropped: count.meta({ description: 'Conversions in which its value was not valid, in whole or in part.' }),
        unknown: count.meta({ description: 'Conversions that have it although it is not the name of a field.' }),
        use: z.string().optional().meta({ description: 'The right name of an unknown field.', example: 'orderId' }),
      }),
    ),
  })
  .meta({ id: 'UnusedFields' });

const eventRoute = z.object({
  platform: connectionName,
  state: z.enum(EVENT_ROUTES).meta({
    description:
      '`not_mapped`: the platform has no event of this name, and gets nothing. `not_selected`: the connection leaves it out. With the settings as they are now.',
  }),
  suggestion: z
    .object({
      event: z.enum(STANDARD_EVENTS).meta({ description: 'What it probably is, by its name.' }),
      value: z.string().meta({ description: "The platform's name or id for `event.<name>`." }),
    })
    .optional(),
});

export const receivedEventsSchema = z
  .object({
    ...totalsFields,
    items: z.array(
      z.object({
        event: z.string().meta({ description: 'As the sender names it.' }),
        conversions: count,
        lastSeen: time.meta({ description: 'The beginning of the last quarter of an hour with one.' }),
        connections: z.array(eventRoute),
      }),
    ),
  })
  .meta({ id: 'ReceivedEvents' });
