import { redact, shorten } from '../platforms/common-verdict.js';
import type { Connection, Platform, PlatformRequest, PlatformResponse, Verdict } from '../platforms/platform.js';
import { Breaker } from './breaker.js';
import type { DeferReason } from './delivery.js';

/** How many calls to one platform of one site are under way at most: that many sockets. More where each carries one. */
const CALLS_MAX = { shared: 8, single: 32 };
/** What may wait in memory. The log is the queue: what finds no room is deferred and comes back from there. */
const WAITING_MAX = 2_000;
/** All calls under way and none answered for so long: the platform hangs, and nobody else waits for it. */
const STALLED_MS = 2_000;
const THROTTLED_MS = 1_000;

/** One conversion, spelled for a platform and ready to go. */
export interface Parcel {
  /** The payload as JSON. */
  readonly body: string;
  readonly group: string | undefined;
  /** In a call of its own, so that the answer is about it alone. */
  readonly alone: boolean;
  /** Tries whether a parked connection works again. */
  readonly probe: boolean;
  /** False once this process may no longer act for the conversion. */
  readonly mayGo: () => boolean;
  readonly done: (result: LaneResult) => void;
}

export interface LaneResult {
  readonly status: 'delivered' | 'accepted' | 'failed' | 'deferred' | 'forbidden';
  readonly reason?: string | undefined;
  /** The platform's wish. */
  readonly afterMs?: number | undefined;
  readonly durationMs: number;
  readonly httpStatus?: number | undefined;
  readonly requestId?: string | undefined;
  readonly response?: string | undefined;
}

/** What a lane needs of the world around it. */
export interface LaneWorld {
  /** As of now: an operator may have mended, paused or taken it away. */
  state(): 'active' | 'paused' | 'parked' | undefined;
  connection(): Connection | undefined;
  send(request: PlatformRequest, connection: Connection): Promise<PlatformResponse>;
  /** Undefined where the connection needs none. With `stale`, one that is not that one. */
  accessToken(connection: Connection, stale?: string): Promise<string | undefined>;
  park(reason: string): Promise<void>;
  pause(reason: string): Promise<void>;
  /** A parked connection works again. */
  resume(): Promise<void>;
  /** Something that cannot happen did. */
  fault(error: unknown): void;
}

/** A way to say in one word why a call brought no answer. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  constructor(
    readonly outcome: { kind: 'retry'; reason: 'timeout' | 'network_error' } | { kind: 'rejected'; reason: string },
  ) {
    super(outcome.reason);
  }
}

/** The platform's token endpoint refused the credentials. */
export class CredentialsRefused extends Error {
  override readonly name = 'CredentialsRefused';
}

/**
 * The way of one site's conversions to one platform: its own mailbox, its own bound on calls, its own breaker. What
 * arrives in one turn of the event loop shares a call where the platform takes batches; nothing waits for a batch to fill.
 */
export class Lane {
  private waiting: Parcel[] = [];
  private calls = 0;
  private soon = false;
  private lastAnswer = performance.now();
  private changing: Promise<void> | undefined;
  private readonly breaker: Breaker;
  private readonly callsMax: number;

  constructor(
    private readonly platform: Platform,
    private readonly world: LaneWorld,
    openMs: number,
  ) {
    this.breaker = new Breaker(openMs);
    this.callsMax = platform.batchMax > 1 ? CALLS_MAX.shared : CALLS_MAX.single;
  }

  /** How many parcels that are in no hurry it would take now: no more than one while one call decides for all. */
  get room(): number {
    if (this.changing || this.refusal()) return 0;
    const busy = this.waiting.length + this.calls;
    return this.breaker.callsMax(this.callsMax) === 1 ? Math.max(0, 1 - busy) : WAITING_MAX - this.waiting.length;
  }

  offer(parcel: Parcel): void {
    // What the connection is about to become decides.
    const refusal = parcel.probe || this.changing ? undefined : this.refusal();
    if (refusal || this.waiting.length >= WAITING_MAX) {
      parcel.done(deferred(refusal ?? 'pending'));
      return;
    }
    this.waiting.push(parcel);
    this.flushSoon();
  }

  /** Now and then: whoever waits for a platform that hangs waits no longer. */
  tick(): void {
    const now = performance.now();
    if (this.calls === 0 || now - this.lastAnswer < STALLED_MS || this.waiting.length === 0) return;
    this.breaker.open(now);
    for (const parcel of this.waiting.splice(0)) parcel.done(deferred('circuit_open'));
  }

  private refusal(): DeferReason | undefined {
    const state = this.world.state();
    if (state === 'paused') return 'paused';
    if (state === 'parked') return 'authorization';
    return this.breaker.refusal(performance.now());
  }

  private flushSoon(): void {
    if (this.soon) return;
    this.soon = true;
    setImmediate(() => {
      this.soon = false;
      this.flush();
    });
  }

  private flush(): void {
    while (!this.changing && this.waiting.length > 0 && this.calls < this.breaker.callsMax(this.callsMax)) {
      if (this.calls === 0) this.lastAnswer = performance.now();
      this.calls += 1;
      void this.deliver(this.takeBatch()).finally(() => {
        this.calls -= 1;
        this.flush();
      });
    }
  }

  private takeBatch(): Parcel[] {
    const [first, ...rest] = this.waiting as [Parcel, ...Parcel[]];
    const batch = [first];
    if (this.platform.batchMax > 1 && !first.alone) {
      const left: Parcel[] = [];
      for (const parcel of rest) {
        const joins = batch.length < this.platform.batchMax && parcel.group === first.group && !parcel.alone;
        (joins ? batch : left).push(parcel);
      }
      this.waiting = left;
    } else this.waiting = rest;
    return batch;
  }

  /** One call, and whatever follows from its answer; settles every parcel. Never throws. */
  private async deliver(parcels: Parcel[]): Promise<void> {
    const batch = parcels.filter((parcel) => {
      const mayGo = parcel.mayGo();
      // Somebody else sends it, or has sent it already.
      if (!mayGo) parcel.done({ status: 'forbidden', durationMs: 0 });
      return mayGo;
    });
    if (batch.length === 0) return;
    const connection = this.world.connection();
    if (!connection) return settleAll(batch, { status: 'failed', reason: 'disconnected', durationMs: 0 });
    const refusal = batch[0]?.probe ? undefined : this.changing ? 'authorization' : this.refusal();
    if (refusal) return settleAll(batch, deferred(refusal));
    const started = performance.now();
    const answer = await this.call(batch, connection);
    const durationMs = Math.round(performance.now() - started);
    this.note(answer);
    await this.settle(batch, answer, durationMs);
  }

  private async call(batch: readonly Parcel[], connection: Connection, stale?: string): Promise<Answer> {
    try {
      const accessToken = await this.world.accessToken(connection, stale);
      const request = this.platform.request(
        batch.map((parcel) => parcel.body),
        { connection, group: batch[0]?.group, accessToken, nowMs: Date.now() },
      );
      const response = await this.world.send(request, connection);
      const verdict = this.platform.verdict(response, batch.length);
      // A token may have been revoked before its time: a fresh one is tried once.
      const refused = firstOf(verdict).kind === 'unauthorized';
      if (refused && accessToken !== undefined && stale === undefined)
        return this.call(batch, this.world.connection() ?? connection, accessToken);
      return { verdict: storable(verdict), httpStatus: response.status, response: redact(response.text) };
    } catch (error) {
      if (error instanceof NoAnswer) return { verdict: error.outcome };
      if (error instanceof CredentialsRefused) return { verdict: { kind: 'unauthorized', reason: error.message } };
      // Our own mistake: what it stands in the way of is kept, and sent by a version that knows better.
      this.world.fault(error);
      return { verdict: { kind: 'retry', reason: 'server_error' } };
    }
  }

  /** The breaker counts calls, not conversions: any answer shows that somebody is there. */
  private note({ verdict }: Answer): void {
    const now = performance.now();
    this.lastAnswer = now;
    const first = firstOf(verdict);
    if (first.kind !== 'retry') this.breaker.answered();
    else if (first.reason === 'throttled') this.breaker.hold(now, first.afterMs ?? THROTTLED_MS);
    else this.breaker.failed(now);
  }

  private async settle(batch: readonly Parcel[], { verdict, httpStatus, response }: Answer, durationMs: number) {
    const again: Parcel[] = [];
    const verdictOf = (index: number): Verdict => (isList(verdict) ? (verdict[index] ?? UNTOLD) : verdict);
    for (const [index, parcel] of batch.entries()) {
      const one = verdictOf(index);
      const requestId = 'requestId' in one ? one.requestId : undefined;
      const told = { durationMs, httpStatus, response, requestId };
      switch (one.kind) {
        case 'delivered':
        case 'accepted':
          parcel.done({ status: one.kind, ...told });
          if (parcel.probe) this.change(() => this.world.resume());
          break;
        case 'rejected':
          parcel.done({ status: 'failed', reason: one.reason, ...told });
          break;
        case 'retry':
          parcel.done({ status: 'deferred', reason: one.reason, afterMs: one.afterMs, ...told });
          break;
        case 'unauthorized':
          this.change(() => this.world.park(one.reason));
          parcel.done({ status: 'deferred', reason: 'authorization', ...told });
          break;
        case 'gone':
          this.change(() => this.world.pause(one.reason));
          parcel.done({ status: 'deferred', reason: 'paused', ...told });
          break;
        case 'resend':
        case 'split':
          if (batch.length > 1) again.push(parcel);
          else parcel.done({ status: 'failed', reason: 'reason' in one ? one.reason : 'refused', ...told });
      }
    }
    if (again.length === 0) return;
    // Named ones are out of it; where none was named, each half shows whether it holds the bad one.
    const halves = again.length < batch.length ? [again] : halve(again);
    for (const half of halves) await this.deliver(half);
  }

  /** While the connection is being parked, paused or resumed nothing else is sent. */
  private change(work: () => Promise<void>): void {
    this.changing ??= work()
      // It is found out again by the next call.
      .catch(() => {})
      .finally(() => {
        this.changing = undefined;
        this.flush();
      });
  }
}

interface Answer {
  readonly verdict: Verdict | readonly Verdict[];
  readonly httpStatus?: number;
  readonly response?: string;
}

/** A platform's words and its id of a call are whatever it says. They go into the log, which does not take everything. */
function storable(verdict: Verdict | readonly Verdict[]): Verdict | readonly Verdict[] {
  return isList(verdict) ? verdict.map(storableOne) : storableOne(verdict);
}

function storableOne(verdict: Verdict): Verdict {
  const id = 'requestId' in verdict && verdict.requestId ? { requestId: shorten(verdict.requestId) } : {};
  // The reasons of a retry are our own words.
  if (verdict.kind === 'retry' || !('reason' in verdict)) return { ...verdict, ...id };
  return { ...verdict, ...id, reason: shorten(verdict.reason) };
}

/** The answer has fewer verdicts than the call had conversions. */
const UNTOLD: Verdict = { kind: 'retry', reason: 'server_error' };

function isList(verdict: Verdict | readonly Verdict[]): verdict is readonly Verdict[] {
  return Array.isArray(verdict);
}

function firstOf(verdict: Verdict | readonly Verdict[]): Verdict {
  return isList(verdict) ? (verdict[0] ?? UNTOLD) : verdict;
}

function deferred(reason: DeferReason): LaneResult {
  return { status: 'deferred', reason, durationMs: 0 };
}

function settleAll(batch: readonly Parcel[], result: LaneResult): void {
  for (const parcel of batch) parcel.done(result);
}

function halve<Item>(items: readonly Item[]): Item[][] {
  const middle = items.length >> 1;
  return [items.slice(0, middle), items.slice(middle)];
}
