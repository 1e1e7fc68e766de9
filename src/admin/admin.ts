import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { serveDashboard } from '../dashboard/serve-dashboard.js';
import { ANSWER_HEADERS, type Answer } from '../http/answer.js';
import { PAGE_HEADERS } from '../http/built-files.js';
import { serveGuide } from '../http/guide.js';
import { createListener, type Handler, KEEP_ALIVE_MS, REQUEST_TIMEOUT_MS } from '../http/listener.js';
import { parseStrictJson } from '../http/strict-json.js';
import { isLoopbackHost } from '../kernel/addresses.js';
import type { Settings } from '../kernel/settings/settings.js';
import { SameHost } from './access/same-host.js';
import { AdminModule, type AdminOptions } from './admin.module.js';
import { refuseUnknownRoutes } from './allowed-methods.js';
import { adminDocument } from './document.js';
import { PROBLEM_TYPE, problemBody } from './problem.filter.js';

const BODY_MAX_BYTES = 1024 * 1024;
/** A host name has 253 characters, each of which may be percent-encoded. */
const PATH_PART_MAX = 3 * 253;
/** Each one takes memory and an open file, both of which are limited. */
const CONNECTIONS_MAX = 500;

const COMMON_HEADERS = { ...ANSWER_HEADERS, ...PAGE_HEADERS };

/** On every answer. Browsers use https for a year where the address is one; other hosts of the domain are not concerned. */
function headersOf({ adminUrl }: Pick<Settings, 'adminUrl'>): Record<string, string> {
  return adminUrl?.startsWith('https:')
    ? { ...COMMON_HEADERS, 'strict-transport-security': 'max-age=31536000' }
    : COMMON_HEADERS;
}

export interface RunningAdmin {
  readonly app: NestFastifyApplication;
  readonly url: string;
}

/** Starts the management API and the dashboard on their own port. The options' database is closed with the application. */
export async function startAdmin(options: AdminOptions): Promise<RunningAdmin> {
  const { settings, logger } = options;
  const app = await NestFactory.create<NestFastifyApplication>(AdminModule.with(options), createAdminAdapter(options), {
    logger,
    abortOnError: false,
    bodyParser: false,
  });
  app.setGlobalPrefix('api/v1');
  const document = adminDocument(app);
  const text = JSON.stringify(document);
  const server = app.getHttpAdapter().getInstance();
  server.get('/api/v1/openapi.json', (_request, reply) => {
    void reply.type('application/json; charset=utf-8').send(text);
  });
  refuseUnknownRoutes(server, document.paths);
  serveGuide(server);
  serveDashboard(server);
  await app.listen(settings.adminPort ?? 0, settings.adminHost);
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  return { app, url: settings.adminUrl ?? `http://localhost:${port}` };
}

/** Requests that are being answered are finished, unless that takes more than half of the grace period. */
export async function stopAdmin({ app }: RunningAdmin, graceMs: number): Promise<void> {
  const timer = setTimeout(() => (app.getHttpServer() as Server).closeAllConnections(), graceMs / 2);
  await app.close().finally(() => clearTimeout(timer));
}

function createAdminAdapter({ settings }: AdminOptions): FastifyAdapter {
  const { tlsCert, tlsKey, adminHost } = settings;
  const headers = headersOf(settings);
  const tls = tlsCert && tlsKey && !isLoopbackHost(adminHost) ? { cert: tlsCert, key: tlsKey } : undefined;
  const adapter = new FastifyAdapter({
    logger: false,
    bodyLimit: BODY_MAX_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: PATH_PART_MAX },
    // Also called for the second address of a host name, for which Fastify adds a server without handlers and limits.
    serverFactory: (router: Handler) => {
      const server = createListener(router, (status, detail) => problemAnswer(status, detail, headers), tls);
      server.maxConnections = CONNECTIONS_MAX;
      return server;
    },
    // Every listener already has its handler.
    clientErrorHandler: () => {},
    // Before the hooks below: the path cannot be decoded, or a part of it is too long.
    frameworkErrors: ({ statusCode = 400 }: FastifyError, _request: FastifyRequest, reply: FastifyReply) => {
      void reply.headers(headers).status(statusCode).type(PROBLEM_TYPE);
      void reply.send(problemBody(statusCode, { detail: 'The path is not valid.' }));
    },
  });
  const instance = adapter.getInstance();
  // Only JSON that PostgreSQL can store; no forms, which pages of other origins can send.
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      // Clients send the type with a request that has no body, too.
      done(null, body.length === 0 ? undefined : parseStrictJson(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  // Rows of a site that another cell sends. Its controller reads them, once it is known who sends them.
  instance.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null));
  const hosts = new SameHost(settings);
  instance.addHook('onRequest', (request, reply, next) => {
    void reply.headers(headers);
    const refusal = hosts.refusal(request.raw);
    if (refusal === undefined) return next();
    void reply
      .status(421)
      .type(PROBLEM_TYPE)
      .send(problemBody(421, { detail: refusal }));
  });
  return adapter;
}

/** To a request that the listener refused. */
function problemAnswer(status: number, detail: string, headers: Record<string, string>): Answer {
  return { status, type: PROBLEM_TYPE, body: problemBody(status, { detail }), headers };
}
