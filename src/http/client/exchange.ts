import type { Dispatcher } from 'undici';
import type { Connection } from './connection.js';
import type { Deadlines, Expiring } from './deadlines.js';
import { decompress } from './decompress.js';
import { FirstBytes } from './first-bytes.js';
import { type HttpResponse, joinRepeated, responseOf, TEXT_MAX_BYTES } from './response.js';
import { failureOf, SendFailure } from './send-failure.js';

/** As it comes over the wire. A longer body is not worth the socket that waits for its end. */
const BODY_MAX_BYTES = 256 * 1024;
const NOTHING = Buffer.alloc(0);

export interface ExchangeOptions {
  readonly timeoutMs: number;
  /** Asked at the last moment, with the connection made and nothing sent: a process may have been frozen on the way there. */
  readonly mayGo?: (() => boolean) | undefined;
  /** The status line is the answer: whatever befalls the body, which is read to 64 KiB, does not change it. */
  readonly statusSuffices?: boolean | undefined;
}

type ResponseStart = NonNullable<Dispatcher.DispatchHandler['onResponseStart']>;

/** One call, from the queue to the answer: undici tells it what happens, and it ends in exactly one way. */
export class Exchange implements Dispatcher.DispatchHandler, Expiring {
  /** The one behind it in the queue. */
  next: Exchange | undefined;
  /** While one carries it. */
  connection: Connection | undefined;
  settled = false;
  readonly dueMs: number;
  place = 0;

  private sent = false;
  private status = 0;
  private headers: HttpResponse['headers'] = {};
  private body: FirstBytes | undefined;
  private received = 0;

  constructor(
    readonly options: Dispatcher.DispatchOptions,
    private readonly host: string,
    private readonly rules: ExchangeOptions,
    private readonly deadlines: Deadlines,
    private readonly resolve: (response: HttpResponse) => void,
    private readonly reject: (failure: SendFailure) => void,
  ) {
    this.dueMs = performance.now() + rules.timeoutMs;
    deadlines.add(this);
  }

  onRequestStart(): void {
    // Undici sends nothing when this throws.
    if (this.rules.mayGo?.() === false) throw new NoLongerWanted();
    this.sent = true;
  }

  /** Also called for what comes before the answer, such as 103: the last one counts. */
  onResponseStart(_: unknown, status: number, headers: Parameters<ResponseStart>[2]): void {
    this.status = status;
    this.headers = joinRepeated(headers);
  }

  onResponseData(_: unknown, piece: Buffer): void {
    this.body ??= new FirstBytes(this.encoding === undefined ? TEXT_MAX_BYTES : BODY_MAX_BYTES);
    this.body.take(piece);
    this.received += piece.length;
    if (this.received <= (this.rules.statusSuffices ? TEXT_MAX_BYTES : BODY_MAX_BYTES)) return;
    this.leave()?.discard();
    this.answer(false);
  }

  onResponseEnd(): void {
    const connection = this.leave();
    if (!connection) return;
    if (connection.broken) {
      connection.discard();
      this.failHalfway();
      return;
    }
    connection.release();
    this.answer(true);
  }

  onResponseError(_: unknown, error: Error): void {
    // Its own end comes back here too, once the connection is gone.
    const connection = this.leave();
    if (!connection) return;
    connection.discard();
    if (error instanceof NoLongerWanted) this.cancel('it was too late');
    else if (this.status === 0) this.fail(failureOf(error, this.host, this.sent));
    else this.failHalfway();
  }

  expire(): void {
    const connection = this.leave();
    connection?.discard();
    if (this.hasStatus) {
      this.answer(false);
      return;
    }
    const what = this.sent
      ? `${this.host} did not answer in full`
      : connection
        ? `${this.host} took no connection`
        : `No connection to ${this.host} became free`;
    this.fail(new SendFailure('timeout', this.sent, `${what} within ${this.rules.timeoutMs} ms.`));
  }

  /** Before it was sent. */
  cancel(why: string): void {
    this.fail(new SendFailure('network_error', false, `${this.host} was not called: ${why}.`));
  }

  private failHalfway(): void {
    if (this.hasStatus) this.answer(false);
    else this.fail(this.broken('half an answer'));
  }

  /** Whether it is answered already, as far as its sender cares. A hint such as 103 is no answer. */
  private get hasStatus(): boolean {
    return this.rules.statusSuffices === true && this.status >= 200;
  }

  private broken(what: string): SendFailure {
    return new SendFailure('network_error', this.sent, `${this.host} sent ${what}: try again.`);
  }

  private get encoding(): string | undefined {
    const encoding = this.headers['content-encoding'];
    return encoding === '' || encoding === 'identity' ? undefined : encoding;
  }

  private leave(): Connection | undefined {
    const { connection } = this;
    this.connection = undefined;
    return connection;
  }

  private answer(whole: boolean): void {
    const { body, encoding } = this;
    if (!body || encoding === undefined) {
      this.succeed(body?.bytes ?? NOTHING, !whole || (body?.cut ?? false));
      return;
    }
    decompress(body.bytes, encoding, { whole, maxBytes: TEXT_MAX_BYTES }).then(
      (text) => this.succeed(text?.bytes ?? NOTHING, !whole || !text || text.cut),
      () => {
        if (this.hasStatus) this.succeed(NOTHING, true);
        else this.fail(this.broken('an answer that cannot be decompressed'));
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

/** Said to undici in the place of sending. */
class NoLongerWanted extends Error {
  override readonly name = 'NoLongerWanted';
}
