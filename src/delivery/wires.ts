import { HttpClient } from '../http/client/http-client.js';
import { SendFailure } from '../http/client/send-failure.js';
import type { Connection, Platform, PlatformRequest, PlatformResponse } from '../platforms/platform.js';
import { NoAnswer } from './lane.js';

/** Beyond what all lanes of a platform use at a time in one process: they are the bound, not this. */
const CONNECTIONS_MAX = 256;
const TIMEOUT_MS = 10_000;

/** The way to each platform: sockets of its own, so that one that hangs takes none from another. */
export class Wires {
  private readonly byPlatform = new Map<string, HttpClient>();

  constructor(
    private readonly allowPrivate: boolean,
    private readonly timeoutMs = TIMEOUT_MS,
  ) {}

  async send(platform: Platform, request: PlatformRequest, connection: Connection): Promise<PlatformResponse> {
    try {
      const guarded = platform.customerAddress === true && connection.endpoint === undefined;
      return await this.wire(platform).send(request, { guarded });
    } catch (error) {
      if (!(error instanceof SendFailure)) throw error;
      if (error.kind === 'address_refused') throw new NoAnswer({ kind: 'rejected', reason: 'address_refused' });
      throw new NoAnswer({ kind: 'retry', reason: error.kind });
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.byPlatform.values()].map((wire) => wire.close()));
  }

  private wire({ name }: Platform): HttpClient {
    let wire = this.byPlatform.get(name);
    if (!wire) {
      const { allowPrivate, timeoutMs } = this;
      wire = new HttpClient({ connectionsPerOrigin: CONNECTIONS_MAX, timeoutMs, allowPrivate });
      this.byPlatform.set(name, wire);
    }
    return wire;
  }
}
