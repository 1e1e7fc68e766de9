import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { Dialer } from './dialer.js';
import type { Exchange } from './exchange.js';

/** Longer than this and a server that does not say when it hangs up may do so under the next call. */
const KEEP_ALIVE_MS = 4_000;
const KEEP_ALIVE_MAX_MS = 60_000;
const HEADERS_MAX_BYTES = 16 * 1024;

/** Who lends connections out, and hears what became of them. */
export interface ConnectionOwner {
  freed(connection: Connection): void;
  lost(connection: Connection): void;
}

/**
 * One socket to one origin, for one exchange at a time; opened when it is needed and again when the other side has
 * closed it in between. Undici's Client rather than its Pool, because a pool forgets a client that could not connect but
 * goes on using it, and so opens more sockets than it was told to.
 */
export class Connection {
  private readonly client: Client;
  private socket: Socket | undefined;

  constructor(
    origin: string,
    dialer: Dialer,
    private readonly owner: ConnectionOwner,
  ) {
    this.client = new Client(origin, {
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: HEADERS_MAX_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
      // An exchange has one deadline for all it does.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_, callback) => {
        this.socket = dialer.dial(callback);
      },
    });
  }

  carry(exchange: Exchange): void {
    exchange.connection = this;
    this.client.dispatch(exchange.options, exchange);
  }

  /** Whether the socket ended by an error: a body that lasts until the end of the connection is then not known to be whole. */
  get broken(): boolean {
    return this.socket?.errored != null;
  }

  get open(): boolean {
    return this.socket !== undefined && !this.socket.destroyed;
  }

  release(): void {
    this.owner.freed(this);
  }

  /** Closes the socket, whatever it is doing. Aborting the exchange alone would make the client connect anew. */
  discard(): void {
    this.destroy();
    this.owner.lost(this);
  }

  destroy(): void {
    this.client.destroy(() => {});
    // The client does not know of a socket that is still connecting.
    this.socket?.destroy();
  }

  /** Once the exchange under way has ended. */
  async close(): Promise<void> {
    if (!this.client.destroyed) await this.client.close();
  }
}
