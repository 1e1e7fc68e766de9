import type { Dispatcher } from 'undici';
import type { Connection } from './connection.js';
import type { Deadlines, Expiring } from './deadlines.js';
import { decompress } from './decompress.js';
import { FirstBytes } from './first-bytes.js';
import { type HttpResponse, joinRepeated, responseOf, TEXT_MAX_BYTES } from './response.js';
import { failureOf, SendFailure } from './send-failure.js';

/** Before decompression. The rest of a longer body is not read: the connection is closed instead. */
const BODY_MAX_BYTES = 256 * 1024;
const EMPTY = Buffer.alloc(0);

export interface ExchangeOptions {
  readonly timeoutMs: number;
  /** Called when connected and before anything is sent: the process may have been frozen since the call was queued. */
  readonly mayGo?: (() => boolean) | undefined;
  /** Only the status matters: an error in the body, of which 64 KiB are read, does not fail the call. */
  readonly statusSuffices?: boolean | undefined;
  /** Limit of the decoded body, if it is more than 64 KiB. */
  readonly textMaxBytes?: number | undefined;
}

type ResponseStart = NonNullable<Dispatcher.DispatchHandler['onResponseStart']>;

/** One call, from the queue to the response. Undici notifies it of events; it settles exactly once. */
export class Exchange implements Dispatcher.DispatchHandler, Expiring {
  /** The next exchange in the queue. */
  next: Exchange | undefined;
  /** Set while a connection runs it. */
  private connection: Connection | undefined;
  settled = false;
  readonly dueMs: number;
  index = 0;

  private sent = false;
  private status = 0;
  private headers: HttpResponse['headers'] = {};
  private body: FirstBytes | undefined;
  private received = 0;

  constructor(
    private readonly options: Dispatcher.DispatchOptions,
    private readonly host: string,
    private readonly rules: ExchangeOptions,
    private readonly deadlines: Deadlines,
    private readonly resolve: (response: HttpResponse) => void,
    private readonly reject: (failure: SendFailure) => void,
  ) {
    this.dueMs = performance.now() + rules.timeoutMs;
    deadlines.add(this);
  }

  runOn(connection: Connection): void {
    this.connection = connection;
    connection.dispatch(this.options, this);
  }

  onRequestStart(): void {
    // Undici sends nothing if this throws.
    if (this.rules.mayGo?.() === false) throw new NoLongerNeeded();
    this.sent = true;
  }

  /** Also called for interim responses such as 103: the last call is the final response. */
  onResponseStart(_: unknown, status: number, headers: Parameters<ResponseStart>[2]): void {
    this.status = status;
    this.headers = joinRepeated(headers);
  }

  onResponseData(_: unknown, piece: Buffer): void {
    const { textMaxBytes } = this;
    const bodyMaxBytes = Math.max(BODY_MAX_BYTES, textMaxBytes);
    this.body ??= new FirstBytes(this.encoding === undefined ? textMaxBytes : bodyMaxBytes);
    this.body.append(piece);
    this.received += piece.length;
    if (this.received <= (this.rules.statusSuffices ? textMaxBytes : bodyMaxBytes)) return;
    this.detach()?.discard();
    this.respond(false);
  }

  onResponseEnd(): void {
    const connection = this.detach();
    if (!connection) return;
    if (connection.broken) {
      connection.discard();
      this.failIncomplete();
      return;
    }
    connection.release();
    this.respond(true);
  }

  onResponseError(_: unknown, error: Error): void {
    // Also called after this exchange has ended, when its connection closes.
    const connection = this.detach();
    if (!connection) return;
    connection.discard();
    if (error instanceof NoLongerNeeded) this.cancel('it was too late');
    else if (this.status === 0) this.fail(failureOf(error, this.host, this.sent));
    else this.failIncomplete();
  }

  expire(): void {
    const connection = this.detach();
    connection?.discard();
    if (this.hasStatus) {
      this.respond(false);
      return;
    }
    const reason = this.sent
      ? `${this.host} did not answer in full`
      : connection
        ? `${this.host} did not accept a connection`
        : `No connection to ${this.host} became free`;
    this.fail(new SendFailure('timeout', this.sent, `${reason} within ${this.rules.timeoutMs} ms.`));
  }

  /** Ends an exchange that was not sent. */
  cancel(why: string): void {
    this.fail(new SendFailure('network_error', false, `${this.host} was not called: ${why}.`));
  }

  private failIncomplete(): void {
    if (this.hasStatus) this.respond(false);
    else this.fail(this.invalidResponse('an incomplete response'));
  }

  /** Whether the caller already has what it needs. An interim response such as 103 does not count. */
  private get hasStatus(): boolean {
    return this.rules.statusSuffices === true && this.status >= 200;
  }

  private invalidResponse(what: string): SendFailure {
    return new SendFailure('network_error', this.sent, `${this.host} sent ${what}. Retry.`);
  }

  private get textMaxBytes(): number {
    return this.rules.textMaxBytes ?? TEXT_MAX_BYTES;
  }

  private get encoding(): string | undefined {
    const encoding = this.headers['content-encoding'];
    return encoding === '' || encoding === 'identity' ? undefined : encoding;
  }

  private detach(): Connection | undefined {
    const { connection } = this;
    this.connection = undefined;
    return connection;
  }

  private respond(whole: boolean): void {
    const { body, encoding } = this;
    if (!body || encoding === undefined) {
      this.succeed(body?.bytes ?? EMPTY, !whole || (body?.cut ?? false));
      return;
    }
    decompress(body.bytes, encoding, { whole, maxBytes: this.textMaxBytes }).then(
      (text) => this.succeed(text?.bytes ?? EMPTY, !whole || !text || text.cut),
      () => {
        if (this.hasStatus) this.succeed(EMPTY, true);
        else this.fail(this.invalidResponse('a response that cannot be decompressed'));
      },
    );
  }

  private succeed(text: Buffer, truncated: boolean): void {
    if (this.settle()) this.resolve(responseOf(this.status, this.headers, text, truncated));
  }

  private fail(failure: SendFailure): void {
    if (this.settle()) this.reject(failure);
  }

  private settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.deadlines.delete(this);
    return true;
  }
}

/** Thrown to undici instead of sending. */
class NoLongerNeeded extends Error {
  override readonly name = 'NoLongerNeeded';
}
