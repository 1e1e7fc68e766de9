import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Handler } from './listener.js';

interface Route {
  readonly path: string;
  readonly handle: Handler;
  readonly andBelow: boolean;
}

/**
 * Answers hot paths before Nest's router, which would add the cost of its routing, hooks and reply
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

  /** Handles every request: those to other paths with the router. */
  before(router: Handler): Handler {
    return (request, response) => {
      if (this.draining) response.setHeader('Connection', 'close');
      if (!request.url?.startsWith('/')) toOriginForm(request);
      const handle = this.find(request.url ?? '');
      if (!handle) return router(request, response);
      if (!this.instead?.(request, response)) handle(request, response);
    };
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

/** A request target may be an absolute URL (RFC 9112, 3.2.2): its host then takes precedence over the Host header. */
function toOriginForm(request: IncomingMessage): void {
  const { host, rest } = /^https?:\/\/(?<host>[^/?#]+)(?<rest>.*)$/i.exec(request.url ?? '')?.groups ?? {};
  if (host === undefined || rest === undefined) return;
  request.headers.host = host;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
}
