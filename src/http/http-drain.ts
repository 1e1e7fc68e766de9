import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { HotRoutes } from './hot-routes.js';

const GRACE_MS = 1_000;
const LOOK_EVERY_MS = 20;

/**
 * A stop that fails nobody's request. First nobody new is let in and every reply says `Connection: close`, so that busy
 * connections end after their reply; what is still open after a moment is idle, and the server closes it.
 */
@Injectable()
export class HttpDrain implements BeforeApplicationShutdown {
  constructor(
    private readonly adapter: HttpAdapterHost,
    private readonly hotRoutes: HotRoutes,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    const server = this.adapter.httpAdapter.getHttpServer() as Server;
    this.hotRoutes.draining = true;
    // The plain socket server's close: HTTP's own would also cut connections on which a request is just about to come.
    NetServer.prototype.close.call(server);
    const until = performance.now() + GRACE_MS;
    while ((await openConnections(server)) > 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
}

function openConnections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((error, count) => resolve(error ? 0 : count)));
}
