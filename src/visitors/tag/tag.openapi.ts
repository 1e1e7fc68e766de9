import type { OpenAPIObject } from '@nestjs/swagger';
import {
  CONNECTION_ERRORS,
  type Headers,
  HOT_ROUTE_HEADERS,
  methodNotAllowed,
  NOT_HTTP,
  retryAfter,
  TEXT,
  text,
} from '../../http/openapi.js';

const string = { schema: { type: 'string' } };
const tags = ['Browser tag'];

/** Pages of the site get the CORS headers, callers without an allowed origin do not. */
const cors: Headers = {
  Vary: { required: true, schema: { type: 'string', enum: ['Origin'] } },
  'Access-Control-Allow-Origin': { description: 'The origin of the page, if it is allowed.', ...string },
  'Access-Control-Allow-Credentials': { schema: { type: 'string', enum: ['true'] } },
};
const headers: Headers = { ...HOT_ROUTE_HEADERS, ...cors };

const HTTPS_REQUIRED = 'The request was not sent over HTTPS.';
const NO_SITE = 'The host belongs to no site.';

/** All but `v` is optional, and a field of the wrong type is ignored: an unusual browser must not lose the visit. */
const message = {
  type: 'object',
  description:
    'A message of the tag. Only the tag sends it; fields that are not described here, or have another type, are ignored.',
  required: ['v'],
  properties: { v: { type: 'integer', enum: [1], description: 'Version of the message.' } },
};

function call(operationId: string, summary: string) {
  return {
    post: {
      tags,
      operationId,
      summary,
      description: 'Answers the CORS preflight of a page of the site (`OPTIONS` with its `Origin`) with 204.',
      requestBody: {
        required: true,
        // The tag sends JSON as text/plain, which needs no CORS preflight.
        content: { 'application/json': { schema: message }, 'text/plain': { schema: { type: 'string' } } },
      },
      responses: {
        204: {
          description: 'Accepted.',
          headers: { ...headers, 'Set-Cookie': { description: 'The visitor cookie, if it changes.', ...string } },
        },
        400: { description: `The message cannot be read (text). ${NOT_HTTP}`, content: TEXT },
        403: text(`${HTTPS_REQUIRED} Or pages of its origin may not call this site.`, headers),
        404: text(NO_SITE, headers),
        405: methodNotAllowed('POST', headers),
        ...CONNECTION_ERRORS,
        413: text('The message is larger than 8 KiB.', headers),
        415: text('The message is neither text/plain nor application/json, or is compressed.', headers),
        429: text('Too many calls from this address, or a daily budget is used up.', { ...headers, ...retryAfter }),
        500: text('Internal error.', headers),
        503: text('Temporarily unavailable.', { ...headers, ...retryAfter }),
      },
    },
  };
}

const scriptHeaders: Headers = {
  'X-Request-Id': HOT_ROUTE_HEADERS['X-Request-Id'] as object,
  'X-Content-Type-Options': HOT_ROUTE_HEADERS['X-Content-Type-Options'] as object,
  'Cache-Control': { required: true, ...string },
  ETag: { required: true, ...string },
  Vary: { required: true, schema: { type: 'string', enum: ['Accept-Encoding'] } },
  'Access-Control-Allow-Origin': { required: true, schema: { type: 'string', enum: ['*'] } },
  'Cross-Origin-Resource-Policy': { required: true, schema: { type: 'string', enum: ['cross-origin'] } },
};

/** The hot routes are not Nest controllers, so they are described here. */
export const tagPaths = {
  '/__cc/tag.js': {
    get: {
      tags,
      operationId: 'readTag',
      summary: 'The browser tag, with the settings of the site',
      responses: {
        200: {
          description: 'The script.',
          headers: {
            ...scriptHeaders,
            'Content-Encoding': {
              description: 'If the client accepts it.',
              schema: { type: 'string', enum: ['gzip'] },
            },
          },
          content: { 'text/javascript': { schema: { type: 'string' } } },
        },
        304: { description: 'The client has this version (`If-None-Match`).', headers: scriptHeaders },
        400: { description: NOT_HTTP, content: TEXT },
        403: text(HTTPS_REQUIRED),
        404: text(NO_SITE),
        405: methodNotAllowed('GET, HEAD'),
        ...CONNECTION_ERRORS,
        503: text('The site has moved to another cell, which does not answer.', {
          ...HOT_ROUTE_HEADERS,
          ...retryAfter,
        }),
      },
    },
  },
  '/__cc/collect': call('recordVisit', 'Record a visit'),
  '/__cc/identify': call('identifyVisitor', 'Record the hashed email of a visitor'),
  '/__cc/consent': call('changeConsent', 'Record a statement about consent'),
} as unknown as OpenAPIObject['paths'];
