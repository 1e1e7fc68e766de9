import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ANY_VALUES } from '../conversions/inbound/fields/texts.js';
import { inboundPaths } from '../conversions/inbound/inbound.openapi.js';
import { siteReading } from '../conversions/inbound/inbound-field.js';
import { sourcesPaths } from '../conversions/sources/sources.openapi.js';
import { ANSWER_HEADERS } from '../http/answer.js';
import { serveGuide } from '../http/guide.js';
import { RequestOrigin } from '../http/request-origin.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { tagPaths } from '../visitors/tag/tag.openapi.js';
import { asyncApiDocument } from './asyncapi.js';
import { operationsPaths } from './operations.openapi.js';
import { OperatorsOnly } from './operators-only.guard.js';

/** Serves the OpenAPI and AsyncAPI documents, which are generated from the schemas in use, and the Swagger UI. */
export function serveDocuments(app: NestFastifyApplication): void {
  const operators = app.get(OperatorsOnly);
  app.use('/docs', (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    if (operators.allows(request)) return next();
    response.writeHead(404, { ...ANSWER_HEADERS, 'content-type': 'text/plain; charset=utf-8' }).end('Not found.');
  });
  const { kafkaTopicPrefix, trustedProxies } = app.get<Settings>(SETTINGS);
  const topics = JSON.stringify(asyncApiDocument(kafkaTopicPrefix));
  app.getHttpAdapter().get('/docs/asyncapi.json', (_: unknown, reply: FastifyReply) => {
    void reply.type('application/json; charset=utf-8').send(topics);
  });
  serveGuide(app.getHttpAdapter().getInstance());
  const head = new DocumentBuilder()
    .setTitle('Clean Conversions')
    .setDescription(
      'Sends conversions from your backend to every connected ad platform and returns a receipt per platform. The [guide](docs/guide/) explains how to use it.',
    )
    .setVersion('1')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addApiKey({ type: 'apiKey', name: 'X-CC-Api-Key', in: 'header' }, 'key')
    .build();
  const createDocument = () => ({
    ...head,
    openapi: '3.1.0',
    components: { ...head.components, schemas: ANY_VALUES },
    paths: { ...inboundPaths({ isStrict: false }), ...sourcesPaths, ...tagPaths, ...operationsPaths },
  });
  const sites = app.get(SiteDirectory);
  const origin = new RequestOrigin(trustedProxies);
  SwaggerModule.setup('docs', app, createDocument, {
    jsonDocumentUrl: 'docs/openapi.json',
    // No YAML: its path is not below /docs, so the guard above would not cover it.
    raw: ['json'],
    // What a body must have depends on the site whose host is asked.
    patchDocumentOnRequest: (request, _, document) => {
      const host = origin.host((request as FastifyRequest).raw);
      const site = sites.find(host)?.site;
      return site ? { ...document, paths: { ...document.paths, ...inboundPaths(siteReading(site)) } } : document;
    },
    customSiteTitle: 'Clean Conversions API',
  });
}
