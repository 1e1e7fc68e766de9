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
 * The HTTP server itself. Hot paths are answered right here, by handlers that rooms put up; everything else goes on to
 * Nest's router, whose routing, hooks and reply object would come on top: `docs/decisions/0001-hot-route-before-router.md`.
 */
export class FrontDoor {
  /** From now on every reply says `Connection: close`: busy keep-alive connections then end after a reply, not inside one. */
  draining = false;
  private readonly handlers: { readonly path: string; readonly handle: Handler }[] = [];

  /** Takes every request to the path, to what lies below it, and with any query. */
  put(path: string, handle: Handler): void {
    this.handlers.push({ path, handle });
  }

  createServer(router: Handler, options: ServerOptions, tls: TlsOptions | undefined): Server {
    const listener: Handler = (request, response) => {
      if (this.draining) response.setHeader('Connection', 'close');
      if (!request.url?.startsWith('/')) toOriginForm(request);
      (this.find(request.url ?? '') ?? router)(request, response);
    };
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

/** A request may name its target by a whole URL (RFC 9112, 3.2.2): then that one's host counts, not the Host header. */
function toOriginForm(request: IncomingMessage): void {
  const { host, rest } = /^https?:\/\/(?<host>[^/?#]+)(?<rest>.*)$/i.exec(request.url ?? '')?.groups ?? {};
  if (host === undefined || rest === undefined) return;
  request.headers.host = host;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
}
