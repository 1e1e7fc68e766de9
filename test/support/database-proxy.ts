import fs from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { DatabaseServer } from './databases.js';
import { temporaryFolder } from './folders.js';

/** A proxy in front of PostgreSQL that can stop forwarding without closing any connection. */
export interface DatabaseProxy {
  /** The URL of the same database through the proxy. */
  url(databaseUrl: string): string;
  /** Stops forwarding on the connections that exist now and leaves them open. New connections work. */
  stallConnections(): void;
  stop(): Promise<void>;
}

export async function startDatabaseProxy(server: DatabaseServer): Promise<DatabaseProxy> {
  const folder = temporaryFolder('cc-proxy-');
  const socketFile = '.s.PGSQL.5432';
  const sockets = new Set<Socket>();
  const forwarding = new Set<Socket>();
  const listener = createServer((client) => {
    const upstream = connect(join(server.host, socketFile));
    forwarding.add(client);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('data', (bytes) => forwarding.has(client) && to.write(bytes));
      from.on('close', () => forwarding.has(client) && to.destroy());
    }
  });
  await new Promise<void>((resolve) => listener.listen(join(folder, socketFile), resolve));
  return {
    url: (databaseUrl) => databaseUrl.replace(encodeURIComponent(server.host), encodeURIComponent(folder)),
    stallConnections: () => forwarding.clear(),
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
      fs.rmSync(folder, { recursive: true });
    },
  };
}
