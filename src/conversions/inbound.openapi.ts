import type { OpenAPIObject } from '@nestjs/swagger';
import type { PlatformResult } from '../delivery/delivery.js';
import { inboundBodySchema } from './inbound-fields.js';

type Status = PlatformResult['status'];

const text = (description: string) => ({ description, content: { 'text/plain': { schema: { type: 'string' } } } });

const failure = (description: string, ...errors: string[]) => ({
  description,
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['ok', 'error'],
        properties: {
          ok: { type: 'boolean', enum: [false] },
          error: { type: 'string', ...(errors.length > 0 && { enum: errors }) },
        },
      },
    },
  },
});

const receiptSchema = {
  oneOf: [
    {
      type: 'object',
      required: ['ok', 'event', 'results'],
      properties: {
        ok: { type: 'boolean', enum: [true] },
        event: { type: 'string', description: 'The event name that was processed.' },
        results: {
          type: 'object',
          description:
            'One entry per connection, named <platform> or <platform>:<name>; empty while none is connected.',
          additionalProperties: {
            type: 'object',
            required: ['ok', 'status'],
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
      properties: { ok: { type: 'boolean', enum: [true] }, deduped: { type: 'boolean', enum: [true] } },
    },
    {
      type: 'object',
      description: 'Stored and counted, but not sent to any platform.',
      required: ['ok', 'filtered'],
      properties: { ok: { type: 'boolean', enum: [true] }, filtered: { type: 'boolean', enum: [true] } },
    },
  ],
};

const receipt = {
  description: 'The receipt.',
  headers: {
    'X-CC-Conversion-Id': {
      description: 'Id for reading the receipt again.',
      schema: { type: 'string', format: 'uuid' },
    },
    'X-CC-Warning': {
      description: 'What the sender should change, such as an email address inside `orderId`.',
      schema: { type: 'string' },
    },
    'X-Request-Id': { schema: { type: 'string', format: 'uuid' } },
  },
  content: { 'application/json': { schema: receiptSchema } },
};

const refusals = {
  401: failure('The key is missing, malformed, unknown or revoked.', 'Invalid API key'),
  403: {
    ...failure('The host belongs to no site, or its inbound webhook is switched off.', 'Inbound webhook not enabled'),
    description: 'Inbound is not enabled for the host; or, in plain text, the request was not sent over HTTPS.',
  },
  429: failure(
    'Too many wrong keys for the site; a correct key is never throttled.',
    'Too many failed authentication attempts',
  ),
  503: failure('Temporarily unavailable: send the request again after `Retry-After` seconds.'),
};

const tags = ['Conversions'];
const security = [{ key: [] }];

/** The hot route is not a Nest controller, so it is described here; the body's schema derives from the parser's fields. */
export const inboundPaths = {
  '/__cc/inbound': {
    post: {
      tags,
      security,
      operationId: 'receiveConversion',
      summary: 'Send a conversion',
      requestBody: { required: true, content: { 'application/json': { schema: inboundBodySchema } } },
      responses: {
        200: receipt,
        400: {
          description: 'A field is invalid (JSON, names the field), or the body is not a JSON object (plain text).',
          content: { ...failure('').content, ...text('').content },
        },
        ...refusals,
        413: text('The body is too large.'),
        415: text('The body is not application/json in UTF-8, or is compressed.'),
      },
    },
    get: {
      tags,
      security,
      operationId: 'findReceipt',
      summary: 'Read the current receipt of an order',
      parameters: [
        { name: 'orderId', in: 'query', required: true, schema: { type: 'string' } },
        { name: 'event', in: 'query', required: false, schema: { type: 'string' } },
      ],
      responses: {
        200: receipt,
        ...refusals,
        404: failure('No such conversion of this site.', 'Conversion not found'),
      },
    },
  },
  '/__cc/inbound/{id}': {
    get: {
      tags,
      security,
      operationId: 'readReceipt',
      summary: 'Read the current receipt of a conversion',
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }],
      responses: {
        200: receipt,
        ...refusals,
        404: failure('No such conversion of this site.', 'Conversion not found'),
      },
    },
  },
  // Cast, because the types of @nestjs/swagger require mutable arrays and literal types everywhere.
} as unknown as OpenAPIObject['paths'];
