import { randomUUID } from 'node:crypto';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { TlsOptions } from 'node:tls';
import { sendAnswer, textAnswer } from './answer.js';

const TWO_HOSTS = textAnswer(400, 'The request has more than one Host header.', { Connection: 'close' });

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Route {
  readonly path: string;
  readonly handle: Handler;
  readonly andBelow: boolean;
}

/**
 * Creates the HTTP server and answers hot paths before Nest's router, which would add the cost of its routing, hooks and reply
 * object to each request; all other requests go to that router: `docs/decisions/0001-hot-route-before-router.md`.
 */
export class HotRoutes {
  /** Adds `Connection: close` to every response: busy keep-alive connections then end after a response, not during one. */
  draining = false;
  /** Asked before a hot path is handled: whether it has answered the request itself, or will. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  private readonly handlers: Route[] = [];

  /** Handles every request to the path, with any query; on request also those to paths below it. */
  add(path: string, handle: Handler, { andBelow = false } = {}): void {
    this.handlers.push({ path, handle, andBelow });
  }

  createServer(router: Handler, options: ServerOptions, tls: TlsOptions | undefined): Server {
    const listener: Handler = (request, response) => {
      if (this.draining) response.setHeader('Connection', 'close');
      if (hasTwoHosts(request)) return sendAnswer(response, TWO_HOSTS, randomUUID());
      if (!request.url?.startsWith('/')) toOriginForm(request);
      const handle = this.find(request.url ?? '');
      if (!handle) return router(request, response);
      if (!this.instead?.(request, response)) handle(request, response);
    };
    // Both kinds of server have the methods that Fastify uses; only their types differ.
    return tls
      ? (createHttpsServer({ ...options, ...tls }, listener) as unknown as Server)
      : createHttpServer(options, listener);
  }

  private find(url: string): Handler | undefined {
    for (const { path, handle, andBelow } of this.handlers) {
      if (!url.startsWith(path)) continue;
      const next = url.charAt(path.length);
      if (next === '' || next === '?' || (andBelow && next === '/')) return handle;
    }
    return undefined;
  }
}

/** A proxy may select the site by one of them and this service by the other (RFC 9112, 3.2: answer with 400). */
function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

/** A request target may be an absolute URL (RFC 9112, 3.2.2): its host then takes precedence over the Host header. */
function toOriginForm(request: IncomingMessage): void {
  const { host, rest } = /^https?:\/\/(?<host>[^/?#]+)(?<rest>.*)$/i.exec(request.url ?? '')?.groups ?? {};
  if (host === undefined || rest === undefined) return;
  request.headers.host = host;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
}
