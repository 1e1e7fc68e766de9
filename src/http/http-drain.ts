import type { Server } from 'node:http';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { FrontDoor } from './front-door.js';

const GRACE_MS = 1_000;
const LOOK_EVERY_MS = 20;

/** A stop that fails nobody's request: busy connections end after their reply, and only then the server closes idle ones. */
@Injectable()
export class HttpDrain implements BeforeApplicationShutdown {
  constructor(
    private readonly adapter: HttpAdapterHost,
    private readonly frontDoor: FrontDoor,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    this.frontDoor.draining = true;
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
