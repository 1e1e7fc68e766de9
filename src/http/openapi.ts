import { ANSWER_HEADERS } from './answer.js';

/** Parts of the OpenAPI document that all endpoints share. */

export type Headers = Readonly<Record<string, object>>;

const requestId = {
  description: 'Id of the request, for support.',
  required: true,
  schema: { type: 'string', format: 'uuid' },
};
const oneOf = (values: readonly string[]) => ({ required: true, schema: { type: 'string', enum: values } });

const SECURITY_HEADERS: Headers = Object.fromEntries(
  Object.entries(ANSWER_HEADERS).map(([name, value]) => [name, oneOf([value])]),
);
/** Headers of every answer of a hot route. */
export const HOT_ROUTE_HEADERS: Headers = { 'X-Request-Id': requestId, ...SECURITY_HEADERS };
/** Headers of every answer of another route. */
export const ROUTER_HEADERS: Headers = SECURITY_HEADERS;

export const retryAfter: Headers = {
  'Retry-After': { description: 'Seconds.', required: true, schema: { type: 'integer', minimum: 1 } },
};

export const TEXT = { 'text/plain': { schema: { type: 'string' } } };
export const JSON_FAILURE = failureContent();

export function text(description: string, headers: Headers = HOT_ROUTE_HEADERS) {
  return { description, headers, content: TEXT };
}

/** An error in JSON. */
export function failure(description: string, errors: readonly string[], headers: Headers = {}) {
  return { description, headers: { ...HOT_ROUTE_HEADERS, ...headers }, content: failureContent(errors) };
}

/** `allow` is the value of the header, or its possible values. */
export function methodNotAllowed(allow: string | readonly string[], headers: Headers = HOT_ROUTE_HEADERS) {
  const description = 'The path does not have this method.';
  return text(description, { ...headers, Allow: { ...oneOf([allow].flat()), description: 'The methods it has.' } });
}

/** Sent by the server before a request reaches a route, without the headers of an answer; the connection is closed. */
export const CONNECTION_ERRORS = {
  408: text('The request took more than 10 seconds to arrive (its headers: 5).', {}),
  431: text('The headers are larger than 16 KiB, or more than 100.', {}),
};

/** Answer to a request before any route: it is not HTTP, or has two Host headers. A malformed body adds headers. */
export const NOT_HTTP = 'This is not a valid HTTP/1.1 request, or it has more than one Host header (text).';

function failureContent(errors: readonly string[] = []) {
  return {
    'application/json': {
      schema: {
        type: 'object',
        required: ['ok', 'error'],
        properties: {
          ok: { type: 'boolean', enum: [false] },
          error: { type: 'string', ...(errors.length > 0 && { enum: errors }) },
        },
        additionalProperties: false,
      },
    },
  };
}
