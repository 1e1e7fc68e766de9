import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

const DEFAULT_PORT = 5432;

/** A TCP proxy in front of a PostgreSQL server that listens on a Unix socket. It can hold back what clients send, lose answers, or stall. */
export class HoldingProxy {
  private isHolding = false;
  /** What clients have sent meanwhile, by connection to the server. */
  private held = new Map<Socket, Buffer[]>();
  private readonly sockets = new Set<Socket>();
  private readonly stalled = new Set<Socket>();
  private lostText: string | undefined;

  private constructor(private readonly server: Server) {}

  static async start(socketFolder: string): Promise<HoldingProxy> {
    // Half-open: the end of an abandoned connection must not overtake its bytes.
    const server = createServer({ allowHalfOpen: true });
    const proxy = new HoldingProxy(server);
    const path = join(socketFolder, `.s.PGSQL.${DEFAULT_PORT}`);
    server.on('connection', (client) => proxy.forward(client, connect({ path, allowHalfOpen: true })));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get heldBytes(): number {
    return [...this.held.values()].flat().reduce((sum, { length }) => sum + length, 0);
  }

  /** The same database, through the proxy. */
  urlOf(databaseUrl: string): string {
    const { port } = this.server.address() as { port: number };
    const [, database] = /@\/([^?]+)/.exec(databaseUrl) as unknown as [string, string];
    return `postgres://postgres@127.0.0.1:${port}/${database}`;
  }

  /** Stops forwarding on the connections that exist now and leaves them open. New connections work. */
  stallConnections(): void {
    for (const socket of this.sockets) this.stalled.add(socket);
  }

  /** Connections on which this text is sent get no more answers, as if their client had died after the commit. */
  loseAnswersTo(text: string): void {
    this.lostText = text;
  }

  hold(): void {
    this.isHolding = true;
  }

  /** Passes on what was held, and resolves when the server has processed all of it and closed those connections. */
  async release(): Promise<void> {
    this.isHolding = false;
    const held = this.held;
    this.held = new Map();
    const closed = [...held.keys()].map((to) => to.closed || once(to, 'close'));
    for (const [to, chunks] of held) to.end(Buffer.concat(chunks));
    await Promise.all(closed);
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private forward(client: Socket, server: Socket): void {
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.sockets.delete(socket));
    }
    let isLost = false;
    client.on('data', (bytes) => {
      isLost ||= this.lostText !== undefined && bytes.includes(this.lostText);
      if (this.stalled.has(client)) return;
      if (this.isHolding) this.held.set(server, [...(this.held.get(server) ?? []), bytes]);
      else if (server.writable) server.write(bytes);
    });
    client.on('end', () => {
      if (!this.held.has(server) && !this.stalled.has(client)) server.end();
    });
    server.on('data', (bytes) => isLost || this.stalled.has(server) || client.write(bytes));
    server.on('end', () => server.end());
    server.on('close', () => this.stalled.has(server) || client.destroy());
  }
}
