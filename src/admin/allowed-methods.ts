import { MethodNotAllowedException, NotFoundException } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';

const METHODS = ['get', 'put', 'post', 'patch', 'delete'];

/** The methods of each path of an OpenAPI document. */
export class AllowedMethods {
  private readonly routes: readonly { readonly pattern: RegExp; readonly methods: readonly string[] }[];

  constructor(paths: Readonly<Record<string, object>>) {
    this.routes = Object.entries(paths).map(([path, operations]) => ({
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      methods: METHODS.filter((method) => method in operations).map((method) => method.toUpperCase()),
    }));
  }

  /** Empty if no route has the path. */
  of(path: string): string[] {
    const methods = this.routes.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods);
    return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)];
  }
}

/** Before the body is read, because how it is parsed depends on the method. */
export function refuseUnknownRoutes(server: FastifyInstance, paths: Readonly<Record<string, object>>): void {
  const methods = new AllowedMethods(paths);
  server.addHook('onRequest', (request, reply, next) => {
    const path = request.url.split('?', 1)[0] as string;
    // A GET that no route answers reaches the dashboard.
    const isRoute = !request.is404 && request.routeOptions.url !== '/*';
    if (isRoute || !path.startsWith('/api/')) return next();
    const allowed = methods.of(path);
    // A route that has the method did not match because of a part that is too long.
    if (allowed.length === 0 || allowed.includes(request.method))
      return next(new NotFoundException('There is no such address.'));
    void reply.header('allow', allowed.join(', '));
    next(new MethodNotAllowedException(`${request.method} is not possible here, only ${allowed.join(', ')}.`));
  });
}
