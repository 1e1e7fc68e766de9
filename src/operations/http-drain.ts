import type { Server } from 'node:http';
import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

const GRACE_MS = 1_000;
const LOOK_EVERY_MS = 20;

/**
 * A stop that fails nobody's request: from the signal on every reply says `Connection: close`, so that busy keep-alive
 * connections end after a reply and not in the middle of a request. What is idle after that is closed by the server.
 */
@Injectable()
export class HttpDrain implements OnModuleInit, BeforeApplicationShutdown {
  draining = false;

  constructor(private readonly adapter: HttpAdapterHost) {}

  onModuleInit(): void {
    const server = this.adapter.httpAdapter.getHttpServer() as Server;
    server.prependListener('request', (_request, response) => {
      if (this.draining) response.setHeader('connection', 'close');
    });
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.draining = true;
    const server = this.adapter.httpAdapter.getHttpServer() as Server;
    const until = performance.now() + GRACE_MS;
    while ((await openConnections(server)) > 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
}

function openConnections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((error, count) => resolve(error ? 0 : count)));
}
