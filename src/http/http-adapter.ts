import { MethodNotAllowedException, NotFoundException } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Settings } from '../kernel/settings/settings.js';
import { ANSWER_HEADERS, textAnswer } from './answer.js';
import type { HotRoutes } from './hot-routes.js';
import { createListener, type Handler, KEEP_ALIVE_MS, REQUEST_TIMEOUT_MS } from './listener.js';

/** Another method is not allowed there. Other paths are not public: whether they exist is not told. */
const PROBES: readonly string[] = ['/healthz', '/readyz'];

export function createAdapter(settings: Settings, hotRoutes: HotRoutes): FastifyAdapter {
  const { tlsCert, tlsKey } = settings;
  const adapter = new FastifyAdapter({
    logger: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    bodyLimit: settings.maxBodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    serverFactory: (router: Handler) =>
      createListener(
        hotRoutes.before(router),
        textAnswer,
        tlsCert && tlsKey ? { cert: tlsCert, key: tlsKey } : undefined,
      ),
    // Every listener already has its handler, also the one that Fastify adds for a second address of a host name.
    clientErrorHandler: () => {},
    frameworkErrors: (_error: Error, _request: FastifyRequest, reply: FastifyReply) => {
      void reply.status(400).type('text/plain; charset=utf-8').send('The path is not valid.');
    },
  });
  // An unknown path is answered with 404 before its body is parsed.
  adapter.getInstance().addHook('onRequest', (request, reply, next) => {
    void reply.headers(ANSWER_HEADERS);
    if (!request.is404) return next();
    const [path = ''] = request.url.split('?', 1);
    if (!PROBES.includes(path)) return next(new NotFoundException());
    void reply.header('Allow', 'GET, HEAD');
    next(new MethodNotAllowedException());
  });
  return adapter;
}
