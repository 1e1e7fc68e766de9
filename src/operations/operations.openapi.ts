import type { OpenAPIObject } from '@nestjs/swagger';
import { CONNECTION_ERRORS, methodNotAllowed, NOT_HTTP, ROUTER_HEADERS, TEXT, text } from '../http/openapi.js';

const tags = ['Operations'];
const check = {
  type: 'object',
  required: ['ok'],
  properties: { ok: { type: 'boolean' }, reason: { type: 'string' } },
  additionalProperties: false,
};

const errors = {
  400: { description: NOT_HTTP, content: TEXT },
  405: methodNotAllowed('GET, HEAD', ROUTER_HEADERS),
  ...CONNECTION_ERRORS,
  500: text('Internal error.', ROUTER_HEADERS),
};

const json = (description: string, schema: object) => ({
  description,
  headers: ROUTER_HEADERS,
  content: { 'application/json': { schema } },
});

const readiness = (ok: boolean) => ({
  type: 'object',
  required: ['ok', 'log', 'clock', 'projections', 'kafka'],
  properties: {
    ok: { type: 'boolean', enum: [ok] },
    stopping: { type: 'boolean', enum: [true], description: 'The service is about to end.' },
    log: { ...check, description: 'Whether events can be appended.' },
    clock: { ...check, description: "The database's clock and that of this machine." },
    projections: {
      type: 'array',
      description: 'Projections that are parked.',
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, reason: { type: 'string' } },
        additionalProperties: false,
      },
    },
    kafka: { type: 'object', description: 'State of the relay.' },
  },
  additionalProperties: false,
});

/** Paths for operators (`/metrics`, `/docs`) are not described: they answer 404 to everyone else. */
export const operationsPaths = {
  '/healthz': {
    get: {
      tags,
      operationId: 'alive',
      summary: 'Whether the process is alive',
      responses: {
        200: json('It is.', {
          type: 'object',
          required: ['ok'],
          properties: { ok: { type: 'boolean', enum: [true] } },
          additionalProperties: false,
        }),
        ...errors,
      },
    },
  },
  '/readyz': {
    get: {
      tags,
      operationId: 'ready',
      summary: 'Whether conversions can be accepted',
      responses: { 200: json('They can.', readiness(true)), 503: json('They cannot.', readiness(false)), ...errors },
    },
  },
} as unknown as OpenAPIObject['paths'];
