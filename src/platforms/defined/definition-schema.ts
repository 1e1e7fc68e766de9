import * as z from 'zod';
import { parseDurationMs } from '../../kernel/durations.js';

/** Settings that every connection has, or that the service sets. */
const RESERVED = ['events', 'default_consent', 'definition', 'refund_event', 'refresh_token', 'refresh_state'];
const BATCH_MAX = 2_000;
const RATE_MAX = 10_000;
const HOUR_MS = 3_600_000;
const IDENTIFIERS = ['email', 'phone', 'external_id', 'click_id', 'visitor'] as const;
const NO_IDENTIFIER = `must be ${IDENTIFIERS.join(', ')} or a click id such as /clicks/qclid`;
/** One kind of click id. */
const CLICK = /^\/clicks\/[a-z0-9_]{1,40}$/;
const STATUS = 'must be a status such as 429, or a range such as 500-599';

const name = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,31}$/, 'must be 1 to 32 characters, a to z, 0 to 9 and _, starting with a letter');
const short = z.string().min(1).max(200);
const header = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header');
const duration = z.string().refine(isDuration, 'must be a duration such as 48h or 7d');
const statuses = z
  .array(
    z.union([z.int().min(200).max(599), z.string().regex(/^[2-5]\d\d-[2-5]\d\d$/, STATUS)], {
      error: STATUS,
    }),
  )
  .min(1)
  .max(20);
/** Checked when they are compiled. */
const expression = z.string();
const template: z.ZodType<Template> = z.lazy(() =>
  z.union([z.string(), z.number(), z.boolean(), z.array(template), z.record(z.string(), template)], {
    error: 'must be an expression, a number, true, false, a list or an object',
  }),
);

/** What the body is made of: texts are expressions. */
export type Template = string | number | boolean | readonly Template[] | { readonly [field: string]: Template };

const setting = z.strictObject({
  help: short,
  secret: z.boolean().optional(),
  required: z.boolean().optional(),
  default: short.optional(),
});

const authentication = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('bearer'), secret: name }),
  z.strictObject({ type: z.literal('basic'), user: name, password: name.optional() }),
  z.strictObject({ type: z.literal('header'), header, secret: name, prefix: z.string().max(50).optional() }),
  z.strictObject({ type: z.literal('query'), parameter: z.string().regex(/^[\w.-]{1,64}$/), secret: name }),
  z.strictObject({
    type: z.literal('hmac'),
    header,
    secret: name,
    hash: z.enum(['sha1', 'sha256', 'sha512']),
    encoding: z.enum(['hex', 'base64']),
    prefix: z.string().max(50).optional(),
    timestamp_header: header.optional(),
  }),
  z.strictObject({
    type: z.literal('oauth_client_credentials'),
    token_url: z.url({ protocol: /^https$/ }),
    client_id: name,
    client_secret: name,
    scope: short.optional(),
  }),
]);

const errorRule = z.strictObject({
  status: statuses.optional(),
  when: expression.optional(),
  means: z.enum(['retry', 'throttle', 'reject', 'park']),
  /** Where the answer says how many seconds to wait, besides `Retry-After`. */
  retry_after: expression.optional(),
});

export const definitionSchema = z.strictObject({
  name,
  label: z.string().min(1).max(60).optional(),
  settings: z
    .record(
      name.refine((text) => !RESERVED.includes(text), 'is a setting that every connection has'),
      setting,
    )
    .refine((settings) => Object.keys(settings).length <= 20, 'has more than 20 settings')
    .default({}),
  url: z.string().max(1_000),
  method: z.enum(['POST', 'PUT', 'PATCH']).default('POST'),
  headers: z.record(header, z.string().max(500)).default({}),
  authentication: authentication.optional(),
  /** Names of events at the destination, by ours. Others are sent under their own name, or not. */
  events: z.record(z.string().min(1).max(100), z.string().min(1).max(100)).default({}),
  other_events: z.enum(['send', 'skip']).default('send'),
  identifiers: z
    .array(z.union([z.enum(IDENTIFIERS), z.string().regex(CLICK, NO_IDENTIFIER)], { error: NO_IDENTIFIER }))
    .default([]),
  value_required: z.boolean().default(false),
  consent: z.enum(['skip', 'anonymous', 'marked']).default('skip'),
  body: template,
  batch: z.strictObject({ max: z.int().min(2).max(BATCH_MAX), body: template.optional() }).optional(),
  success: z
    .strictObject({
      status: statuses.default(['200-299']),
      when: expression.optional(),
      means: z.enum(['delivered', 'accepted']).default('delivered'),
    })
    .prefault({}),
  errors: z.array(errorRule).max(30).default([]),
  /** Where the answer says why it refuses a conversion, and which conversions of a batch. */
  reason: expression.optional(),
  refused: z.strictObject({ list: expression, index: expression, reason: expression.optional() }).optional(),
  request_id: expression.optional(),
  /** Requests in any period of this length. */
  rate_limit: z
    .strictObject({
      requests: z.int().min(1).max(RATE_MAX),
      per: duration.refine((text) => !isDuration(text) || parseDurationMs(text) <= HOUR_MS, 'must be at most 1h'),
    })
    .optional(),
  dedup_window: duration.optional(),
  age_max: duration.optional(),
});

/** With all defaults. */
export type Definition = z.output<typeof definitionSchema>;

function isDuration(text: string): boolean {
  try {
    return parseDurationMs(text) > 0;
  } catch {
    return false;
  }
}
