import { HttpClient } from '../../http/client/http-client.js';
import { SendFailure } from '../../http/client/send-failure.js';
import type { Connection, Platform, PlatformRequest, PlatformResponse } from '../../platforms/platform.js';

/** More than all destination queues of a platform use at a time in one process: they are the limit, not this. */
const CONNECTIONS_MAX = 256;
const TIMEOUT_MS = 10_000;

/** A request got no response. `outcome` is the verdict on its deliveries, the message says why, for a person. */
export class NoResponse extends Error {
  override readonly name = 'NoResponse';
  constructor(
    readonly outcome:
      | { kind: 'retry'; reason: 'timeout' | 'network_error'; unknown: boolean }
      | { kind: 'rejected'; reason: string },
    message: string = outcome.reason,
  ) {
    super(message);
  }
}

/** HTTP client of the platforms. Each platform has its own sockets, so that one that hangs does not block the others. */
export class PlatformClient {
  private readonly byPlatform = new Map<string, HttpClient>();

  constructor(
    private readonly allowPrivate: boolean,
    private readonly timeoutMs = TIMEOUT_MS,
    /** Limit of a decoded answer, if it is more than 64 KiB. */
    private readonly textMaxBytes?: number,
  ) {}

  /** `mayGo` is called right before the request is sent: the process may have been frozen since. */
  async request(
    platform: Platform,
    request: PlatformRequest,
    connection: Connection,
    mayGo?: () => boolean,
  ): Promise<PlatformResponse> {
    try {
      const guarded = platform.customerAddress === true && connection.endpoint === undefined;
      return await this.clientOf(platform).send(request, { guarded, mayGo });
    } catch (error) {
      if (!(error instanceof SendFailure)) throw error;
      const { kind, sent, message } = error;
      if (kind === 'address_refused') throw new NoResponse({ kind: 'rejected', reason: kind }, message);
      throw new NoResponse({ kind: 'retry', reason: kind, unknown: sent }, message);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.byPlatform.values()].map((client) => client.close()));
  }

  private clientOf({ name }: Platform): HttpClient {
    let client = this.byPlatform.get(name);
    if (!client) {
      const { allowPrivate, timeoutMs, textMaxBytes } = this;
      client = new HttpClient({ connectionsPerOrigin: CONNECTIONS_MAX, timeoutMs, allowPrivate, textMaxBytes });
      this.byPlatform.set(name, client);
    }
    return client;
  }
}
