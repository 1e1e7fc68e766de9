import { Connection, type ConnectionOwner } from './connection.js';
import { Dialer } from './dialer.js';
import type { Exchange } from './exchange.js';

/** The connections to one origin, never more than so many, and the exchanges that wait for one, first come first served. */
export class Origin implements ConnectionOwner {
  lastUsedMs = 0;
  private readonly dialer: Dialer;
  private readonly connections = new Set<Connection>();
  /** The one used last is used next: the others may grow old and close. */
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

  take(exchange: Exchange): void {
    const connection = this.idle.pop() ?? this.open();
    if (connection) connection.carry(exchange);
    else this.enqueue(exchange);
  }

  freed(connection: Connection): void {
    const next = this.dequeue();
    if (next) connection.carry(next);
    else this.idle.push(connection);
  }

  lost(connection: Connection): void {
    this.connections.delete(connection);
    // Not at once: undici is still busy with the failure, and a row of failures would nest and hold everybody up.
    if (this.first) setImmediate(() => this.takeNext());
  }

  get busy(): boolean {
    return this.active > 0 || this.first !== undefined;
  }

  /** Calls that have a connection. */
  get active(): number {
    return this.connections.size - this.idle.length;
  }

  get openConnections(): number {
    let open = 0;
    for (const connection of this.connections) if (connection.open) open += 1;
    return open;
  }

  /** Of an origin that is not busy. */
  destroy(): void {
    for (const connection of this.connections) connection.destroy();
  }

  /** Lets what is under way end by itself, within its deadline; what waits is not sent. */
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

  private takeNext(): void {
    const next = this.dequeue();
    if (next) this.take(next);
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
      // One that has left must not hold on to all that came after it.
      exchange.next = undefined;
      if (!exchange.settled) return exchange;
    }
    return undefined;
  }
}
