import type { OpenAPIObject } from '@nestjs/swagger';
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
import { SOURCE_NAMES } from '../../sources/sources.js';
import { INTERNAL_ERROR_TEXT, UNAVAILABLE_TEXT } from '../inbound/inbound-answers.js';
import { DELIVERY_OUTCOMES } from './source-metrics.js';
import { SIGNATURE_TEXTS, UNKNOWN_SOURCE_TEXT } from './sources.endpoint.js';

const uuid = { type: 'string', format: 'uuid' };

const stored = {
  description: 'An authentic delivery: in the log, or known, or of a topic that the rules do not have.',
  headers: HOT_ROUTE_HEADERS,
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['ok'],
        additionalProperties: false,
        properties: {
          ok: { type: 'boolean', enum: [true] },
          outcome: { type: 'string', enum: [...DELIVERY_OUTCOMES, 'unknown_topic'] },
          reason: { type: 'string', description: 'Why it is no conversion.' },
          conversionId: uuid,
        },
      },
    },
  },
};

export const sourcesPaths = {
  '/__cc/sources/{source}/{id}': {
    post: {
      tags: ['Conversions'],
      operationId: 'receiveDelivery',
      summary: 'Send a webhook of a connected source, signed as the sender signs',
      parameters: [
        { name: 'source', in: 'path', required: true, schema: { type: 'string', enum: [...SOURCE_NAMES] } },
        { name: 'id', in: 'path', required: true, schema: uuid, description: 'Of the connection.' },
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { type: 'object', description: 'As the sender documents it.' } } },
      },
      responses: {
        200: stored,
        400: {
          description: `The signature of Stripe is wrong or has expired, or the body is no delivery (JSON). ${NOT_HTTP}`,
          content: { ...JSON_FAILURE, ...TEXT },
        },
        401: failure('The signature is missing or wrong, or the connection has no secret.', [
          ...Object.values(SIGNATURE_TEXTS),
          'The source has no secret yet',
        ]),
        403: {
          ...failure('', ['Inbound webhook not enabled']),
          description: 'Inbound is not enabled for the host; or, in plain text, the request was not sent over HTTPS.',
          content: { ...failure('', ['Inbound webhook not enabled']).content, ...TEXT },
        },
        ...CONNECTION_ERRORS,
        404: failure('The site has no such connection.', [UNKNOWN_SOURCE_TEXT]),
        405: methodNotAllowed('POST'),
        413: text('The body is larger than 1 MiB.'),
        429: failure(
          'Too many wrong signatures for the site; a correct one is never throttled.',
          ['Too many failed authentication attempts'],
          retryAfter,
        ),
        500: failure('Send the request again after `Retry-After` seconds.', [INTERNAL_ERROR_TEXT], retryAfter),
        503: failure(
          'Send the request again after `Retry-After` seconds.',
          [UNAVAILABLE_TEXT, ...Object.values(NOT_FORWARDED)],
          retryAfter,
        ),
      },
    },
  },
  // Cast, because the types of @nestjs/swagger require mutable arrays and literal types everywhere.
} as unknown as OpenAPIObject['paths'];
