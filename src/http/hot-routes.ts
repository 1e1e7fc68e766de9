import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { TlsOptions } from 'node:tls';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Creates the HTTP server and answers hot paths before Nest's router, which would add the cost of its routing, hooks and reply
 * object to each request; all other requests go to that router: `docs/decisions/0001-hot-route-before-router.md`.
 */
export class HotRoutes {
  /** Adds `Connection: close` to every response: busy keep-alive connections then end after a response, not during one. */
  draining = false;
  private readonly handlers: { readonly path: string; readonly handle: Handler }[] = [];

  /** Handles every request to the path and to paths below it, with any query. */
  add(path: string, handle: Handler): void {
    this.handlers.push({ path, handle });
  }

  createServer(router: Handler, options: ServerOptions, tls: TlsOptions | undefined): Server {
    const listener: Handler = (request, response) => {
      if (this.draining) response.setHeader('Connection', 'close');
      if (!request.url?.startsWith('/')) toOriginForm(request);
      (this.find(request.url ?? '') ?? router)(request, response);
    };
    // Both kinds of server have the methods that Fastify uses; only their types differ.
    return tls
      ? (createHttpsServer({ ...options, ...tls }, listener) as unknown as Server)
      : createHttpServer(options, listener);
  }

  private find(url: string): Handler | undefined {
    for (const { path, handle } of this.handlers) {
      if (!url.startsWith(path)) continue;
      const next = url.charAt(path.length);
      if (next === '' || next === '?' || next === '/') return handle;
    }
    return undefined;
  }
}

/** A request target may be an absolute URL (RFC 9112, 3.2.2): its host then takes precedence over the Host header. */
function toOriginForm(request: IncomingMessage): void {
  const { host, rest } = /^https?:\/\/(?<host>[^/?#]+)(?<rest>.*)$/i.exec(request.url ?? '')?.groups ?? {};
  if (host === undefined || rest === undefined) return;
  request.headers.host = host;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
}
