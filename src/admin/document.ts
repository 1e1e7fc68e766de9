import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { z } from 'zod';
import { IDEMPOTENCY_KEY_PATTERN } from './idempotency.interceptor.js';

const PROBLEM = {
  type: 'object',
  description: 'RFC 9457.',
  required: ['title', 'status', 'detail'],
  properties: {
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What is wrong, and what to do about it.' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['field', 'message'],
        properties: { field: { type: 'string' }, message: { type: 'string' } },
      },
    },
  },
};

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN },
} as const;

const ERRORS =
  'An error. On every path also 400 (the request is not HTTP), 405, 408 (it arrives too slowly), 421 (another host name) and 431 (its headers are too large or too many).';

interface Parameter {
  readonly name: string;
  readonly in: string;
}

interface Operation {
  parameters?: readonly Parameter[];
  readonly security?: readonly object[];
  readonly responses?: Record<string, object>;
  readonly requestBody?: {
    required: boolean;
    readonly content: Readonly<Record<string, { readonly schema: { readonly default?: unknown } }>>;
  };
}

/** OpenAPI 3.1, generated from the controllers and the schemas that check requests and answers. */
export function adminDocument(app: NestFastifyApplication): OpenAPIObject {
  const head = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Clean Conversions management API')
    .setDescription('Sites, keys, users and tokens. Every change is an event of the log that names who made it.')
    .setVersion('1')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    // Not `addBearerAuth`, which says that a token is a JWT.
    .addSecurity('token', { type: 'http', scheme: 'bearer', description: 'An API token.' })
    .addCookieAuth(
      '__Host-cc_session',
      { type: 'apiKey', in: 'cookie', description: 'Without ADMIN_URL its name ends with `_` and the port.' },
      'session',
    )
    .build();
  const document = SwaggerModule.createDocument(app, head, { standardSchemaConverter: toJsonSchema });
  document.components = { ...document.components, schemas: { ...document.components?.schemas, Problem: PROBLEM } };
  for (const path of Object.values(document.paths)) {
    for (const [method, operation] of Object.entries(path) as [string, Operation][]) {
      const { responses, requestBody, security, parameters = [] } = operation;
      if (method !== 'get' && security) operation.parameters = withIdempotencyKey(parameters);
      if (responses) responses['default'] = problemResponse();
      // A body with a default may be left out.
      if (requestBody?.content['application/json']?.schema.default) requestBody.required = false;
    }
  }
  return document;
}

/** Every write takes it. One that requires it at times describes that itself. */
function withIdempotencyKey(parameters: readonly Parameter[]): Parameter[] {
  const isKey = ({ name }: Parameter) => name === IDEMPOTENCY_KEY.name;
  const own = parameters.find(isKey) ?? { description: 'A repeated request with the same key is carried out once.' };
  return [...parameters.filter((parameter) => !isKey(parameter)), { ...own, ...IDEMPOTENCY_KEY }];
}

function problemResponse(): object {
  const schema = { $ref: '#/components/schemas/Problem' };
  return { description: ERRORS, content: { 'application/problem+json': { schema } } };
}

function toJsonSchema(schema: unknown, { schemaType }: { schemaType: 'input' | 'output' }) {
  if (!(schema instanceof z.ZodType)) return undefined;
  const { $schema, $defs, ...converted } = z.toJSONSchema(schema, { io: schemaType, reused: 'inline' });
  return { schema: converted as never, components: ($defs ?? {}) as never };
}
