import { Connection, type ConnectionOwner } from './connection.js';
import { Dialer } from './dialer.js';
import type { Exchange } from './exchange.js';

/** The connections to one origin, up to a maximum, and the exchanges that wait for one, in FIFO order. */
export class Origin implements ConnectionOwner {
  lastUsedMs = 0;
  private readonly dialer: Dialer;
  private readonly connections = new Set<Connection>();
  /** A stack: the connection used last is used next, so that unneeded ones can time out. */
  private readonly idle: Connection[] = [];
  private first: Exchange | undefined;
  private last: Exchange | undefined;

  constructor(
    private readonly url: URL,
    guarded: boolean,
    private readonly connectionsMax: number,
  ) {
    this.dialer = new Dialer(url, guarded);
  }

  send(exchange: Exchange): void {
    const connection = this.idle.pop() ?? this.open();
    if (connection) exchange.runOn(connection);
    else this.enqueue(exchange);
  }

  freed(connection: Connection): void {
    const next = this.dequeue();
    if (next) next.runOn(connection);
    else this.idle.push(connection);
  }

  lost(connection: Connection): void {
    this.connections.delete(connection);
    // Deferred: undici is still handling the failure, and a series of failures would nest and block the event loop.
    if (this.first) setImmediate(() => this.sendNext());
  }

  get busy(): boolean {
    return this.active > 0 || this.first !== undefined;
  }

  /** Exchanges that have a connection. */
  get active(): number {
    return this.connections.size - this.idle.length;
  }

  get openConnections(): number {
    let open = 0;
    for (const connection of this.connections) if (connection.open) open += 1;
    return open;
  }

  /** Only for an origin that is not busy. */
  destroy(): void {
    for (const connection of this.connections) connection.destroy();
  }

  /** Waits for exchanges in progress, within their deadlines; cancels those that are queued. */
  async close(): Promise<void> {
    for (let exchange = this.dequeue(); exchange; exchange = this.dequeue()) exchange.cancel('the service is stopping');
    await Promise.all([...this.connections].map((connection) => connection.close()));
  }

  private open(): Connection | undefined {
    if (this.connections.size >= this.connectionsMax) return undefined;
    const connection = new Connection(this.url.origin, this.dialer, this);
    this.connections.add(connection);
    return connection;
  }

  private sendNext(): void {
    const next = this.dequeue();
    if (next) this.send(next);
  }

  private enqueue(exchange: Exchange): void {
    if (this.last) this.last.next = exchange;
    else this.first = exchange;
    this.last = exchange;
  }

  private dequeue(): Exchange | undefined {
    for (let exchange = this.first; exchange; exchange = this.first) {
      this.first = exchange.next;
      if (!this.first) this.last = undefined;
      // A removed exchange must not keep the ones after it in memory.
      exchange.next = undefined;
      if (!exchange.settled) return exchange;
    }
    return undefined;
  }
}
