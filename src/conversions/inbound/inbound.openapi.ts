import type { OpenAPIObject } from '@nestjs/swagger';
import type { PlatformResult } from '../../delivery/delivery.js';
import {
  CONNECTION_ERRORS,
  failure,
  HOT_ROUTE_HEADERS,
  JSON_FAILURE,
  methodNotAllowed,
  NOT_HTTP,
  retryAfter,
  TEXT,
  text,
} from '../../http/openapi.js';
import { NOT_FORWARDED } from '../../sites/forwarding-decision.js';
import { bodySchema } from './body-schema.js';
import { INTERNAL_ERROR_TEXT, TOO_MANY_BATCHES_TEXT, UNAVAILABLE_TEXT } from './inbound-answers.js';
import type { BodyReading } from './inbound-field.js';
import { ALLOWED } from './inbound-route.js';
import { LINES_MAX } from './read-batch.js';

type Status = PlatformResult['status'];

const uuid = { type: 'string', format: 'uuid' };

const [received, deduped, filtered] = [
  {
    type: 'object',
    required: ['ok', 'event', 'results'],
    additionalProperties: false,
    properties: {
      ok: { type: 'boolean', enum: [true] },
      event: { type: 'string', description: 'The event name that was processed.' },
      results: {
        type: 'object',
        description: 'One entry per connection, named <platform> or <platform>:<name>; empty while none is connected.',
        additionalProperties: {
          type: 'object',
          required: ['ok', 'status'],
          additionalProperties: false,
          properties: {
            ok: { type: 'boolean', description: 'Whether the platform accepted it.' },
            status: {
              type: 'string',
              enum: ['delivered', 'accepted', 'skipped', 'queued', 'failed', 'validated'] satisfies Status[],
            },
            reason: { type: 'string', description: 'Why it was skipped, queued or failed.' },
            trial: { type: 'boolean', enum: [true], description: 'Only for trial keys: nothing was sent.' },
          },
        },
      },
    },
  },
  {
    type: 'object',
    description: 'The same conversion was sent before, inside the duplicate window.',
    required: ['ok', 'deduped'],
    additionalProperties: false,
    properties: { ok: { type: 'boolean', enum: [true] }, deduped: { type: 'boolean', enum: [true] } },
  },
  {
    type: 'object',
    description: 'Stored and counted, but not sent to any platform.',
    required: ['ok', 'filtered'],
    additionalProperties: false,
    properties: { ok: { type: 'boolean', enum: [true] }, filtered: { type: 'boolean', enum: [true] } },
  },
];
const receiptSchema = { oneOf: [received, deduped, filtered] };

const conversionId = {
  'X-CC-Conversion-Id': { description: 'Id for reading the receipt again.', required: true, schema: uuid },
};

const receipt = {
  description: 'The current receipt.',
  headers: { ...HOT_ROUTE_HEADERS, ...conversionId },
  content: { 'application/json': { schema: receiptSchema } },
};

const accepted = {
  description: 'Stored. The receipt.',
  headers: {
    ...HOT_ROUTE_HEADERS,
    ...conversionId,
    'X-CC-First-Conversion-Id': { description: 'Only for a duplicate: the conversion that it repeats.', schema: uuid },
    'X-CC-Warning': {
      description:
        'What the sender should change, separated by `; `: optional fields that are not valid and not used, in the order of the request, and an email address inside `orderId`.',
      schema: { type: 'string' },
    },
  },
  content: { 'application/json': { schema: receiptSchema } },
};

const batchAnswer = {
  description: 'One result per conversion, in the order in which they were sent.',
  headers: HOT_ROUTE_HEADERS,
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['ok', 'results'],
        additionalProperties: false,
        properties: {
          ok: { type: 'boolean', enum: [true] },
          results: {
            type: 'array',
            maxItems: LINES_MAX,
            items: {
              type: 'object',
              description: 'The body that the conversion would have got alone, its status, and what headers would say.',
              required: ['ok', 'status'],
              additionalProperties: false,
              properties: {
                ok: { type: 'boolean' },
                status: { type: 'integer', enum: [200, 400, 413, 500, 503] },
                event: received.properties.event,
                results: received.properties.results,
                deduped: deduped.properties.deduped,
                filtered: filtered.properties.filtered,
                error: { type: 'string' },
                conversionId: uuid,
                firstConversionId: uuid,
                warnings: {
                  type: 'array',
                  items: { type: 'string' },
                  description: 'What `X-CC-Warning` would say, one text for each fault.',
                },
              },
            },
          },
        },
      },
    },
  },
};

const refusals = {
  401: failure('The key is missing, malformed, unknown or revoked.', ['Invalid API key']),
  403: {
    ...failure('', ['Inbound webhook not enabled']),
    description: 'Inbound is not enabled for the host; or, in plain text, the request was not sent over HTTPS.',
    content: { ...failure('', ['Inbound webhook not enabled']).content, ...TEXT },
  },
  ...CONNECTION_ERRORS,
  429: failure(
    'Too many wrong keys for the site; a correct key is never throttled.',
    ['Too many failed authentication attempts'],
    retryAfter,
  ),
  500: failure('Send the request again after `Retry-After` seconds.', [INTERNAL_ERROR_TEXT], retryAfter),
  503: failure(
    'Send the request again after `Retry-After` seconds.',
    [UNAVAILABLE_TEXT, ...Object.values(NOT_FORWARDED)],
    retryAfter,
  ),
};

const notHttp = { description: NOT_HTTP, content: TEXT };
const notFound = failure('No such conversion of this site.', ['Conversion not found']);
/** One bad conversion does not affect the others, so anything is accepted in an array. */
const NOT_ACCEPTED = { description: 'Anything else is answered with `status` 400 in its result.' };
/** Without a pattern: an invalid one is ignored, and the request accepted. */
const traceparent = {
  name: 'traceparent',
  in: 'header',
  required: false,
  description:
    'The place of the request in your trace (W3C Trace Context, version 00). Stored with the conversion; an invalid one is ignored.',
  schema: { type: 'string' },
  example: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};
const tags = ['Conversions'];
const security = [{ key: [] }];

/** The hot route is not a Nest controller, so it is described here: with the body as a site reads it. */
export function inboundPaths(reading: Pick<BodyReading, 'isStrict' | 'withoutEmail'>) {
  const body = bodySchema(reading);
  return {
    '/__cc/inbound': {
      post: {
        tags,
        security,
        operationId: 'receiveConversion',
        summary: 'Send a conversion',
        parameters: [traceparent],
        requestBody: { required: true, content: { 'application/json': { schema: body } } },
        responses: {
          200: accepted,
          400: {
            description: `A field is invalid (JSON, names the field), or the body is not a JSON object (text). ${NOT_HTTP}`,
            content: { ...JSON_FAILURE, ...TEXT },
          },
          ...refusals,
          405: methodNotAllowed(ALLOWED.inbound),
          413: text('The body is too large.'),
          415: text('The body is not application/json in UTF-8, or is compressed.'),
        },
      },
      get: {
        tags,
        security,
        operationId: 'findReceipt',
        summary:
          'Read the current receipt of an order: with a trial key of a trial conversion, otherwise of a real one',
        parameters: [
          { name: 'orderId', in: 'query', required: true, schema: { type: 'string' } },
          { name: 'event', in: 'query', required: false, schema: { type: 'string' } },
        ],
        responses: {
          200: receipt,
          400: notHttp,
          ...refusals,
          404: notFound,
          // Without `orderId` there is nothing to look up, so that only POST is allowed.
          405: methodNotAllowed(['POST', ALLOWED.inbound]),
        },
      },
    },
    '/__cc/inbound/batch': {
      post: {
        tags,
        security,
        operationId: 'receiveBatch',
        summary: `Send up to ${LINES_MAX} conversions`,
        description: 'Each is checked and answered as if it had been sent alone. Deliveries are queued.',
        parameters: [traceparent],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: { type: 'array', maxItems: LINES_MAX, items: { anyOf: [body, NOT_ACCEPTED] } },
            },
            'application/x-ndjson': { schema: { type: 'string', description: 'One JSON object per line.' } },
          },
        },
        responses: {
          200: batchAnswer,
          400: { description: `The body as a whole cannot be read (text). ${NOT_HTTP}`, content: TEXT },
          ...refusals,
          405: methodNotAllowed(ALLOWED.batch),
          413: text('The body is too large.'),
          415: text('The body is not application/json or application/x-ndjson in UTF-8, or is compressed.'),
          503: failure(
            'Send the batch again after `Retry-After` seconds.',
            [UNAVAILABLE_TEXT, TOO_MANY_BATCHES_TEXT, ...Object.values(NOT_FORWARDED)],
            retryAfter,
          ),
        },
      },
    },
    '/__cc/inbound/{id}': {
      get: {
        tags,
        security,
        operationId: 'readReceipt',
        summary: 'Read the current receipt of a conversion: with a trial key of trial conversions only',
        parameters: [{ name: 'id', in: 'path', required: true, schema: uuid }],
        responses: {
          200: receipt,
          400: notHttp,
          ...refusals,
          404: notFound,
          405: methodNotAllowed(ALLOWED.receipt),
        },
      },
    },
    // Cast, because the types of @nestjs/swagger require mutable arrays and literal types everywhere.
  } as unknown as OpenAPIObject['paths'];
}
