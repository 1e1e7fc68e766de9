import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { isLoopbackHost } from '../kernel/addresses.js';
import { AdminModule, type AdminOptions } from './admin.module.js';
import { adminDocument } from './document.js';
import { SameHost } from './same-host.js';

const BODY_MAX_BYTES = 1024 * 1024;

/** On every answer. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export interface RunningAdmin {
  readonly app: NestFastifyApplication;
  readonly url: string;
}

/** Starts the management API on its own port. The options' database is closed with the application. */
export async function startAdmin(options: AdminOptions): Promise<RunningAdmin> {
  const { settings, logger } = options;
  const app = await NestFactory.create<NestFastifyApplication>(AdminModule.with(options), createAdminAdapter(options), {
    logger,
    abortOnError: false,
  });
  app.setGlobalPrefix('api/v1');
  const document = JSON.stringify(adminDocument(app));
  app
    .getHttpAdapter()
    .getInstance()
    .get('/api/v1/openapi.json', (_request, reply) => {
      void reply.type('application/json; charset=utf-8').send(document);
    });
  await app.listen(settings.adminPort ?? 0, settings.adminHost);
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  return { app, url: settings.adminUrl ?? `http://localhost:${port}` };
}

function createAdminAdapter({ settings }: AdminOptions): FastifyAdapter {
  const { tlsCert, tlsKey, adminHost } = settings;
  const isTls = tlsCert && tlsKey && !isLoopbackHost(adminHost);
  const adapter = new FastifyAdapter({
    logger: false,
    bodyLimit: BODY_MAX_BYTES,
    requestTimeout: 10_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: true,
    ...(isTls && { https: { cert: tlsCert, key: tlsKey } }),
  });
  const hosts = new SameHost(settings);
  adapter.getInstance().addHook('onRequest', (request, reply, next) => {
    void reply.headers(HEADERS);
    const refusal = hosts.refusal(request.raw);
    if (refusal === undefined) return next();
    void reply
      .status(421)
      .type('application/problem+json; charset=utf-8')
      .send(JSON.stringify({ title: 'Misdirected Request', status: 421, detail: refusal }));
  });
  return adapter;
}
