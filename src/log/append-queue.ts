import { LogUnavailable, messageOf } from '../kernel/errors.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { AppendOutcome, AppendRequest } from './event.js';

/** What the queue needs of the database: one call that stores a batch or fails. */
export interface AppendPort {
  append(batch: string, checked: boolean, noted: boolean): Promise<BatchOutcome>;
}

/** As `cc.append` answers. Places in the batch count from 1. */
export interface BatchOutcome {
  readonly time: number;
  /** Position of the first event that was stored now; the others follow without a gap, in the order of their places. */
  readonly first: number | null;
  readonly lost: readonly (readonly [place: number, holder: string])[] | null;
  readonly stored: readonly (number | null)[] | null;
  readonly conflicts: readonly number[] | null;
}

/** The database said no to these very rows (as opposed to: it could not be reached). Nothing of the batch was stored. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused';
}

export interface AppendQueueLimits {
  readonly batchEventsMax: number;
  readonly batchBytesMax: number;
  readonly waitingEventsMax: number;
  readonly waitingBytesMax: number;
  /** How long a request may be under way, waiting and tries included. */
  readonly patienceMs: number;
  readonly retryDelayMs: number;
}

const APPEND_LIMITS: AppendQueueLimits = {
  batchEventsMax: 1_000,
  batchBytesMax: 2 * 1024 * 1024,
  waitingEventsMax: 20_000,
  waitingBytesMax: 32 * 1024 * 1024,
  patienceMs: 6_000,
  retryDelayMs: 100,
};

interface Waiting {
  readonly request: AppendRequest;
  /** Each event as JSON, without its place in the batch: ids included, so that a second sending is the same. */
  readonly rows: readonly string[];
  readonly bytes: number;
  readonly deadline: number;
  readonly resolve: (outcome: AppendOutcome) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The log's mailbox. Whatever has queued up while a batch was on its way goes out as the next one: under load many
 * requests share a commit, and without load a request waits for nobody. One batch is in flight at a time.
 */
export class AppendQueue {
  private waiting: Waiting[] = [];
  private waitingEvents = 0;
  private waitingBytes = 0;
  private inFlight: readonly Waiting[] = [];
  private working: Promise<void> | undefined;

  constructor(
    private readonly port: AppendPort,
    private readonly observe: (requests: AppendRequest[], events: number, seconds: number) => void = () => {},
    private readonly limits: AppendQueueLimits = APPEND_LIMITS,
  ) {}

  append(request: AppendRequest): Promise<AppendOutcome> {
    const rows = request.events.map((_, index) => serialise(request, index));
    const bytes = rows.reduce((sum, row) => sum + row.length, 0);
    if (
      this.waitingEvents + rows.length > this.limits.waitingEventsMax ||
      this.waitingBytes + bytes > this.limits.waitingBytesMax
    ) {
      return Promise.reject(new LogUnavailable('More is waiting to be stored than can be stored in time'));
    }
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + this.limits.patienceMs;
      this.waiting.push({ request, rows, bytes, deadline, resolve, reject });
      this.waitingEvents += rows.length;
      this.waitingBytes += bytes;
      // Not at once: what else this turn of the event loop brings shares the batch.
      this.working ??= new Promise<void>((next) => setImmediate(next)).then(() => this.work());
    });
  }

  /** Resolves when everything that was accepted has been answered. */
  async drained(): Promise<void> {
    while (this.working) await this.working;
  }

  private async work(): Promise<void> {
    const sweeper = setInterval(() => this.answerTheImpatient(), this.limits.retryDelayMs);
    while (this.waiting.length > 0) {
      this.inFlight = this.takeBatch();
      await this.store(this.inFlight, false);
    }
    this.inFlight = [];
    clearInterval(sweeper);
    this.working = undefined;
  }

  /** As many as fit, in the order they came; a stream or key that is in the batch already waits for the next one. */
  private takeBatch(): Waiting[] {
    const batch: Waiting[] = [];
    const held: Waiting[] = [];
    const taken = new Set<string>();
    let events = 0;
    let bytes = 0;
    let seen = 0;
    for (const item of this.waiting) {
      const { request } = item;
      events += item.rows.length;
      bytes += item.bytes;
      if (batch.length > 0 && (events > this.limits.batchEventsMax || bytes > this.limits.batchBytesMax)) break;
      seen += 1;
      const key = request.claim && `${request.site} ${request.claim.key}`;
      const apart = taken.has(request.stream) || (key !== undefined && taken.has(key));
      (apart ? held : batch).push(item);
      // Also of those that wait: a later request on the same stream or key must not overtake them.
      if (isCompared(request)) taken.add(request.stream);
      if (key !== undefined) taken.add(key);
    }
    this.waiting = held.concat(this.waiting.slice(seen));
    for (const item of batch) this.forget(item);
    return batch;
  }

  /**
   * Sends the batch until its outcome is known. A connection that broke is not a failed append: the first sending may
   * have been committed, or may still be, so the same rows with the same ids are sent again and the log says which of
   * them it has. Only those that ran out of patience are given up, and told so.
   */
  private async store(batch: readonly Waiting[], sentBefore: boolean): Promise<void> {
    let uncertain = sentBefore;
    for (;;) {
      const started = performance.now();
      const open = batch.filter((item) => item.deadline > started);
      for (const item of batch) if (item.deadline <= started) item.reject(outOfPatience());
      if (open.length === 0) return;
      const checked = uncertain || open.some((item) => isCompared(item.request));
      try {
        const outcome = await this.port.append(numbered(open), checked, open.some(isNoted));
        // In the next turn: what has queued up goes out first, and is being stored while these are answered.
        setImmediate(() => answer(open, outcome));
        const requests = open.map(({ request }) => request);
        this.observe(requests, countEvents(open), (performance.now() - started) / 1_000);
        return;
      } catch (error) {
        if (error instanceof BatchRefused) return this.singleOut(open, error);
        uncertain = true;
        await new Promise((resolve) => setTimeout(resolve, this.limits.retryDelayMs));
      }
    }
  }

  private answerTheImpatient(): void {
    const now = performance.now();
    const late = this.waiting.filter((item) => item.deadline <= now);
    if (late.length > 0) this.waiting = this.waiting.filter((item) => item.deadline > now);
    for (const item of late) this.forget(item);
    // One that is on its way may still be stored: its sender, told to try again, is then told that it is a duplicate.
    for (const item of [...late, ...this.inFlight.filter((item) => item.deadline <= now)]) {
      item.reject(outOfPatience());
    }
  }

  private forget(item: Waiting): void {
    this.waitingEvents -= item.rows.length;
    this.waitingBytes -= item.bytes;
  }

  /** One bad row fails a whole batch. The last resort (the edge refuses what a sender can cause): halve until it is alone. */
  private async singleOut(batch: readonly Waiting[], error: BatchRefused): Promise<void> {
    if (batch.length === 1) {
      batch[0]?.reject(new Error(`The log refused the event: ${messageOf(error)}`));
      return;
    }
    const middle = batch.length >> 1;
    await this.store(batch.slice(0, middle), true);
    await this.store(batch.slice(middle), true);
  }
}

/** Whether the version its stream has reached must be looked up. */
function isCompared({ expected }: AppendRequest): boolean {
  return expected === 'any' || typeof expected === 'number';
}

/** Whether the inline projections are to be told of it. */
function isNoted({ request }: Waiting): boolean {
  return request.events[0].inline !== undefined;
}

function serialise(request: AppendRequest, index: number): string {
  const event = request.events[index] as AppendRequest['events'][0];
  const { subject, ...personal } = event.personal ?? {};
  const { expected } = request;
  return JSON.stringify({
    // What is as usual is left out: every byte is read three times on its way.
    k: index === 0 ? undefined : index + 1,
    expected: expected === 'any' ? -1 : typeof expected === 'number' ? expected : undefined,
    base: typeof expected === 'object' ? expected.owned : undefined,
    id: uuidv7(),
    category: request.category,
    stream: request.stream,
    type: event.type,
    site: request.site,
    actor: request.actor,
    reference: event.reference,
    data: event.data,
    subject,
    personal: event.personal && personal,
    inline: event.inline,
    key: request.claim?.key,
    span: request.claim && request.claim.windowMs / 1_000,
    weak: request.claim?.weak || undefined,
  });
}

function outOfPatience(): LogUnavailable {
  return new LogUnavailable('The log could not be reached in time');
}

function countEvents(batch: readonly Waiting[]): number {
  return batch.reduce((sum, item) => sum + item.rows.length, 0);
}

function numbered(batch: readonly Waiting[]): string {
  let place = 0;
  return `[${batch.flatMap((item) => item.rows.map((row) => `{"n":${++place},${row.slice(1)}`)).join(',')}]`;
}

function answer(batch: readonly Waiting[], outcome: BatchOutcome): void {
  const time = new Date(outcome.time).toISOString();
  const lost = outcome.lost && new Map(outcome.lost);
  const conflicts = outcome.conflicts && new Set(outcome.conflicts);
  let place = 0;
  let next = outcome.first ?? 0;
  for (const item of batch) {
    const first = place + 1;
    place += item.rows.length;
    const holder = lost?.get(first);
    const stored = outcome.stored?.[place - 1];
    if (stored) item.resolve({ status: 'appended', position: stored, time });
    else if (conflicts?.has(first)) item.resolve({ status: 'conflict' });
    else if (holder) item.resolve({ status: 'claimed', by: holder });
    else {
      next += item.rows.length;
      item.resolve({ status: 'appended', position: next - 1, time });
    }
  }
}
