import { Deadlines } from './deadlines.js';
import { Exchange, type ExchangeOptions } from './exchange.js';
import { Origin } from './origin.js';
import type { HttpResponse } from './response.js';
import { SendFailure } from './send-failure.js';
import { targetOf } from './target.js';

const ORIGINS_MAX = 1_024;
const ORIGIN_IDLE_MS = 60_000;

/** An uncompressed response costs less than decompressing one; some servers compress regardless. */
const DEFAULT_HEADERS: Readonly<Record<string, string>> = {
  'accept-encoding': 'identity',
  'user-agent': 'clean-conversions',
};

export interface HttpRequest {
  readonly method: 'POST' | 'GET' | 'PUT' | 'PATCH';
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpClientOptions {
  readonly connectionsPerOrigin: number;
  /** For a whole call: waiting for a connection, connecting, sending, and receiving the response completely. */
  readonly timeoutMs: number;
  /** Allows guarded calls to private addresses and over plain http. */
  readonly allowPrivate: boolean;
  /** Limit of the decoded body, if it is more than 64 KiB. */
  readonly textMaxBytes?: number | undefined;
  readonly originsMax?: number;
  readonly originIdleMs?: number;
}

interface SendOptions extends Partial<ExchangeOptions> {
  /** The URL comes from a customer, not from us or the operator: it must be https and on the public internet. */
  readonly guarded?: boolean;
}

/**
 * The client for every call to a platform or to a customer's URL. It bounds time, memory and sockets, verifies TLS and follows no
 * redirect. It resolves with the complete response (or one marked as truncated) or rejects with a `SendFailure`.
 */
export class HttpClient {
  /** Guarded calls have separate connections: they must not reuse one to an address that they may not reach. */
  private readonly origins = { guarded: new Map<string, Origin>(), open: new Map<string, Origin>() };
  private readonly deadlines = new Deadlines();
  private readonly originsMax: number;
  private readonly originIdleMs: number;
  private readonly sweeper: NodeJS.Timeout;
  private closing = false;

  constructor(private readonly options: HttpClientOptions) {
    this.originsMax = options.originsMax ?? ORIGINS_MAX;
    this.originIdleMs = options.originIdleMs ?? ORIGIN_IDLE_MS;
    this.sweeper = setInterval(() => this.removeIdle(), this.originIdleMs / 2).unref();
  }

  send(request: HttpRequest, { guarded = false, ...rules }: SendOptions = {}): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const guard = guarded && !this.options.allowPrivate;
      const target = targetOf(request.url, guard);
      const options = {
        method: request.method,
        path: target.pathname + target.search,
        headers: headersOf(request),
        body: request.body ?? null,
      };
      const origin = this.originOf(target, guard);
      const { timeoutMs, textMaxBytes } = this.options;
      origin.send(
        new Exchange(options, target.host, { timeoutMs, textMaxBytes, ...rules }, this.deadlines, resolve, reject),
      );
    });
  }

  /** Current numbers. */
  stats(): { origins: number; connections: number; active: number } {
    let [origins, connections, active] = [0, 0, 0];
    for (const origin of this.all()) {
      origins += 1;
      connections += origin.openConnections;
      active += origin.active;
    }
    return { origins, connections, active };
  }

  /** Rejects new calls and waits for those in progress. */
  async close(): Promise<void> {
    this.closing = true;
    clearInterval(this.sweeper);
    await Promise.all([...this.all()].map((origin) => origin.close()));
  }

  private originOf(target: URL, guarded: boolean): Origin {
    if (this.closing) throw notCalled(target, 'the service is stopping');
    const origins = guarded ? this.origins.guarded : this.origins.open;
    let origin = origins.get(target.origin);
    if (!origin) {
      this.evictIdle(target);
      origin = new Origin(target, guarded, this.options.connectionsPerOrigin);
      origins.set(target.origin, origin);
    }
    origin.lastUsedMs = performance.now();
    return origin;
  }

  /** At the limit, removes the origin that has been idle longest. */
  private evictIdle(target: URL): void {
    if (this.origins.guarded.size + this.origins.open.size < this.originsMax) return;
    let oldest: readonly [Map<string, Origin>, string, Origin] | undefined;
    for (const origins of Object.values(this.origins)) {
      for (const [name, origin] of origins) {
        if (!origin.busy && origin.lastUsedMs < (oldest?.[2].lastUsedMs ?? Number.POSITIVE_INFINITY))
          oldest = [origins, name, origin];
      }
    }
    if (!oldest) throw notCalled(target, `${this.originsMax} other hosts are being called; retry later`);
    const [origins, name, origin] = oldest;
    origins.delete(name);
    origin.destroy();
  }

  private removeIdle(): void {
    const before = performance.now() - this.originIdleMs;
    for (const origins of Object.values(this.origins)) {
      for (const [name, origin] of origins) {
        if (origin.busy || origin.lastUsedMs > before) continue;
        origins.delete(name);
        origin.destroy();
      }
    }
  }

  private *all(): Iterable<Origin> {
    yield* this.origins.guarded.values();
    yield* this.origins.open.values();
  }
}

/** A flat list of names and values, which costs undici less than an object. */
function headersOf({ headers }: HttpRequest): string[] {
  const list: string[] = [];
  for (const name in headers) list.push(name, headers[name] as string);
  for (const name in DEFAULT_HEADERS) if (headers[name] === undefined) list.push(name, DEFAULT_HEADERS[name] as string);
  return list;
}

function notCalled(target: URL, why: string): SendFailure {
  return new SendFailure('network_error', false, `${target.host} was not called: ${why}.`);
}
