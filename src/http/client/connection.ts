import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { Client, Dispatcher } from 'undici';
import type { Dialer } from './dialer.js';

/** Loaded with the first connection: commands that make none start in a tenth less time. */
const undici = () => createRequire(import.meta.url)('undici') as typeof import('undici');

/** Used if the server announces no keep-alive timeout: a longer one risks that it closes the connection during a call. */
const KEEP_ALIVE_MS = 4_000;
const KEEP_ALIVE_MAX_MS = 60_000;
const HEADERS_MAX_BYTES = 16 * 1024;

/** Assigns connections to exchanges, and is notified when one becomes free or is lost. */
export interface ConnectionOwner {
  freed(connection: Connection): void;
  lost(connection: Connection): void;
}

/**
 * One socket to one origin, for one exchange at a time; opened on demand, and reopened if the server has closed it. Uses undici's
 * Client and not its Pool, because a pool drops a client that could not connect from its count but still uses it, and so opens
 * more sockets than its limit.
 */
export class Connection {
  private readonly client: Client;
  private socket: Socket | undefined;

  constructor(
    origin: string,
    dialer: Dialer,
    private readonly owner: ConnectionOwner,
  ) {
    const { Client } = undici();
    this.client = new Client(origin, {
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: HEADERS_MAX_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
      // An exchange has one deadline for all its phases.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_, callback) => {
        this.socket = dialer.dial(callback);
      },
    });
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.client.dispatch(options, handler);
  }

  /** Whether the socket ended with an error: a body that is delimited by the end of the connection may then be incomplete. */
  get broken(): boolean {
    return this.socket?.errored != null;
  }

  get open(): boolean {
    return this.socket !== undefined && !this.socket.destroyed;
  }

  release(): void {
    this.owner.freed(this);
  }

  /** Closes the socket immediately. Aborting only the exchange would make the client reconnect. */
  discard(): void {
    this.destroy();
    this.owner.lost(this);
  }

  destroy(): void {
    this.client.destroy(() => {});
    // The client does not know of a socket that is still connecting.
    this.socket?.destroy();
  }

  /** Waits for the current exchange to end. */
  async close(): Promise<void> {
    if (!this.client.destroyed) await this.client.close();
  }
}
