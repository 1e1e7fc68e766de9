import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Shutdown } from '../kernel/shutdown.js';
import { HotRoutes } from './hot-routes.js';

const GRACE_MS = 1_000;
/** Share of the grace period that is left to the stages after HTTP. */
const LEFT = 0.4;
const POLL_MS = 20;

/**
 * Graceful shutdown without failed requests. The server first stops accepting connections and adds `Connection: close` to every
 * response, so that busy connections end after their response; connections that are still open after the grace period are idle,
 * and the server closes them. A request that is not answered in its share of the shutdown's time loses its connection.
 */
@Injectable()
export class HttpDrain implements BeforeApplicationShutdown {
  constructor(
    private readonly adapter: HttpAdapterHost,
    private readonly hotRoutes: HotRoutes,
    private readonly shutdown: Shutdown,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    this.shutdown.begin();
    const server = this.adapter.httpAdapter.getHttpServer() as Server;
    this.hotRoutes.draining = true;
    // close() of the net server: close() of the HTTP server would also cut connections on which a request is just arriving.
    NetServer.prototype.close.call(server);
    const deadlineMs = performance.now() + GRACE_MS;
    while ((await openConnections(server)) > 0 && performance.now() < deadlineMs) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    // Nest closes the server next, and waits for the requests that are left.
    void this.shutdown.until(() => false, LEFT).then(() => server.closeAllConnections());
  }
}

function openConnections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((error, count) => resolve(error ? 0 : count)));
}
